import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The Postgres that a run works on: a private cluster, or a server that somebody named.
///
/// Made first, so that `close` is arranged before `open` makes anything.
package final class StackDatabase: Sendable {
    /// Whose database it is, which decides what happens to it at the end.
    package enum Place: Sendable {
        /// A private cluster, in a folder that is kept or, without one, in a temporary one.
        case cluster(directory: String?)
        /// A database of the run's own on a server of the user's, dropped at the end.
        case ownDatabase(server: String)
        /// The database that the user named. At the end nothing of it is dropped but the run's own slot, and not even
        /// that if the run's state is kept: then the next time goes on with it, by the token of the state.
        case namedDatabase(uri: String, keptToken: String?)
    }

    private struct State {
        var server: PostgresServer?
        var claim: ServerClaim?
        var tlsMode = "disable"
        var ownAuthorities: String?
    }

    /// Whose it is.
    package let place: Place
    /// What the names of the run's slots begin with.
    package let slotPrefix: String
    private let isDurable: Bool?
    private let names = OwnedNames()
    private let poller: Poller
    private let warn: @Sendable (String) -> Void
    private let state = Lock(State())

    /// Names a database; nothing is made yet.
    ///
    /// - Parameters:
    ///   - place: whose it is.
    ///   - isDurable: whether what a cluster has committed survives a crash of the machine; nil: if its folder is kept.
    ///   - poller: the poller of the program.
    ///   - warn: gets what a person should know.
    package init(
        _ place: Place, isDurable: Bool? = nil, poller: Poller,
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.place = place
        self.isDurable = isDurable
        self.poller = poller
        self.warn = warn
        switch place {
        case .cluster: slotPrefix = "powersync_"
        case .namedDatabase(_, let token?): slotPrefix = "powersync_local_\(token)_"
        case .ownDatabase, .namedDatabase(_, nil): slotPrefix = names.slotPrefix
        }
    }

    /// Starts the cluster, or makes the run's own database, after dropping what killed runs left on the server.
    ///
    /// - Throws: `PostgresServerError` or `PostgresError`; `close` is still to be called.
    package func open() async throws {
        switch place {
        case .cluster(let directory):
            let server = try await PostgresServer.start(directory: directory, fsync: isDurable)
            state.withLock { $0.server = server }
            try await PostgresConnection.with(server.uri(), poller: poller) { maintenance in
                let found = try await maintenance.query("SELECT 1 FROM pg_database WHERE datname = 'app'")
                if found.rowCount == 0 { _ = try await maintenance.script("CREATE DATABASE app") }
            }
        case .ownDatabase(let server):
            try await claim(server)
            // Not of template1, in which the user may have tables. Encoding and order are those of our own cluster: the
            // server's may be SQL_ASCII, which is not replicated.
            _ = try await PostgresConnection.with(
                server, parameters: ["application_name": names.makerName], poller: poller
            ) { maker in
                try await maker.script(
                    "CREATE DATABASE \(quoteIdentifier(names.database)) ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' "
                        + "TEMPLATE template0")
            }
        case .namedDatabase(let uri, _): try await claim(uri)
        }
    }

    private func claim(_ uri: String) async throws {
        try await LeftOvers.drop(uri: uri, poller: poller, warn: warn)
        let claim = try await ServerClaim.make(uri, name: names.applicationName, poller: poller)
        state.withLock { $0.claim = claim }
        let (mode, named) = try await PostgresConnection.with(uri, poller: poller) {
            (await $0.option("sslmode"), await $0.option("sslrootcert"))
        }
        let home =
            ProcessInfo.processInfo.environment["HOME"]
            ?? FileManager.default.homeDirectoryForCurrentUser.path
        let own = home + "/.postgresql/root.crt"
        state.withLock {
            $0.tlsMode = mode ?? "prefer"
            if mode?.hasPrefix("verify") == true, named == nil, access(own, R_OK) == 0 {
                $0.ownAuthorities = own
            }
        }
    }

    /// The `sslmode` that the URI means to libpq, with what stands in the environment and in a service file.
    package var tlsMode: String { state.withLock { $0.tlsMode } }

    /// The file in the user's home by which libpq checks the server's certificate, if it does and nothing names another.
    package var ownAuthorities: String? { state.withLock { $0.ownAuthorities } }

    /// The `application_name` of the service's connections, by which `close` finds those that it left.
    package var serviceName: String { names.serviceName }

    /// Returns what tells this database from every other one: the server's identifier and the database's own.
    ///
    /// - Throws: `PostgresError`.
    package func identity() async throws -> String {
        try await PostgresConnection.with(uri, parameters: ["replication": "database"], poller: poller) {
            connection in
            let system = try await connection.script("IDENTIFY_SYSTEM").first
            let database = try await connection.script(
                "SELECT oid FROM pg_database WHERE datname = current_database()"
            ).first
            return "\(system?[0, 0] ?? "")/\(database?[0, 0] ?? "")"
        }
    }

    /// The database's URI.
    ///
    /// - Throws: `StackError` before the cluster has been started, or a malformed `DATABASE_URI`.
    package var uri: String {
        get throws {
            switch place {
            case .cluster:
                guard let server else { throw StackError(.database, "the private Postgres was not started") }
                return server.uri(database: "app")
            case .ownDatabase(let server):
                return try PostgresURI.replacingDatabase(of: server, with: names.database)
            case .namedDatabase(let uri, _): return uri
            }
        }
    }

    /// The URI for whoever runs the stack: with the password of a private cluster, which nobody else knows, and without one
    /// of the user's.
    ///
    /// - Throws: As `uri`.
    package var shownURI: String {
        get throws {
            if case .cluster = place { return try uri }
            return PostgresURI.withoutPassword(try uri)
        }
    }

    /// The private server, if this is one and it was started.
    package var server: PostgresServer? { state.withLock { $0.server } }

    /// Ends what the run made: the slot, its own database, the cluster.
    ///
    /// What is kept stays.
    ///
    /// The parts have been stopped before; whatever of them still has a session on the server loses it.
    ///
    /// - Throws: `PostgresError` if a user's server cannot be reached any more; the next run drops the rest.
    package func close() async throws {
        await server?.stop()
        // Without the claim nothing was made.
        guard let claim = state.withLock({ $0.claim }) else { return }
        do {
            switch place {
            case .cluster: break
            case .ownDatabase(let server):
                try await PostgresConnection.with(server, poller: poller) { try await dropDatabase($0) }
            case .namedDatabase(let uri, _?): try await tellOfKeptSlots(uri)
            case .namedDatabase(let uri, nil):
                try await PostgresConnection.with(uri, poller: poller) { try await dropSlots($0) }
            }
        } catch {
            await claim.release()
            throw error
        }
        await claim.release()
    }

    /// Ends our sessions in the run's database and drops it; somebody else's session there is not ours to end.
    private func dropDatabase(_ maintenance: PostgresConnection) async throws {
        // A server that was not reached by our cancellation may still be about to make it.
        try await Deadline.wait(.seconds(10), for: "the making of \(names.database) to end") {
            try await endSessions(named: names.makerName, maintenance) ? nil : true
        }
        let exists = "SELECT 1 FROM pg_database WHERE datname = $1"
        guard try await maintenance.query(exists, [names.database]).rowCount > 0 else { return }
        try await PostgresConnection.with(uri, poller: poller) { try await dropSlots($0) }
        try await Deadline.wait(.seconds(10), for: "nobody to use \(names.database), which stays") {
            _ = try await maintenance.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = $1 AND usename = current_user
                """, [names.database])
            do {
                // Without FORCE, for which a plain role must be a member of every role that has a session there.
                _ = try await maintenance.script(
                    "DROP DATABASE IF EXISTS \(quoteIdentifier(names.database))")
                return true
            } catch let error as PostgresError where error.sqlstate == Self.objectInUse { return nil }
        }
    }

    /// The SQLSTATE object_in_use.
    private static let objectInUse = "55006"

    private func dropSlots(_ connection: PostgresConnection) async throws {
        // A walsender whose client was killed may need a moment to notice, and may be about to make its slot.
        try await Deadline.wait(.seconds(10), for: "the replication slots of this run to be dropped") {
            let hasSessions = try await endSessions(named: names.serviceName, connection)
            let slots = try await connection.query(
                """
                SELECT slot_name, active_pid, pg_terminate_backend(active_pid) FROM pg_replication_slots
                WHERE starts_with(slot_name, $1)
                """, [slotPrefix])
            for row in 0..<slots.rowCount where slots[row, 1] == nil {
                _ = try await connection.query(
                    """
                    SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                    WHERE slot_name = $1 AND NOT active
                    """, [slots[row, 0]])
            }
            return !hasSessions && slots.rowCount == 0 ? true : nil
        }
    }

    /// Ends our sessions of a name, and returns whether there were any; others may have taken the name, too.
    private func endSessions(named name: String, _ connection: PostgresConnection) async throws -> Bool {
        try await connection.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = $1 AND usename = current_user
            """, [name]
        ).rowCount > 0
    }

    private func tellOfKeptSlots(_ uri: String) async throws {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            let slots = try await connection.query(
                """
                SELECT slot_name FROM pg_replication_slots
                WHERE starts_with(slot_name, $1) AND database = current_database()
                """, [slotPrefix])
            for row in 0..<slots.rowCount {
                let slot = slots[row, 0] ?? ""
                warn(
                    "the slot \(slot) stays for the next time, and the server keeps its log for it until then; to "
                        + "give it up: SELECT pg_drop_replication_slot('\(slot)')")
            }
        }
    }
}
