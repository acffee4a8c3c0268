import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import Testing

/// The main job, on real parts: what the demo shows, without the show.
@Suite(.enabled(if: EndToEnd.isEnabled), .timeLimit(.minutes(3)))
struct DemoSituationTests {
    @Test func theFourSituationsOfTheDemoComeTrue() async throws {
        try await EndToEnd.withWorld { world in
            try await world.localWriteArrives()
            try await world.editsWhileCutOffConverge()
            try await world.refusedRowIsKept()
            try await world.manyRowsArrive(10_000)
            try await world.checkThirdDevice()
            let rows = try await world.converge()
            #expect(rows.count == 10_005)
        }
    }

    @Test func aUsersServerLendsADatabaseAndGetsItBackAsItWas() async throws {
        let server = try await PostgresServer.start(directory: nil)
        let poller = try Poller()
        defer { poller.stop() }
        try await EndToEnd.withWorld(server: server.uri()) { world in
            try await world.localWriteArrives()
            let name = try await world.query("SELECT current_database()")[0, 0]
            #expect(name?.hasPrefix("powersync_stack_") == true)
        }
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        let left = try await connection.query(
            """
            SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_database
                WHERE starts_with(datname, 'powersync_stack_'))
            """)
        #expect(left[0, 0] == "0")
        await connection.close()
        await server.stop()
    }
}
