import PowerSyncPostgres
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
            Array(repeating: PostgresStatement("SELECT $1::text || $1::text", [large]), count: 300))
        #expect(outcomes.count == 300)
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
}
