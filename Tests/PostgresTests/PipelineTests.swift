import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PipelineTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func runsAllInOneTransaction() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int PRIMARY KEY)")
        let inserts = (1...1000).map { PostgresStatement("INSERT INTO t VALUES ($1) RETURNING x", ["\($0)"]) }
        let outcomes = try await connection.pipeline(
            [PostgresStatement("BEGIN")] + inserts + [PostgresStatement("COMMIT")])
        #expect(outcomes.count == 1002)
        #expect(outcomes[1000].result?.scalar == "1000")
        #expect(outcomes[1001].result?.commandTag == "COMMIT")
        #expect(try await connection.query("SELECT count(*) FROM t").scalar == "1000")
        #expect(try await connection.pipeline([]).isEmpty)
        await connection.close()
    }

    @Test func marksWhatFollowsAnErrorAsAborted() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int PRIMARY KEY); INSERT INTO t VALUES (2)")
        let outcomes = try await connection.pipeline([
            PostgresStatement("BEGIN"), PostgresStatement("INSERT INTO t VALUES ($1)", ["1"]),
            PostgresStatement("INSERT INTO t VALUES ($1)", ["2"]),
            PostgresStatement("INSERT INTO t VALUES ($1)", ["3"]),
            PostgresStatement("COMMIT"),
        ])
        #expect(outcomes.map { $0.result?.commandTag } == ["BEGIN", "INSERT 0 1", nil, nil, nil])
        #expect(outcomes[2].error?.sqlstate == "23505")
        #expect(outcomes.map(\.isAborted) == [false, false, false, true, true])
        #expect(await connection.transactionStatus == .inError)
        let commit = try await connection.pipeline([PostgresStatement("COMMIT")])
        #expect(commit[0].result?.commandTag == "ROLLBACK")
        #expect(try await connection.query("SELECT count(*) FROM t").scalar == "1")
        await connection.close()
    }

    @Test func showsADeferredErrorAtTheCommit() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script(
            """
            CREATE TABLE a (id int PRIMARY KEY);
            CREATE TABLE b (id int REFERENCES a DEFERRABLE INITIALLY DEFERRED)
            """)
        let outcomes = try await connection.pipeline([
            PostgresStatement("BEGIN"), PostgresStatement("INSERT INTO b VALUES (9)"),
            PostgresStatement("COMMIT"),
        ])
        #expect(outcomes[1].result?.affectedRows == 1)
        #expect(outcomes[2].error?.sqlstate == "23503")
        #expect(await connection.transactionStatus == .idle)
        await connection.close()
    }

    @Test func withoutBeginItIsOneTransaction() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int)")
        let outcomes = try await connection.pipeline([
            PostgresStatement("INSERT INTO t VALUES (1)"), PostgresStatement("SELECT 1/0"),
        ])
        #expect(outcomes[0].result != nil)
        #expect(outcomes[1].error?.sqlstate == "22012")
        #expect(try await connection.query("SELECT count(*) FROM t").scalar == "0")
        await connection.close()
    }

    /// Both buffers of the socket fill: whoever only writes waits for ever.
    @Test func readsWhileItSends() async throws {
        let connection = try await TestPostgres.connection(poller)
        let large = String(repeating: "z", count: 100_000)
        let outcomes = try await connection.pipeline(
            Array(repeating: PostgresStatement("SELECT $1::text || $1::text", [large]), count: 100))
        #expect(outcomes.count == 100)
        #expect(outcomes.allSatisfy { $0.result?.scalar?.utf8.count == 200_000 })
        await connection.close()
    }

    @Test func refusesCopy() async throws {
        let connection = try await TestPostgres.connection(poller)
        let error = await #expect(throws: PostgresError.self) {
            _ = try await connection.pipeline([PostgresStatement("COPY (SELECT 1) TO STDOUT")])
        }
        #expect(error?.code == .invalidInput)
        #expect(await !connection.isAlive)
    }

    @Test func aCancelledPipelineRollsBackAndLeavesTheConnectionUsable() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script("CREATE TABLE t (x int)")
        let task = Task {
            try await connection.pipeline([
                PostgresStatement("INSERT INTO t VALUES (1)"),
                PostgresStatement("SELECT \(DatabaseGate.passage)"),
                PostgresStatement("INSERT INTO t VALUES (2)"),
            ])
        }
        try await gate.waitForArrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(await connection.isAlive)
        #expect(try await connection.query("SELECT count(*) FROM t").scalar == "0")
        await connection.close()
    }

    // MARK: Segments

    private static func insert(_ number: Int) -> PostgresStatement {
        PostgresStatement("INSERT INTO t VALUES ($1::int)", [String(number)])
    }

    /// The segments that keep what succeeds and undo what fails; the savepoint `s` is behind the last that succeeded.
    private static func isolating(_ statements: [PostgresStatement]) -> [[PostgresStatement]] {
        [[PostgresStatement("BEGIN"), PostgresStatement("SAVEPOINT s")]]
            + statements.flatMap { statement in
                [
                    [statement, PostgresStatement("SAVEPOINT s")],
                    [PostgresStatement("ROLLBACK TO SAVEPOINT s")],
                ]
            }
    }

    @Test func segmentsKeepWhatSucceedsAndUndoWhatFails() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int PRIMARY KEY CHECK (x % 3 <> 0))")
        let outcomes = try await connection.pipeline(
            segments: Self.isolating((1...30).map(Self.insert) + [Self.insert(1)]))
        #expect(outcomes.count == 63)
        #expect(outcomes.map(\.count) == [2] + Array(repeating: [2, 1], count: 31).flatMap { $0 })
        for number in 1...31 {
            let pair = outcomes[2 * number - 1]
            if number % 3 == 0 || number == 31 {
                #expect(pair[0].error?.sqlstate == (number == 31 ? "23505" : "23514"))
                #expect(pair[1].isAborted)
            } else {
                #expect(pair.map { $0.result?.commandTag } == ["INSERT 0 1", "SAVEPOINT"])
            }
            #expect(outcomes[2 * number][0].result?.commandTag == "ROLLBACK")
        }
        #expect(await connection.transactionStatus == .inTransaction)
        let end = try await connection.pipeline([PostgresStatement("COMMIT")])
        #expect(end[0].result?.commandTag == "COMMIT")
        let kept = try await connection.query("SELECT count(*), sum(x) FROM t").row(0)
        #expect(kept == ["20", String((1...30).filter { $0 % 3 != 0 }.reduce(0, +))])
        await connection.close()
    }

    /// The server has done the last segment before the client has heard of the first.
    @Test func allSegmentsAreOneRoundTrip() async throws {
        let server = try await TestPostgres.server()
        let uri = try await TestPostgres.database(poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        try await other.script("CREATE TABLE t (x int PRIMARY KEY)")
        let relay = try PostgresRelay(to: server.port)
        let connection = try await PostgresConnection.connect(
            uri.replacing(":\(server.port)/", with: ":\(relay.port)/"), poller: poller)
        relay.holdAnswers()
        let segments =
            Self.isolating([Self.insert(1), Self.insert(1), Self.insert(2)])
            + [[PostgresStatement("SELECT pg_advisory_xact_lock(4711)")]]
        let running = Task { try await connection.pipeline(segments: segments) }
        try await wait(
            for: "the last segment to be done",
            read: {
                try await other.query(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """
                ).scalar
            }, until: { $0 == "1" })
        relay.letAnswersPass()
        let outcomes = try await wait(forEndOf: running)
        #expect(outcomes.map { $0[0].error?.sqlstate } == [nil, nil, nil, "23505", nil, nil, nil, nil])
        try await connection.script("COMMIT")
        #expect(try await other.query("SELECT array_agg(x ORDER BY x) FROM t").scalar == "{1,2}")
        await connection.close()
        await other.close()
    }

    @Test func withoutBeginEachSegmentIsATransaction() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int PRIMARY KEY)")
        let outcomes = try await connection.pipeline(segments: [
            [Self.insert(1)], [Self.insert(2), Self.insert(1), Self.insert(3)], [], [Self.insert(4)],
        ])
        #expect(outcomes.map(\.count) == [1, 3, 0, 1])
        #expect(outcomes[1].map(\.isAborted) == [false, false, true])
        #expect(try await connection.query("SELECT array_agg(x ORDER BY x) FROM t").scalar == "{1,4}")
        #expect(try await connection.pipeline(segments: []).isEmpty)
        await connection.close()
    }

    @Test func rowsThatAreNotWantedAreNotKept() async throws {
        let connection = try await TestPostgres.connection(poller)
        let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 100)"
        let outcomes = try await connection.pipeline(segments: [
            [PostgresStatement(sql, keepsRows: false)], [PostgresStatement(sql)],
        ])
        let dropped = try #require(outcomes[0][0].result)
        #expect(dropped.rowCount == 0 && dropped.columns.isEmpty && dropped.scalar == nil)
        #expect(dropped.commandTag == "SELECT 100" && dropped.affectedRows == 100)
        #expect(outcomes[1][0].result?.rowCount == 100)
        await connection.close()
    }

    @Test func manySegmentsOfLargeStatementsAreSentAndRead() async throws {
        let connection = try await TestPostgres.connection(poller)
        let large = String(repeating: "z", count: 100_000)
        let outcomes = try await connection.pipeline(
            segments: Array(
                repeating: [PostgresStatement("SELECT $1::text || $1::text", [large])], count: 100))
        #expect(outcomes.count == 100)
        #expect(outcomes.allSatisfy { $0[0].result?.scalar?.utf8.count == 200_000 })
        await connection.close()
    }

    @Test func cancelledSegmentsLeaveTheConnectionUsable() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let segments = [
            [PostgresStatement("SELECT 1")], [PostgresStatement("SELECT \(DatabaseGate.passage)")],
            [PostgresStatement("SELECT 2"), PostgresStatement("SELECT 3")], [PostgresStatement("SELECT 4")],
        ]
        let task = Task { try await connection.pipeline(segments: segments) }
        try await gate.waitForArrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        let late = await #expect(throws: PostgresError.self) {
            try await connection.pipeline(segments: segments, until: .now + .milliseconds(50))
        }
        #expect(late?.code == .timedOut)
        #expect(await connection.isAlive)
        try await gate.open()
        #expect(try await connection.pipeline(segments: segments).map(\.count) == [1, 1, 2, 1])
        await connection.close()
    }
}
