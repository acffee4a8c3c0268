import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Which statements have names, without a server.
struct PreparedStatementsTests {
    private static func statement(_ text: String) -> PostgresStatement { PostgresStatement(text, ["1"]) }

    /// Has a session prepare texts, each in a pipeline of its own.
    private static func prepare(_ texts: [String], in session: inout PreparedStatements) {
        for text in texts {
            for use in session.uses(of: [[statement(text)]]).joined() {
                if case .preparing(let name) = use { session.made(text, name) }
            }
        }
    }

    @Test func aTextIsPreparedOnceAndThenNamed() {
        var session = PreparedStatements(limit: 2)
        let segment = [Self.statement("a"), PostgresStatement("COMMIT"), Self.statement("a")]
        let first = session.uses(of: [segment])
        #expect(first == [[.preparing("psb_1"), .unnamed, .named("psb_1")]])
        session.made("a", "psb_1")
        let second = session.uses(of: [segment])
        #expect(second == [[.named("psb_1"), .unnamed, .named("psb_1")]])
        let drops = session.takeDrops()
        #expect(session.count == 1 && drops.isEmpty)
    }

    /// The server passes over the rest of a segment that has failed, so that nobody knows yet what another has prepared.
    @Test func aNameIsGoodInItsSegmentUntilItIsMade() {
        var session = PreparedStatements(limit: 2)
        let segments = [[Self.statement("a")], [Self.statement("a")], [Self.statement("b")]]
        let first = session.uses(of: segments)
        #expect(first == [[.preparing("psb_1")], [.unnamed], [.preparing("psb_2")]])
        session.made("b", "psb_2")
        // What was not made gets another name: nobody asks whether the first is there.
        let second = session.uses(of: segments)
        #expect(second == [[.preparing("psb_3")], [.unnamed], [.named("psb_2")]])
    }

    @Test func theLeastRecentlyUsedFallsOut() {
        var session = PreparedStatements(limit: 2)
        Self.prepare(["a", "b", "a", "c"], in: &session)
        #expect(session.count == 2)
        let drops = [session.takeDrops(), session.takeDrops()]
        #expect(drops == [[PostgresStatement("DEALLOCATE psb_2")], []])
        let uses = session.uses(of: [["a", "b", "c"].map(Self.statement)])
        #expect(uses == [[.named("psb_1"), .preparing("psb_4"), .named("psb_3")]])
    }

    @Test func aPipelineHasNoMoreNewNamesThanAreKept() {
        var session = PreparedStatements(limit: 2)
        let uses = session.uses(of: [["a", "b", "c", "a"].map(Self.statement)])
        #expect(uses == [[.preparing("psb_1"), .preparing("psb_2"), .unnamed, .named("psb_1")]])
    }

    /// To Postgres two spellings of one character are two columns: what was prepared for one must not write the other.
    @Test func textsThatAreOnlySpelledAlikeAreTwo() {
        var session = PreparedStatements(limit: 4)
        let texts = ["UPDATE t SET \"\u{e9}\" = $1", "UPDATE t SET \"e\u{301}\" = $1"]
        Self.prepare(texts, in: &session)
        #expect(session.count == 2)
        let uses = session.uses(of: [texts.map(Self.statement)])
        #expect(uses == [[.named("psb_1"), .named("psb_2")]])
    }

    @Test func textsWithoutEndAreNotKept() {
        var session = PreparedStatements(limit: 2)
        let long = Self.statement(String(repeating: "x", count: 32 << 10) + "y")
        let uses = session.uses(of: [[long]])
        #expect(uses == [[.unnamed]])
    }

    @Test func whatMustNotBeKeptHasNoName() {
        var session = PreparedStatements(limit: 2)
        Self.prepare(["a"], in: &session)
        let same = PostgresStatement("a", PostgresParameters(["1"]), isKept: false)
        let uses = session.uses(of: [[same, Self.statement("a")]])
        #expect(uses == [[.unnamed, .named("psb_1")]])
    }

    @Test func whatIsForgottenIsDroppedWithAllThatCameAfter() {
        var session = PreparedStatements(limit: 2)
        Self.prepare(["a"], in: &session)
        session.forget()
        #expect(session.count == 0)
        // Behind the failure, in the same pipeline.
        session.made("b", "psb_9")
        let drops = [session.takeDrops(), session.takeDrops()]
        #expect(drops == [[PostgresStatement("DEALLOCATE ALL")], []])
        #expect(session.count == 0)
        let uses = session.uses(of: [[Self.statement("a")]])
        #expect(uses == [[.preparing("psb_2")]])
    }

