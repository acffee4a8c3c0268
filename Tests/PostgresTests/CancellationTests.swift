import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import Testing

@Suite(.enabled(if: TestEnvironment.hasDatabase), .timeLimit(.minutes(1)))
struct CancellationTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func cancellingTheTaskStopsTheStatementOnTheServer() async throws {
        let connection = try await TestServer.connection(poller)
        let process = await connection.backendProcessID
        let task = Task { try await connection.query("SELECT pg_sleep(600)") }
        try await eventually("nothing ran") { await connection.transactionStatus == .active }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        let result = try await connection.query("SELECT pg_backend_pid()")
        #expect(result.scalar == "\(process)", "it is the same session")
        await connection.close()
    }

    @Test func manyCancellationsNeverHitTheNextStatement() async throws {
        let connection = try await TestServer.connection(poller)
        for round in 0..<30 {
            let task = Task { try await connection.query("SELECT pg_sleep(0.00\(round % 10))") }
            await Task.yield()
            task.cancel()
            _ = await task.result
            #expect(try await connection.query("SELECT \(round)").scalar == "\(round)")
        }
        await connection.close()
    }

    @Test func anotherTaskMayStopTheStatement() async throws {
        let uri = try await TestServer.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        let process = "\(await connection.backendProcessID)"
        let task = Task { try await connection.query("SELECT pg_sleep(600)") }
        // A request that comes before the server has begun stops nothing.
        try await eventually("nothing ran") {
            let state = try? await other.query(
                "SELECT wait_event FROM pg_stat_activity WHERE pid = $1", [process])
            return state?.scalar == "PgSleep"
        }
        await connection.cancel()
        let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
        #expect(error?.sqlstate == "57014")
        await connection.close()
        await other.close()
    }

    @Test func closingEndsTheWait() async throws {
        let connection = try await TestServer.connection(poller)
        let task = Task { try await connection.query("SELECT pg_sleep(600)") }
        try await eventually("nothing ran") { await connection.transactionStatus == .active }
        await connection.close()
        let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
        #expect(error?.code == .closed)
        #expect(await !connection.isAlive)
        let later = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
        #expect(later?.code == .closed)
    }

    @Test func aTerminatedSessionIsALostConnection() async throws {
        let uri = try await TestServer.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        let task = Task { try await connection.query("SELECT pg_sleep(600)") }
        try await eventually("nothing ran") { await connection.transactionStatus == .active }
        try await other.query("SELECT pg_terminate_backend($1)", ["\(await connection.backendProcessID)"])
        let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
        #expect(error?.isConnectionLost == true)
        #expect(error?.sqlstate == "57P01")
        try await eventually("the loss went unnoticed") { await !connection.isAlive }
        let later = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
        #expect(later?.isConnectionLost == true)
        await other.close()
    }

    @Test func anIdleConnectionNoticesItsEnd() async throws {
        let uri = try await TestServer.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        #expect(await connection.isAlive)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        try await other.query("SELECT pg_terminate_backend($1)", ["\(await connection.backendProcessID)"])
        try await eventually("the loss went unnoticed") { await !connection.isAlive }
        await other.close()
    }

    @Test func aKilledServerIsALostConnection() async throws {
        let server = try await PostgresServer.start()
        let busy = try await PostgresConnection.connect(server.uri(), poller: poller)
        let piped = try await PostgresConnection.connect(server.uri(), poller: poller)
        let task = Task { try await busy.query("SELECT pg_sleep(30)") }
        let pipeline = Task { try await piped.pipeline([PostgresStatement("SELECT pg_sleep(30)")]) }
        try await eventually("nothing ran") { await busy.transactionStatus == .active }
        try await eventually("nothing ran") { await piped.transactionStatus == .active }
        server.kill()
        let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
        #expect(error?.isConnectionLost == true)
        let piece = await #expect(throws: PostgresError.self) { _ = try await pipeline.value }
        #expect(piece?.isConnectionLost == true)
        let refused = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(server.uri(), poller: poller)
        }
        #expect(refused?.code == .unavailable)
        #expect(refused?.isConnectionLost == true)
        try await server.restart()
        let again = try await PostgresConnection.connect(server.uri(), poller: poller)
        #expect(try await again.query("SELECT 1").scalar == "1")
        await server.stop()
    }
}
