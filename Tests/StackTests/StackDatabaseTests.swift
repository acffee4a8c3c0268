import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StackDatabaseTests {
    /// Every login sees our names and may take them, and a plain role may not end the sessions of another.
    @Test func aStrangerWithANameOfOursKeepsNothing() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await PostgresServer.start()
        let superuser = try await connect(server.uri(), poller)
        let login = "LOGIN PASSWORD '\(server.password)'"
        try await superuser.script(
            "CREATE ROLE plain \(login) CREATEDB REPLICATION; CREATE ROLE stranger \(login)")
        let wait = "?connect_timeout=\(TestOptions.deadline.components.seconds)"
        func uri(_ role: String) -> String { server.uri(user: role) + wait }
        let database = StackDatabase(.ownDatabase(server: uri("plain")), poller: poller)
        try await database.open()
        let owner = try await connect(database.uri, poller)
        try await owner.query(
            "SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [database.slotPrefix + "1"])
        await owner.close()
        var strangers: [PostgresConnection] = []
        for name in [database.serviceName, database.serviceName.replacing("/service", with: "/maker")] {
            strangers.append(try await connect(uri("stranger"), poller, name))
        }
        try await database.close()
        let left = try await superuser.query(
            """
            SELECT (SELECT count(*) FROM pg_replication_slots),
                (SELECT count(*) FROM pg_database WHERE datname LIKE 'powersync%')
            """)
        #expect(left.row(0) == ["0", "0"])
        for stranger in strangers {
            #expect(try await stranger.query("SELECT 1").scalar == "1")
            await stranger.close()
        }
        await superuser.close()
        await server.stop()
    }

    /// A cluster that was made without a locale has SQL_ASCII, of which nothing is replicated.
    @Test func theRunsOwnDatabaseIsOfUTF8WhateverTheServersAre() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await PostgresServer.start()
        let superuser = try await connect(server.uri(), poller)
        try await superuser.query("UPDATE pg_database SET encoding = 0 WHERE datname = 'template0'")
        let wait = "?connect_timeout=\(TestOptions.deadline.components.seconds)"
        let database = StackDatabase(.ownDatabase(server: server.uri() + wait), poller: poller)
        try await database.open()
        let owner = try await connect(database.uri, poller)
        #expect(try await owner.query("SHOW server_encoding").scalar == "UTF8")
        await owner.close()
        try await database.close()
        await superuser.close()
        await server.stop()
    }

    private func connect(_ uri: String, _ poller: Poller, _ name: String = "") async throws
        -> PostgresConnection
    {
        try await PostgresConnection.connect(
            uri, parameters: ["application_name": name], poller: poller, deadline: TestOptions.deadline)
    }
}
