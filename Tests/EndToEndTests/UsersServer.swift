import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What is on a Postgres server beside the rows: what a run of ours could leave there.
struct ServerCatalogs: Equatable, Sendable, CustomStringConvertible {
    var databases: [String]
    var slots: [String]
    var roles: [String]
    /// With their database, `app/powersync`.
    var publications: [String]

    var description: String {
        "databases \(databases), slots \(slots), roles \(roles), publications \(publications)"
    }

    /// Reads the catalogs of a server.
    init(of server: PostgresServer, poller: Poller) async throws {
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        databases = try await Self.texts(connection, "SELECT datname FROM pg_database ORDER BY 1")
        slots = try await Self.texts(connection, "SELECT slot_name FROM pg_replication_slots ORDER BY 1")
        roles = try await Self.texts(connection, "SELECT rolname FROM pg_roles ORDER BY 1")
        await connection.close()
        publications = []
        for database in databases where database != "template0" {
            let own = try await PostgresConnection.connect(server.uri(database: database), poller: poller)
            publications += try await Self.texts(own, "SELECT pubname FROM pg_publication ORDER BY 1").map {
                "\(database)/\($0)"
            }
            await own.close()
        }
    }

    private static func texts(_ connection: PostgresConnection, _ sql: String) async throws -> [String] {
        let result = try await connection.query(sql)
        return (0..<result.rowCount).compactMap { result[$0, 0] }
    }
}

/// A server of the user's: a role that may create databases and replicate, nothing more, and its own database `theirs`
/// with a table and a row.
struct UsersServer: Sendable {
    let server: PostgresServer
    let poller: Poller

    /// Starts one.
    static func start(_ poller: Poller) async throws -> UsersServer {
        let server = try await PostgresServer.start()
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        let login = try TestRole.login(server.uri())
        try await connection.script(
            """
            CREATE ROLE somebody \(login) CREATEDB REPLICATION;
            CREATE ROLE unable \(login) CREATEDB;
            """)
        try await connection.script("CREATE DATABASE theirs OWNER somebody")
        await connection.close()
        let users = UsersServer(server: server, poller: poller)
        try await users.script("CREATE TABLE notes (id text PRIMARY KEY, body text);")
        try await users.script("INSERT INTO notes VALUES ('first', 'theirs')")
        return users
    }

    /// The URI of the user's database.
    var uri: String { uri(role: "somebody") }

    /// The URI of the user's database for another role.
    func uri(role: String) -> String { EndToEnd.patient(server.uri(database: "theirs", user: role)) }

    /// Runs statements as the user.
    func script(_ sql: String) async throws {
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        _ = try await connection.script(sql)
        await connection.close()
    }

    /// Ends every session that streams, and waits until the slots are inactive.
    func endWalsenders() async throws {
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        try await wait(
            for: "the slots to be inactive",
            read: {
                try await connection.query(
                    """
                    SELECT count(pg_terminate_backend(active_pid)) FROM pg_replication_slots
                    WHERE active_pid IS NOT NULL
                    """)[0, 0]
            }, until: { $0 == "0" })
        await connection.close()
    }

    /// What is on the server now.
    func catalogs() async throws -> ServerCatalogs { try await ServerCatalogs(of: server, poller: poller) }
}
