import PowerSyncMockService
import PowerSyncSQLite
import PowerSyncWire
import Testing

struct RowEvaluatorTests {
    private static func evaluator(_ queries: String...) throws -> RowEvaluator { try evaluator(queries) }

    private static func evaluator(_ queries: [String]) throws -> RowEvaluator {
        let list = queries.map { "      - \"\($0)\"\n" }.joined()
        return RowEvaluator(
            try SyncConfigReader.compile("config: {edition: 3}\nstreams:\n  s:\n    queries:\n\(list)"))
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

    /// As `RowProgramRun` does: what decides on a bucket is read first, and what is in none needs no output.
    @Test func aRowIsEvaluatedWithoutTheValuesThatNoQueryReads() throws {
        func evaluate(_ missing: Set<Int>, _ queries: String...) throws -> [String]? {
            try Self.evaluator(queries)
                .evaluate(Self.row, without: missing, schema: "public", table: "t")?.map(\.data)
        }
        // The note, which comes last, and then the rank.
        #expect(try evaluate([5], "SELECT id FROM t") == [#"{"id":"r1"}"#])
        #expect(try evaluate([5], "SELECT id, note FROM t") == nil)
        #expect(try evaluate([5], "SELECT * FROM t") == nil)
        #expect(try evaluate([5], "SELECT * FROM t WHERE rank = 4") == [])
        #expect(try evaluate([5], "SELECT * FROM t WHERE rank = 4 AND note = 'x'") == [])
        #expect(try evaluate([5], "SELECT * FROM t WHERE note = 'x' AND rank = 4") == nil)
        #expect(try evaluate([2], "SELECT id FROM t WHERE owner = 'u1' OR rank = 3") == [#"{"id":"r1"}"#])
        #expect(try evaluate([2], "SELECT id FROM t WHERE rank IS NULL") == nil)
        #expect(try evaluate([2], "SELECT id FROM t WHERE rank = auth.user_id()") == nil)
        // One query that needs it is enough.
        #expect(try evaluate([5], "SELECT id FROM t", "SELECT id, note FROM t WHERE rank = 3") == nil)
        let other = "SELECT id, note FROM t WHERE rank = 4"
        #expect(try evaluate([5], "SELECT id FROM t", other) == [#"{"id":"r1"}"#])
    }

    @Test func rowsOfOtherTablesAndSchemasMatchNothing() throws {
        let evaluator = try Self.evaluator("SELECT * FROM app.t")
        #expect(evaluator.evaluate(Self.row, schema: "public", table: "t").isEmpty)
        #expect(evaluator.evaluate(Self.row, schema: "app", table: "u").isEmpty)
        #expect(evaluator.uses(schema: "app", table: "t") && !evaluator.uses(schema: "public", table: "t"))
    }

    @Test(arguments: [
        ("done = false", true), ("done = 0", true), ("done != 0", false), ("done", false), ("NOT done", true),
        ("rank > 2", true), ("rank > 3", false), ("rank >= 3.0", true), ("rank < 10 AND rank <> 4", true),
        ("rank = '3'", false), ("rank < 'a'", true), ("note IS NULL", true), ("note IS NOT NULL", false),
        ("note = 'x'", false), ("note != 'x'", true), ("NOT (note = 'x')", true),
        ("owner = 'u1' OR note = 'x'", true),
        ("missing IS NULL", true), ("rank = 3.5", false), ("owner > 'u0'", true), ("raw", false),
        ("'1x'", true),
        ("'a'", false), ("NULL", false),
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
        let config = try SyncConfigReader.compile(
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
        #expect(config.sources.map(\.name) == ["s|0", "s|2", "twin|0"])
        #expect(config.sources.map(\.processors.count) == [2, 2, 1])
        #expect(config.streams.map { $0.variants.map(\.source) } == [[0, 1], [2], [2]])
    }

    @Test(arguments: [
        (SQLiteValue.integer(314), "n[314]"), (.real(314), "n[314]"), (.real(3.14), "n[3.14]"),
        (.integer(9_007_199_254_740_993), "n[9007199254740993]"), (.text("a\"b"), "n[\"a\\\"b\"]"),
    ])
    func namesSpellValuesAsJSON(_ value: SQLiteValue, _ name: String) {
        #expect(BucketName.make(source: "n", values: [value]) == name)
    }
}
