import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Calls whose time is over, on servers that are busy and on servers that stand still.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DeadlineTests {
    /// With `POWERSYNC_REAL_TIMES=1` times are judged, too.
    private static let isReal = TestOptions.number("POWERSYNC_REAL_TIMES", standard: 0) == 1

    let poller: Poller
    /// A statement that ends only if the test opens the gate.
    private let endless = "SELECT \(DatabaseGate.passage)"

    init() throws {
        poller = try Poller()
    }

    /// Makes a call with limits that double until it was under way when its time was over.
    ///
    /// On a busy machine the time may be over before anything is sent.
    ///
    /// - Parameters:
    ///   - wasUnderWay: Whether the call left what only one leaves that was sent.
    ///   - call: What is called, until a moment.
    /// - Returns: The last error; nil if there was none of Postgres.
    private static func late(
        until wasUnderWay: () async -> Bool, _ call: (ContinuousClock.Instant) async throws -> Void
    ) async -> PostgresError? {
        var limit = Duration.milliseconds(50)
        while true {
            var failure: PostgresError?
            do {
                try await call(.now + limit)
            } catch {
                failure = error as? PostgresError
            }
            guard failure?.code == .timedOut, limit < TestOptions.deadline, await !wasUnderWay() else {
                return failure
            }
            limit *= 2
        }
    }

    /// So a probe can tell a call that takes its time from a program that stands still.
    @Test func aWatcherKnowsBeforeEachCallHowLongItMayTake() async throws {
        let connection = try await PostgresConnection.connect(
            try await TestPostgres.database(poller), poller: poller)
        let told = Lock<[Duration]>([])
        await connection.setWatcher { time in told.withLock { $0.append(time) } }
        try await connection.query("SELECT 1")
        #expect(told.withLock { $0 } == [], "it may take for ever")
        await connection.setPatience(TestOptions.deadline)
        try await connection.query("SELECT 1")
        try await connection.script("SELECT 1")
        try await connection.copyOut("COPY (SELECT 1) TO STDOUT") { _ in }
        try await connection.query("SELECT 1", until: .now + TestOptions.deadline * 3)
        let times = told.withLock { $0 }
        #expect(times.count == 4 && times.prefix(3).allSatisfy { $0 > .zero && $0 <= TestOptions.deadline })
        #expect(times[3] > TestOptions.deadline)
        await connection.close()
    }

    @Test func aStatementIsStoppedAndTheSessionGoesOn() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let process = await connection.backendProcessID
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query(endless, until: .now + .milliseconds(50))
        }
        #expect(error?.code == .timedOut && error?.isOutcomeUnknown == true)
        let next = try await connection.query(
            "SELECT pg_backend_pid()", until: .now + TestOptions.deadline)
        #expect(next.scalar == "\(process)", "it is the same session")
        let script = await Self.late(until: { await connection.transactionStatus == .inError }) {
            try await connection.script("BEGIN; \(endless)", until: $0)
        }
        #expect(script?.code == .timedOut)
        #expect(await connection.transactionStatus == .inError)
        try await gate.open()
        await connection.close()
    }

    @Test func aPipelineIsStoppedAndNothingOfItStays() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script("CREATE TABLE t (x int)")
        let error = await Self.late(until: { await connection.transactionStatus == .inError }) {
            _ = try await connection.pipeline(
                [
                    PostgresStatement("BEGIN"), PostgresStatement("INSERT INTO t VALUES (1)"),
                    PostgresStatement(endless), PostgresStatement("COMMIT"),
                ], until: $0)
        }
        #expect(error?.code == .timedOut && error?.isOutcomeUnknown == true)
        #expect(await connection.transactionStatus == .inError)
        try await connection.script("ROLLBACK")
        #expect(try await connection.query("SELECT count(*) FROM t").scalar == "0")
        try await gate.open()
        await connection.close()
    }

    /// The deadline holds for the call, however much arrives meanwhile: there is always something to read.
    @Test func aDeadlineIsNotPutOffByWhatArrives() async throws {
        func message(_ letter: Unicode.Scalar, _ content: [UInt8] = []) -> [UInt8] {
            let length = withUnsafeBytes(of: UInt32(content.count + 4).bigEndian) { Array($0) }
            return [UInt8(ascii: letter)] + length + content
        }
        // Authentication, the key for requests to stop, readiness; a column without name; rows of 7 KiB.
        let greeting =
            message("R", [0, 0, 0, 0]) + message("K", [0, 0, 0, 1, 0, 0, 0, 2])
            + message("Z", Array("I".utf8))
        let column: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]
        let opening = message("1") + message("2") + message("T", column)
        let row = message("D", [0, 1, 0, 0, 0x1C, 0] + Array(repeating: 0x78, count: 0x1C00))
        let rows = Array(Array(repeating: row, count: 128).joined())
        let isToldToStop = Lock(false)
        let server = try RawServer { connection in
            guard let first = connection.receive() else { return }
            // A request to stop has sixteen bytes.
            if first.count == 16 { return isToldToStop.withLock { $0 = true } }
            connection.send(greeting)
            guard connection.receive() != nil else { return }
            connection.send(opening)
            for _ in 0..<300 where !isToldToStop.withLock({ $0 }) {
                guard connection.send(rows) == rows.count else { return }
            }
        }
        let connection = try await PostgresConnection.connect(
            "postgres://u@127.0.0.1:\(server.port)/d?sslmode=disable&gssencmode=disable", poller: poller)
        let error = await Self.late(until: { isToldToStop.withLock { $0 } }) {
            try await connection.query("SELECT", until: $0)
        }
        #expect(error?.code == .timedOut)
        #expect(isToldToStop.withLock { $0 })
    }

    @Test func afterItsDeadlineNothingIsSent() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int)")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("INSERT INTO t VALUES (1)", until: .now - .milliseconds(1))
        }
        #expect(error?.code == .timedOut)
        #expect(try await connection.query("SELECT count(*) FROM t").scalar == "0")
        await connection.close()
    }

    @Test(.enabled(if: PostgresServer.canStandStill))
    func aServerThatStandsStillIsGivenUp() async throws {
        try await TestCluster.withServer { server in
            let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
            let patient = try await PostgresConnection.connect(server.uri(), poller: poller)
            await patient.setPatience(.milliseconds(100))
            // The server stops nothing, so that its time is waited for.
            for connection in [connection, patient] { await connection.setRecoveryTime(nil) }
            try await server.whileStandingStill {
                let start = ContinuousClock.now
                let error = await Self.late(until: { await !connection.isAlive }) {
                    _ = try await connection.pipeline([PostgresStatement("SELECT 1")], until: $0)
                }
                #expect(error?.code == .timedOut && error?.isOutcomeUnknown == true)
                #expect(await !connection.isAlive)
                let silent = await #expect(throws: PostgresError.self) { try await patient.query("SELECT 1") }
                #expect(silent?.code == .timedOut)
                #expect(await !patient.isAlive)
                // Each is told to stop for a second.
                #expect(
                    !DeadlineTests.isReal
                        || ContinuousClock.now - start < Duration.seconds(3) * TestOptions.patience)
                let connecting = await #expect(throws: PostgresError.self) {
                    _ = try await PostgresConnection.connect(
                        server.uri(), poller: poller, deadline: .milliseconds(100))
                }
                #expect(connecting?.code == .connectTimedOut && connecting?.isOutcomeUnknown == false)
            }
            try await wait(for: "the requests to stop the statements to end") { poller.calls.count == 0 }
        }
    }

    /// The server takes the requests to stop and does not answer: a thread waits for each.
    @Test(.enabled(if: PostgresServer.canStandStill))
    func theThreadsThatWaitForAServerAreBounded() async throws {
        try await TestCluster.withServer { server in
            var connections: [PostgresConnection] = []
            for _ in 0..<50 {
                connections.append(try await PostgresConnection.connect(server.uri(), poller: poller))
                await connections.last?.setRecoveryTime(nil)
            }
            try await server.whileStandingStill {
                try await withThrowingTaskGroup(of: PostgresError.Code?.self) { group in
                    for connection in connections {
                        group.addTask {
                            let error = await Self.late(until: { await !connection.isAlive }) {
                                try await connection.query("SELECT 1", until: $0)
                            }
                            return error?.code
                        }
                    }
                    for try await code in group { #expect(code == .timedOut) }
                }
                #expect(poller.calls.count == 32)
            }
            try await wait(for: "the threads to end") { poller.calls.count == 0 }
        }
    }

    // MARK: Pools

    @Test(.enabled(if: PostgresServer.canStandStill))
    func aPoolTrustsNoConnectionOfAServerThatStoodStill() async throws {
        try await TestCluster.withServer { server in
            var limits = PostgresPool.Limits(size: 2)
            limits.patience = .milliseconds(100)
            limits.connectTimeout = TestOptions.deadline
            let pool = PostgresPool(uri: server.uri(), limits: limits, poller: poller)
            try await pool.withConnection { _ in try await pool.withConnection { _ in } }
            #expect(await pool.statistics == (2, 2, 0))
            try await server.whileStandingStill {
                let silent = await #expect(throws: PostgresError.self) {
                    try await pool.withConnection { try await $0.query("SELECT 1") }
                }
                #expect(silent?.code == .timedOut)
                #expect(await pool.statistics == (0, 0, 0))
                let away = await #expect(throws: PostgresError.self) {
                    try await pool.withConnection(until: .now + .milliseconds(200)) { _ in }
                }
                #expect(away?.code == .connectTimedOut)
                #expect(await pool.statistics == (0, 0, 0))
            }
            let time = try await goodAgain(pool, server)
            #expect(!DeadlineTests.isReal || time < Duration.seconds(2) * TestOptions.patience)
            await pool.close()
        }
    }

    /// How long after the server takes connections the pool works.
    private func goodAgain(_ pool: PostgresPool, _ server: PostgresServer) async throws -> Duration {
        try await server.waitForConnections(poller)
        let start = ContinuousClock.now
        try await wait(for: "the pool to work") {
            await refusal { _ = try await pool.withConnection { try await $0.query("SELECT 1") } } == nil
        }
        return ContinuousClock.now - start
    }

    /// A server that can still stop a statement is well: no other connection has to be made again.
    @Test func aPoolKeepsTheConnectionsOfABusyServer() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let pool = PostgresPool(uri: uri, limits: .patient(size: 2), poller: poller)
        try await pool.withConnection { _ in try await pool.withConnection { _ in } }
        let late = await #expect(throws: PostgresError.self) {
            try await pool.withConnection {
                await $0.setRecoveryTime(TestOptions.deadline)
                try await $0.query(endless, until: .now + .milliseconds(50))
            }
        }
        #expect(late?.code == .timedOut)
        #expect(await pool.statistics == (2, 2, 0))
        try await gate.open()
        await pool.close()
    }

    @Test func aCallerMayWaitForLessThanThePoolAllows() async throws {
        let limits = PostgresPool.Limits(
            size: 1, acquireTimeout: .seconds(3600), connectTimeout: .seconds(3600))
        let pool = PostgresPool(
            uri: try await TestPostgres.database(poller), limits: limits, poller: poller)
        try await pool.withConnection { _ in
            let late = await #expect(throws: PostgresError.self) {
                try await pool.withConnection(until: .now + .milliseconds(50)) { _ in }
            }
            #expect(late?.code == .overloaded)
        }
        await pool.close()
        let silent = try RawServer { $0.waitForHangUp() }
        let away = PostgresPool(
            uri: "postgres://u@127.0.0.1:\(silent.port)/d?sslmode=disable", limits: limits, poller: poller)
        let error = await #expect(throws: PostgresError.self) {
            try await away.withConnection(until: .now + .milliseconds(50)) { _ in }
        }
        #expect(error?.code == .connectTimedOut)
    }

    // MARK: Answers that are lost

    @Test(arguments: [PostgresRelay.Ending.cut, .silent])
    func aLostAnswerToACommitLeavesTheOutcomeUnknown(_ ending: PostgresRelay.Ending) async throws {
        let server = try await TestPostgres.server()
        let uri = try await TestPostgres.database(poller)
        let direct = try await PostgresConnection.connect(uri, poller: poller)
        try await direct.script("CREATE TABLE t (x int)")
        let relay = try PostgresRelay(to: server.port)
        let pool = PostgresPool(
            uri: uri.replacing(":\(server.port)/", with: ":\(relay.port)/"), limits: .patient(size: 2),
            poller: poller)
        let statements = [
            PostgresStatement("BEGIN"), PostgresStatement("INSERT INTO t VALUES (1)"),
            PostgresStatement("COMMIT"),
        ]
        // Reached only where nothing is heard any more, and there behind the COMMIT.
        let time = ending == .cut ? TestOptions.deadline : TestOptions.standstill
        relay.swallowCommits(1, then: ending)
        let lost = await #expect(throws: PostgresError.self) {
            try await pool.withConnection {
                try await $0.pipeline(statements, until: .now + time)
            }
        }
        #expect(lost?.isOutcomeUnknown == true)
        #expect(lost?.code == (ending == .cut ? .connectionLost : .timedOut))
        #expect(relay.swallowed == 1)
        #expect(try await direct.query("SELECT count(*) FROM t").scalar == "1", "it was committed")
        #expect(await pool.statistics == (0, 0, 0))
        let next = try await pool.withConnection { try await $0.pipeline(statements) }
        #expect(next.last?.result?.commandTag == "COMMIT")
        await pool.close()
        await direct.close()
    }
}