    @Test(arguments: [
        ("26000", String?.none, true), ("42P05", nil, true), ("0A000", "RevalidateCachedQuery", true),
        ("0A000", "transformWithClause", false), ("0A000", nil, false), ("34000", nil, false),
        ("23505", "_bt_check_unique", false),
    ])
    func tellsWhatEndsTheNames(sqlstate: String, function: String?, isEnd: Bool) {
        let error = PostgresError(.server, "text", sqlstate: sqlstate, function: function)
        #expect(PreparedStatements.ends(by: error) == isEnd)
    }
}

/// The same on a server.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PreparedConnectionTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    private func connection(keeping limit: Int = 4) async throws -> PostgresConnection {
        let connection = try await TestPostgres.connection(poller)
        await connection.setPreparedStatements(limit)
        return connection
    }

    /// The texts that the session has prepared, by their names.
    private func prepared(_ connection: PostgresConnection) async throws -> [String: String] {
        let found = try await connection.query("SELECT name, statement FROM pg_prepared_statements")
        return Dictionary(
            uniqueKeysWithValues: (0..<found.rowCount).map { (found[$0, 0] ?? "", found[$0, 1] ?? "") })
    }

    private static func doubled(_ number: Int, _ mark: String = "") -> PostgresStatement {
        PostgresStatement("SELECT 2 * $1::int\(mark)", [String(number)])
    }

    @Test func aStatementIsPreparedInFrontOfItsFirstUse() async throws {
        let connection = try await connection()
        let begin = PostgresStatement("BEGIN ISOLATION LEVEL SERIALIZABLE")
        for _ in 1...3 {
            let outcomes = try await connection.pipeline([
                begin, Self.doubled(1), Self.doubled(2), PostgresStatement("COMMIT"),
            ])
            #expect(outcomes.map { $0.result?.commandTag } == ["BEGIN", "SELECT 1", "SELECT 1", "COMMIT"])
            #expect(outcomes.map { $0.result?.scalar } == [nil, "2", "4", nil])
            #expect(try await prepared(connection) == ["psb_1": "SELECT 2 * $1::int"])
        }
        await connection.close()
    }

    @Test func withoutALimitNothingIsPrepared() async throws {
        let connection = try await TestPostgres.connection(poller)
        let outcomes = try await connection.pipeline([Self.doubled(1), Self.doubled(2)])
        #expect(outcomes.map { $0.result?.scalar } == ["2", "4"])
        #expect(try await prepared(connection).isEmpty)
        await connection.close()
    }

    @Test func whatFallsOutIsGivenUpLater() async throws {
        let connection = try await connection(keeping: 2)
        for mark in ["", " AS a", " AS b"] { _ = try await connection.pipeline([Self.doubled(1, mark)]) }
        #expect(try await prepared(connection).count == 3)
        // In a transaction, where a failure would end it, names stay.
        try await connection.script("BEGIN")
        _ = try await connection.pipeline([Self.doubled(1, " AS b")])
        #expect(try await prepared(connection).count == 3)
        try await connection.script("COMMIT")
        // The level of a transaction can be chosen before its first statement alone.
        let outcomes = try await connection.pipeline([
            PostgresStatement("BEGIN ISOLATION LEVEL SERIALIZABLE"), Self.doubled(3, " AS b"),
            PostgresStatement("COMMIT"),
        ])
        #expect(outcomes.map { $0.result?.commandTag } == ["BEGIN", "SELECT 1", "COMMIT"])
        #expect(try await Set(prepared(connection).keys) == ["psb_2", "psb_3"])
        await connection.close()
    }

    /// A statement that is refused while it is parsed has one outcome, as any other.
    @Test func whatCannotBePreparedFailsByItself() async throws {
        let connection = try await connection()
        let wrong = PostgresStatement("SELECT $1::int FROM nowhere", ["1"])
        for _ in 1...2 {
            let outcomes = try await connection.pipeline(segments: [
                [Self.doubled(1), wrong, wrong, Self.doubled(2)], [wrong],
                [Self.doubled(3), Self.doubled(4)],
            ])
            let states = outcomes.map { segment in segment.map { $0.error?.sqlstate } }
            #expect(states == [[nil, "42P01", nil, nil], ["42P01"], [nil, nil]])
            #expect(outcomes[0].map(\.isAborted) == [false, false, true, true])
            #expect(outcomes[2].map { $0.result?.scalar } == ["6", "8"])
            #expect(try await prepared(connection).values.sorted() == ["SELECT 2 * $1::int"])
        }
        await connection.close()
    }

    /// The Parse of a statement behind a failure is passed over by the server, too.
    @Test func whatWasPassedOverIsPreparedLater() async throws {
        let connection = try await connection()
        let failing = [PostgresStatement("SELECT 1 / $1::int", ["0"]), Self.doubled(1)]
        let first = try await connection.pipeline(segments: [failing, [Self.doubled(2)]])
        #expect(first[0].map(\.isAborted) == [false, true] && first[1][0].result?.scalar == "4")
        #expect(try await Set(prepared(connection).keys) == ["psb_1"])
        let second = try await connection.pipeline([Self.doubled(3)])
        #expect(second[0].result?.scalar == "6")
        #expect(try await Set(prepared(connection).keys) == ["psb_1", "psb_3"])
        await connection.close()
    }

    @Test func aSessionThatKnowsNoneAnyMoreIsAskedAnew() async throws {
        let connection = try await connection()
        _ = try await connection.pipeline([Self.doubled(1)])
        try await connection.script("DEALLOCATE ALL")
        let failed = try await connection.pipeline([Self.doubled(2)])
        #expect(failed[0].error?.sqlstate == "26000")
        let again = try await connection.pipeline([Self.doubled(3)])
        #expect(again[0].result?.scalar == "6")
        await connection.close()
    }

    @Test func aNameThatSomebodyElseHasIsNotTakenTwice() async throws {
        let connection = try await connection()
        try await connection.script("PREPARE psb_1 AS SELECT 'another'")
        let failed = try await connection.pipeline([Self.doubled(2)])
        #expect(failed[0].error?.sqlstate == "42P05")
        let again = try await connection.pipeline([Self.doubled(3)])
        #expect(again[0].result?.scalar == "6")
        await connection.close()
    }

    @Test func columnsThatChangeArePreparedAnew() async throws {
        let connection = try await connection()
        try await connection.script("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
        let all = PostgresStatement("SELECT * FROM t WHERE x = $1::int", ["1"])
        #expect(try await connection.pipeline([all])[0].result?.columns.count == 1)
        try await connection.script("ALTER TABLE t ADD y int")
        let failed = try await connection.pipeline([all])
        #expect(failed[0].error?.sqlstate == "0A000")
        #expect(failed[0].error?.function == "RevalidateCachedQuery")
        #expect(try await connection.pipeline([all])[0].result?.columns.count == 2)
        await connection.close()
    }

    @Test func aPipelineThatWasCancelledLeavesNoNames() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        await connection.setPreparedStatements(4)
        let held = PostgresStatement("SELECT \(DatabaseGate.passage), $1::int", ["1"])
        let task = Task { try await connection.pipeline([Self.doubled(1), held, Self.doubled(2, " AS a")]) }
        try await gate.waitForArrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        try await gate.open()
        let outcomes = try await connection.pipeline([Self.doubled(1), held, Self.doubled(2, " AS a")])
        #expect(outcomes.map { $0.result?.rowCount } == [1, 1, 1])
        #expect(try await prepared(connection).count == 3)
        await connection.close()
    }

    @Test func eachConnectionOfAPoolPreparesForItself() async throws {
        var limits = PostgresPool.Limits.patient(size: 2)
        limits.preparedStatements = 4
        let pool = PostgresPool(uri: try await TestPostgres.database(poller), limits: limits, poller: poller)
        try await pool.withConnection { first in
            _ = try await first.pipeline([Self.doubled(1)])
            try await pool.withConnection { second in
                #expect(try await prepared(second).isEmpty)
                _ = try await second.pipeline([Self.doubled(1)])
                #expect(try await prepared(second).count == 1)
            }
            #expect(try await prepared(first).count == 1)
        }
        await pool.close()
    }
}
