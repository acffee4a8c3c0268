import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire
import Testing

struct RowEvaluatorTests {
    private static func evaluator(_ queries: String...) throws -> RowEvaluator { try evaluator(queries) }

    private static func evaluator(_ queries: [String]) throws -> RowEvaluator {
        let list = queries.map { "      - \"\($0)\"\n" }.joined()
        return RowEvaluator(
            try SyncPlan.compiled("config: {edition: 3}\nstreams:\n  s:\n    queries:\n\(list)"))
    }

    private static let row = SourceRow(
        shape: RowShape(columns: ["id", "owner", "rank", "done", "raw", "note"]),
        values: ["r1", "u1", 3, 0, .blob([1]), nil])

    private func buckets(_ query: String, _ row: SourceRow = row) throws -> [String] {
        try Self.evaluator(query).evaluate(row, schema: "public", table: "t").map(\.bucket)
    }

    @Test func syncsAllColumnsInTheirOrderWithoutBlobs() throws {
        let rows = try Self.evaluator("SELECT * FROM t").evaluate(Self.row, schema: "public", table: "t")
        #expect(
            rows == [
                EvaluatedRow(
                    bucket: "s|0[]", type: "t", id: "r1",
                    data: #"{"id":"r1","owner":"u1","rank":3,"done":0,"note":null}"#)
            ])
    }

    @Test func renamesTableAndColumns() throws {
        let rows = try Self.evaluator("SELECT rank AS id, owner AS who, owner FROM t AS things")
            .evaluate(Self.row, schema: "public", table: "t")
        #expect(
            rows == [
                EvaluatedRow(
                    bucket: "s|0[]", type: "things", id: "3", data: #"{"id":3,"who":"u1","owner":"u1"}"#)
            ])
    }

    @Test func rowsOfOtherTablesAndSchemasMatchNothing() throws {
        let evaluator = try Self.evaluator("SELECT * FROM app.t")
        #expect(evaluator.evaluate(Self.row, schema: "public", table: "t").isEmpty)
        #expect(evaluator.evaluate(Self.row, schema: "app", table: "u").isEmpty)
        #expect(evaluator.evaluate(Self.row, schema: "app", table: "t").count == 1)
    }

    @Test(arguments: [
        ("done = false", true), ("done = 0", true), ("done != 0", false), ("done", false), ("NOT done", true),
        ("rank > 2", true), ("rank > 3", false), ("rank >= 3.0", true), ("rank < 10 AND rank <> 4", true),
        ("rank = '3'", false), ("rank < 'a'", true), ("note IS NULL", true), ("note IS NOT NULL", false),
        ("note = 'x'", false), ("note != 'x'", true), ("NOT (note = 'x')", true),
        ("owner = 'u1' OR note = 'x'", true),
        ("missing IS NULL", true), ("rank = 3.5", false), ("owner > 'u0'", true), ("raw", false),
    ])
    func filtersAsTheDefaultEngineDoes(_ condition: String, _ matches: Bool) throws {
        #expect(try buckets("SELECT * FROM t WHERE \(condition)") == (matches ? ["s|0[]"] : []))
    }

    @Test func anErrorInOneQueryLeavesTheOthersAlone() throws {
        let evaluator = try Self.evaluator(
            "SELECT * FROM t WHERE raw = raw", "SELECT id FROM t WHERE rank = 3")
        #expect(evaluator.evaluate(Self.row, schema: "public", table: "t").map(\.data) == [#"{"id":"r1"}"#])
    }

    @Test func choosesTheBucketByItsValues() throws {
        #expect(try buckets("SELECT * FROM t WHERE owner = auth.user_id()") == ["s|0[\"u1\"]"])
        #expect(try buckets("SELECT * FROM t WHERE auth.parameter('x') = rank") == ["s|0[3]"])
        // Several values stand in descending order of their columns' names.
        #expect(
            try buckets("SELECT * FROM t WHERE owner = auth.user_id() AND rank = subscription.parameter('r')")
                == ["s|0[3,\"u1\"]"])
    }

    @Test func aRowWithoutAValueForTheBucketIsInNone() throws {
        #expect(try buckets("SELECT * FROM t WHERE note = auth.user_id()") == [])
        #expect(try buckets("SELECT * FROM t WHERE raw = auth.user_id()") == [])
    }

    @Test func queriesWithTheSameRequestSideShareABucketNamedAfterTheFirst() throws {
        let config = try SyncPlan.compiled(
            """
            config: {edition: 3}
            streams:
              s:
                queries:
                  - SELECT * FROM a
                  - SELECT * FROM b
                  - SELECT * FROM c WHERE owner = auth.user_id()
                  - SELECT * FROM d WHERE holder = auth.user_id()
                  - SELECT * FROM a
              twin:
                query: SELECT * FROM c WHERE owner = auth.parameter('sub')
              other:
                query: SELECT * FROM c WHERE owner = connection.parameter('o')
            """)
        #expect(config.sources.map(\.name.text) == ["s|0", "s|2", "twin|0"])
        #expect(config.sources.map(\.processors.count) == [2, 2, 1])
        #expect(config.streams.map { $0.queriers.map(\.source) } == [[0, 1], [2], [2]])
    }

    @Test(arguments: [
        (SQLiteValue.integer(314), "n[314]"), (.real(314), "n[314]"), (.real(3.14), "n[3.14]"),
        (.integer(9_007_199_254_740_993), "n[9007199254740993]"), (.text("a\"b"), "n[\"a\\\"b\"]"),
    ])
    func namesSpellValuesAsJSON(_ value: SQLiteValue, _ name: String) throws {
        let text = try #require(BucketSpelling.text(ScalarValue(value)))
        #expect(BucketSpelling.name(source: ExactText("n"), values: [text]) == ExactText(name))
    }

    /// What the service reads, and follows, are the tables that queries name.
    @Test func tablesAreThoseOfTheConfigurationEachOnce() throws {
        let config = try SyncPlan.compiled(
            """
            config: {edition: 3}
            streams:
              s: {queries: [SELECT * FROM u, SELECT id FROM t, SELECT * FROM other.t]}
              r: {query: SELECT * FROM t WHERE owner = auth.user_id()}
            """)
        func name(_ part: NamePart) -> String? {
            if case .exact(let name) = part { name.text } else { nil }
        }
        #expect(config.tables.map { name($0.schema) } == ["public", "public", "other"])
        #expect(config.tables.map { name($0.name) } == ["u", "t", "t"])
        let context = EvaluationContext(stream: 1, plan: config)
        #expect(context.uses(schema: "other", table: "t") && context.uses(schema: "public", table: "u"))
        #expect(!context.uses(schema: "other", table: "u") && !context.uses(schema: "public", table: "T"))
    }
}
