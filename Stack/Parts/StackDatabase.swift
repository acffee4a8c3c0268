import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem

/// The Postgres that a run works on: a private cluster, or a server that somebody named.
package final class StackDatabase: Sendable {
    /// Whose database it is, which decides what happens to it at the end.
    package enum Place: Sendable {
        /// A private cluster, in a folder that is kept or in a temporary one.
        case cluster(PostgresServer)
        /// A database of the run's own on a server of the user's.
        case ownDatabase(server: String)
        /// The database that the user named.
        case namedDatabase
    }

    /// The database's URI.
    package let uri: String
    /// Whose it is.
    package let place: Place
    /// What the names of the run's slots begin with.
    package let slotPrefix: String
    private let names: OwnedNames
    private let claim: PostgresConnection?
    private let keepsSlot: Bool
    private let poller: Poller

    private init(
        uri: String, place: Place, names: OwnedNames, slotPrefix: String, keepsSlot: Bool,
        claim: PostgresConnection?, poller: Poller
    ) {
        self.uri = uri
        self.place = place
        self.names = names
        self.slotPrefix = slotPrefix
        self.keepsSlot = keepsSlot
        self.claim = claim
        self.poller = poller
    }

    /// Starts a private cluster.
    ///
    /// - Parameters:
    ///   - directory: where the cluster lives; nil for a temporary folder that goes with it.
    ///   - poller: the poller of the program.
    /// - Returns: its database `app`, made if it is new.
    /// - Throws: `PostgresServerError` or `PostgresError`.
    package static func cluster(directory: String?, poller: Poller) async throws -> StackDatabase {
        let server = try await PostgresServer.start(directory: directory)
        do {
            try await PostgresConnection.with(server.uri(), poller: poller) { maintenance in
                let found = try await maintenance.query("SELECT 1 FROM pg_database WHERE datname = 'app'")
                if found.rowCount == 0 { _ = try await maintenance.script("CREATE DATABASE app") }
            }
        } catch {
            await server.stop()
            throw error
        }
        let names = OwnedNames()
        return StackDatabase(
            uri: server.uri(database: "app"), place: .cluster(server), names: names, slotPrefix: "powersync_",
            keepsSlot: true, claim: nil, poller: poller)
    }

    /// Makes a database of the run's own on a server of the user's, after dropping what killed runs left there.
    ///
    /// - Parameters:
    ///   - server: the URI of any database of the server; its role may create databases.
    ///   - poller: the poller of the program.
    /// - Returns: the new database, dropped by `close`.
    /// - Throws: `PostgresError`.
    package static func own(on server: String, poller: Poller) async throws -> StackDatabase {
        _ = try await LeftOvers.drop(uri: server, poller: poller)
        let names = OwnedNames()
        let claim = try await PostgresConnection.connect(
            server, parameters: ["application_name": names.applicationName], poller: poller)
        _ = try await claim.script("CREATE DATABASE \(quoteIdentifier(names.database))")
        return StackDatabase(
            uri: try PostgresURI.replacingDatabase(of: server, with: names.database),
            place: .ownDatabase(server: server), names: names, slotPrefix: names.slotPrefix, keepsSlot: false,
            claim: claim, poller: poller)
    }

    /// Works in the database that the user named.
    ///
    /// - Parameters:
    ///   - uri: the database.
    ///   - keepsSlot: whether the run goes on with the same slot next time, because its state is kept.
    ///   - poller: the poller of the program.
    /// - Returns: the database; `close` drops nothing but the run's own slot.
    /// - Throws: `PostgresError`.
    package static func named(_ uri: String, keepsSlot: Bool, poller: Poller) async throws -> StackDatabase {
        _ = try await LeftOvers.drop(uri: uri, poller: poller)
        let names = OwnedNames()
        let claim = try await PostgresConnection.connect(
            uri, parameters: ["application_name": names.applicationName], poller: poller)
        return StackDatabase(
            uri: uri, place: .namedDatabase, names: names,
            slotPrefix: keepsSlot ? "powersync_" : names.slotPrefix, keepsSlot: keepsSlot, claim: claim,
            poller: poller)
    }

    /// The private server, if this is one.
    package var server: PostgresServer? {
        if case .cluster(let server) = place { server } else { nil }
    }

    /// Ends what the run made: the slot, its own database, the cluster.
    ///
    /// What is kept stays.
    ///
    /// - Throws: `PostgresError` if a user's server cannot be reached any more; the next run drops the rest.
    package func close() async throws {
        do {
            switch place {
            case .cluster(let server): await server.stop()
            case .ownDatabase(let server):
                try await dropSlots()
                let name = quoteIdentifier(names.database)
                try await PostgresConnection.with(server, poller: poller) { connection in
                    _ = try await connection.script("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
                }
            case .namedDatabase: if !keepsSlot { try await dropSlots() }
            }
        } catch {
            await claim?.close()
            throw error
        }
        await claim?.close()
    }

    private func dropSlots() async throws {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            // The service has been stopped; the server may need a moment to see that its slot is free.
            let slots = try await Deadline.wait(.seconds(5), for: "the replication slot to be free") {
                let slots = try await connection.query(
                    "SELECT slot_name, active FROM pg_replication_slots WHERE starts_with(slot_name, $1)",
                    [slotPrefix])
                return (0..<slots.rowCount).contains { slots[$0, 1] == "t" } ? nil : slots
            }
            for row in 0..<slots.rowCount {
                guard let slot = slots[row, 0] else { continue }
                _ = try await connection.query("SELECT pg_drop_replication_slot($1)", [slot])
            }
        }
    }
}
