import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PostgresPoolTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    /// Makes a pool that takes as long for connecting and rolling back as a busy machine needs.
    private func pool(_ limits: PostgresPool.Limits) async throws -> PostgresPool {
        var limits = limits
        limits.connectTimeout = TestOptions.deadline
        limits.rollbackTimeout = TestOptions.deadline
        return PostgresPool(uri: try await TestPostgres.database(poller), limits: limits, poller: poller)
    }

    /// What a stop has no time for is left to the server, however long it might take otherwise (P12).
    @Test(.enabled(if: PostgresServer.canStandStill))
    func aClosingTimeEndsWhatAConnectionIsPutInOrderFor() async throws {
        try await TestCluster.withServer { server in
            let (closing, gate) = (ClosingTime(), Gate())
            var limits = PostgresPool.Limits(size: 1)
            limits.connectTimeout = TestOptions.deadline
            limits.rollbackTimeout = .seconds(3600)
            limits.closingTime = closing
            let pool = PostgresPool(uri: server.uri(), limits: limits, poller: poller)
            let caller = Task {
                try await pool.withConnection { connection in
                    await connection.setRecoveryTime(.seconds(3600))
                    try await connection.query("BEGIN")
                    await gate.pass()
                    try await connection.query("SELECT 1")
                }
            }
            defer { gate.open() }
            try await wait(for: "a transaction") { gate.arrivals == 1 }
            try await server.whileStandingStill {
                closing.set(.now)
                gate.open()
                caller.cancel()
                // Without the time this takes an hour.
                _ = await caller.result
                #expect(await pool.statistics == (0, 0, 0))
            }
            await pool.close()
        }
    }

    @Test func aClosingTimeIsNoTimeUntilItIsSaid() {
        let (closing, now) = (ClosingTime(), ContinuousClock.now)
        #expect(closing.limit(now + .seconds(5)) == now + .seconds(5))
        closing.set(now + .seconds(1))
        #expect(closing.limit(now + .seconds(5)) == now + .seconds(1))
        #expect(closing.limit(now) == now)
    }

    @Test func usesAConnectionAgain() async throws {
        let pool = try await pool(.init(size: 3))
        let first = try await pool.withConnection { await $0.backendProcessID }
        let second = try await pool.withConnection { await $0.backendProcessID }
        #expect(first == second)
        #expect(await pool.statistics == (1, 1, 0))
        await pool.close()
        #expect(await pool.statistics == (0, 0, 0))
    }

    @Test func neverOpensMoreThanItsSizeAndServesEverybody() async throws {
        let pool = try await pool(.init(size: 2, waiting: 38, acquireTimeout: .seconds(3600)))
        let gate = Gate()
        let sessions = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    try await pool.withConnection { connection in
                        await gate.pass()
                        return await connection.backendProcessID
                    }
                }
            }
            // Also where the wait fails, else the group would not end.
            defer { gate.open() }
            try await wait(
                for: "two to work and all others to wait",
                read: { (atWork: gate.arrivals, pool: await pool.statistics) },
                until: { $0.atWork == 2 && $0.pool == (0, 2, 38) })
            gate.open()
            return try await group.reduce(into: [Int32: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(sessions.count == 2)
        #expect(sessions.values.reduce(0, +) == 40)
        #expect(await pool.statistics == (2, 2, 0))
        await pool.close()
    }

    @Test func turnsCallersAwayWhenTooManyWait() async throws {
        let pool = try await pool(.init(size: 1, waiting: 1, acquireTimeout: .seconds(3600)))
        try await pool.withConnection { _ in
            let waiting = Task { try await pool.withConnection { _ in } }
            try await wait(for: "somebody to wait") { await pool.statistics.waiting == 1 }
            let refused = await #expect(throws: PostgresError.self) { try await pool.withConnection { _ in } }
            #expect(refused?.code == .overloaded)
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(await pool.statistics.waiting == 0)
        }
        #expect(try await pool.withConnection { try await $0.query("SELECT 1").scalar } == "1")
        await pool.close()
    }

    @Test func turnsCallersAwayThatWaitTooLong() async throws {
        let pool = try await pool(.init(size: 1, acquireTimeout: .milliseconds(50)))
        try await pool.withConnection { _ in
            let late = await #expect(throws: PostgresError.self) { try await pool.withConnection { _ in } }
            #expect(late?.code == .overloaded)
            #expect(await pool.statistics.waiting == 0)
        }
        #expect(try await pool.withConnection { try await $0.query("SELECT 1").scalar } == "1")
        await pool.close()
    }

    @Test func rollsBackWhatAFailedCallerLeavesOpen() async throws {
        struct Failure: Error {}
        let pool = try await pool(.init(size: 1))
        let first = try await pool.withConnection { connection in
            try await connection.script("CREATE TABLE t (x int)")
            return await connection.backendProcessID
        }
        await #expect(throws: Failure.self) {
            try await pool.withConnection { connection in
                try await connection.script("BEGIN; INSERT INTO t VALUES (1)")
                throw Failure()
            }
        }
        try await expectClean(pool, session: first)
        await pool.close()
    }

    @Test func rollsBackWhatACancelledCallerLeavesOpen() async throws {
        let uri = try await TestPostgres.database(poller)
        let pool = PostgresPool(uri: uri, limits: .patient(size: 1), poller: poller)
        let gate = try await DatabaseGate(uri, poller)
        let first = try await pool.withConnection { connection in
            await connection.setRecoveryTime(TestOptions.deadline)
            try await connection.script("CREATE TABLE t (x int)")
            return await connection.backendProcessID
        }
        let task = Task {
            try await pool.withConnection { connection in
                try await connection.script("BEGIN; INSERT INTO t VALUES (2)")
                try await connection.query("SELECT \(DatabaseGate.passage)")
            }
        }
        // Who is at the gate has begun and inserted.
        try await gate.waitForArrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        try await expectClean(pool, session: first)
        await pool.close()
    }

    /// Expects that the next caller gets the same session, outside of a transaction and without what was inserted.
    private func expectClean(_ pool: PostgresPool, session: Int32) async throws {
        try await pool.withConnection { connection in
            #expect(await connection.backendProcessID == session)
            #expect(await connection.transactionStatus == .idle)
            let count = try await connection.query("SELECT count(*) FROM t")
            #expect(count.scalar == "0")
        }
        #expect(await pool.statistics == (1, 1, 0))
    }

    @Test func replacesConnectionsThatTheServerEnded() async throws {
        let pool = try await pool(.init(size: 2))
        let first = try await pool.withConnection { first in
            // A second one, so that the first is ended by it.
            try await pool.withConnection { second in
                try await second.query(
                    "SELECT pg_terminate_backend($1, 3600000)", ["\(await first.backendProcessID)"])
            }
            return await first.backendProcessID
        }
        let next = try await pool.withConnection { connection in
            let one = try await connection.query("SELECT 1")
            #expect(one.scalar == "1")
            return await connection.backendProcessID
        }
        #expect(next != first)
        let lost = await #expect(throws: PostgresError.self) {
            try await pool.withConnection {
                try await $0.query("SELECT pg_terminate_backend(pg_backend_pid())")
            }
        }
        #expect(lost?.isConnectionLost == true)
        #expect(await pool.statistics == (0, 0, 0), "after a loss no connection is trusted")
        #expect(try await pool.withConnection { try await $0.query("SELECT 1").scalar } == "1")
        await pool.close()
    }

    @Test func replacesConnectionsThatAreTooOld() async throws {
        let pool = try await pool(.init(size: 1, lifetime: .zero))
        let first = try await pool.withConnection { await $0.backendProcessID }
        let second = try await pool.withConnection { await $0.backendProcessID }
        #expect(first != second)
        #expect(await pool.statistics.open == 1)
        await pool.close()
    }

    /// Connections that were made in the same moment do not end in the same one.
    @Test func lifetimesDifferByATenth() async throws {
        let limits = PostgresPool.Limits(size: 1, lifetime: .seconds(1000))
        for (chance, age) in [(0.0, Duration.seconds(900)), (0.5, .seconds(1000)), (1.0, .seconds(1100))] {
            let difference = limits.longestAge(at: chance) - age
            #expect(difference < .milliseconds(1) && difference > .milliseconds(-1), "\(chance)")
        }
        let asked = Lock(0)
        let pool = PostgresPool(
            uri: try await TestPostgres.database(poller), limits: .patient(size: 2), poller: poller,
            random: {
                asked.withLock { $0 += 1 }
                return 0
            })
        try await pool.withConnection { _ in try await pool.withConnection { _ in } }
        #expect(asked.withLock { $0 } == 2, "each connection has a lifetime of its own")
        await pool.close()
    }

    /// What a server that goes says of one session is true of all (backend 8.2): that the rest is made anew costs a moment,
    /// and nobody who works is disturbed.
    @Test func oneLostSessionRenewsTheRest() async throws {
        let pool = try await pool(.init(size: 3, acquireTimeout: .seconds(3600)))
        try await pool.withConnection { working in
            let before = await working.backendProcessID
            let resting = Lock(Int32(0))
            let error = await #expect(throws: PostgresError.self) {
                try await pool.withConnection { lost in
                    let other = try await pool.withConnection { await $0.backendProcessID }
                    resting.withLock { $0 = other }
                    try await lost.query("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
            #expect(error?.isConnectionLost == true)
            #expect(await pool.statistics == (0, 1, 0), "what rested is closed")
            let next = try await pool.withConnection { connection in
                let answer = try await connection.query("SELECT 1")
                #expect(answer.scalar == "1")
                return await connection.backendProcessID
            }
            #expect(next != resting.withLock { $0 })
            let answer = try await working.query("SELECT pg_backend_pid()")
            #expect(answer.scalar == String(before), "who works goes on")
        }
        await pool.close()
    }

    @Test func closingEndsWaitingAndKeepsNothing() async throws {
        let pool = try await pool(.init(size: 1, acquireTimeout: .seconds(3600)))
        try await pool.withConnection { connection in
            let waiting = Task { try await pool.withConnection { _ in } }
            try await wait(for: "somebody to wait") { await pool.statistics.waiting == 1 }
            await pool.close()
            let error = await #expect(throws: PostgresError.self) { try await waiting.value }
            #expect(error?.code == .closed)
            #expect(try await connection.query("SELECT 1").scalar == "1", "who has one may finish")
        }
        #expect(await pool.statistics == (0, 0, 0))
        let later = await #expect(throws: PostgresError.self) { try await pool.withConnection { _ in } }
        #expect(later?.code == .closed)
    }

    @Test func aFailedConnectGivesItsPlaceBack() async throws {
        let server = try await TestPostgres.server()
        let pool = PostgresPool(
            uri: server.uri(database: "nowhere"), limits: .patient(size: 1), poller: poller)
        for _ in 0..<3 {
            let error = await #expect(throws: PostgresError.self) { try await pool.withConnection { _ in } }
            #expect(error?.sqlstate == "3D000")
        }
        #expect(await pool.statistics == (0, 0, 0))
    }
}
