import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct CancellationTests {
    let poller: Poller
    /// A statement that ends only if the test opens the gate, which the tests of this suite never do.
    private let endless = "SELECT \(DatabaseGate.passage)"

    init() throws {
        poller = try Poller()
    }

    private func onAHeldDatabase(
        _ body: (_ gate: DatabaseGate, _ connection: PostgresConnection, _ other: PostgresConnection)
            async throws -> Void
    ) async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        try await body(gate, connection, other)
        await connection.close()
        await other.close()
    }

    @Test func cancellingTheTaskStopsTheStatementOnTheServer() async throws {
        try await onAHeldDatabase { gate, connection, _ in
            let process = await connection.backendProcessID
            let task = Task { try await connection.query(endless) }
            try await gate.waitForArrivals()
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            let result = try await connection.query("SELECT pg_backend_pid()")
            #expect(result.scalar == "\(process)", "it is the same session")
        }
    }

    @Test func manyCancellationsNeverHitTheNextStatement() async throws {
        let connection = try await TestPostgres.connection(poller)
        for round in 0..<30 {
            let isOver = Lock(false)
            let task = Task {
                defer { isOver.withLock { $0 = true } }
                try await connection.query("SELECT pg_sleep(0.00\(round % 3))")
            }
            try await wait(for: "the statement to be on its way") {
                await connection.transactionStatus == .active || isOver.withLock { $0 }
            }
            // It ends at about the moment at which the server is told to stop it.
            task.cancel()
            _ = await task.result
            // Long enough to be met by what comes too late.
            let next = try await connection.query("SELECT \(round) FROM pg_sleep(0.01)")
            #expect(next.scalar == "\(round)")
        }
        await connection.close()
    }

    @Test func anotherTaskMayStopTheStatement() async throws {
        try await onAHeldDatabase { gate, connection, _ in
            let task = Task { try await connection.query(endless) }
            // A request that comes before the server has begun stops nothing.
            try await gate.waitForArrivals()
            await connection.cancel()
            let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
            #expect(error?.sqlstate == "57014")
        }
    }

    @Test func closingEndsTheWait() async throws {
        try await onAHeldDatabase { gate, connection, _ in
            let task = Task { try await connection.query(endless) }
            try await gate.waitForArrivals()
            await connection.close()
            let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
            #expect(error?.code == .closed)
            #expect(await !connection.isAlive)
            let later = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
            #expect(later?.code == .closed)
        }
    }

    @Test func aTerminatedSessionIsALostConnection() async throws {
        try await onAHeldDatabase { gate, connection, other in
            let process = "\(await connection.backendProcessID)"
            let task = Task { try await connection.query(endless) }
            try await gate.waitForArrivals()
            try await other.query("SELECT pg_terminate_backend($1)", [process])
            let error = await #expect(throws: PostgresError.self) { _ = try await task.value }
            #expect(error?.isConnectionLost == true)
            #expect(error?.sqlstate == "57P01")
            try await wait(for: "the loss to be noticed") { await !connection.isAlive }
            let later = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
            #expect(later?.isConnectionLost == true)
        }
    }

    @Test func anIdleConnectionNoticesItsEnd() async throws {
        try await onAHeldDatabase { _, connection, other in
            #expect(await connection.isAlive)
            let process = "\(await connection.backendProcessID)"
            try await other.query("SELECT pg_terminate_backend($1)", [process])
            try await wait(for: "the loss to be noticed") { await !connection.isAlive }
        }
    }

    @Test func aKilledServerIsALostConnection() async throws {
        try await TestCluster.withServer { server in
            let gate = try await DatabaseGate(server.uri(), poller)
            let busy = try await PostgresConnection.connect(server.uri(), poller: poller)
            let piped = try await PostgresConnection.connect(server.uri(), poller: poller)
            let task = Task { try await busy.query(endless) }
            let pipeline = Task { try await piped.pipeline([PostgresStatement(endless)]) }
            try await gate.waitForArrivals(2)
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
        }
    }
}
