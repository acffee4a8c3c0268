import PowerSyncMockService
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

struct SyncConfigReaderTests {
    private static func config(_ streams: String) -> String { "config:\n  edition: 3\nstreams:\n" + streams }

    /// What is wrong with each text, with line and column.
    @Test(arguments: [
        ("", ["line 1, column 1: Sync Config must be a YAML map."]),
        ("x", ["line 1, column 1: Sync Config must be a YAML map."]),
        ("config: {edition: 3}", ["line 1, column 1: 'streams' are required."]),
        ("config: {edition: 4}\nstreams: {}", ["line 1, column 19: must be < 4"]),
        ("config:\n  edition: 3\n  nope: 1\nstreams: {}", ["line 3, column 3: Unknown key 'nope'."]),
        (config("  a: 5\n"), ["line 4, column 6: Expected a map here."]),
        (config("  a:\n    priority: 1\n"), ["line 4, column 3: One of `queries` or `query` must be given."]),
        (
            config("  a:\n    priority: 9\n    query: SELECT * FROM t\n"),
            ["line 5, column 15: Invalid priority, expected a number between 0 and 3 (inclusive)."]
        ),
        (
            config("  a:\n    auto_subscribe: yes\n    query: SELECT * FROM t\n"),
            ["line 5, column 21: must be a boolean"]
        ),
        (
            config("  a:\n    querry: SELECT 1\n    query: SELECT * FROM t\n"),
            ["line 5, column 5: Unknown key 'querry'."]
        ),
        (config("  a:\n    query: SELECT * FROM t LIMIT 5\n"), ["line 5, column 28: LIMIT is not supported"]),
        (
            config("  a:\n    query: |\n      SELECT *\n      FROM t\n      ORDER BY x\n"),
            ["line 8, column 7: ORDER BY is not supported"]
        ),
        (
            config("  a:\n    queries:\n      - SELECT * FROM t\n      - \"SELECT * FROM t GROUP BY x\"\n"),
            ["line 7, column 26: GROUP BY is not supported"]
        ),
        (
            config("  a:\n    query: >\n      SELECT *\n      FROM t JOIN u ON t.id = u.id\n"),
            ["line 7, column 14: Joins are not supported by this service."]
        ),
        (
            config("  a:\n    query: SELECT * FROM t WHERE x IN (SELECT id FROM u)\n"),
            ["line 5, column 36: IN is not supported by this service."]
        ),
        (
            config("  a:\n    query: 'SELECT * FROM t WHERE n = ''a'' AND x < auth.user_id()'\n"),
            [
                "line 5, column 51: This expression already references row data, so it can't also reference "
                    + "connection parameters unless the two are compared with an equals operator."
            ]
        ),
        (
            config("  a:\n    query: SELECT auth.user_id() AS u FROM t\n"),
            [
                "line 5, column 19: This attempts to sync a connection parameter. Only values from the source "
                    + "database can be synced."
            ]
        ),
        (
            config("  a:\n    query: SELECT u.* FROM t\n"),
            ["line 5, column 19: Table 'u' has not been added in a FROM clause here."]
        ),
        (
            config("  a:\n    query: SELECT * FROM t WHERE request.user_id() = x\n"),
            ["line 5, column 34: Invalid schema in function name"]
        ),
        (
            config("  a:\n    query: SELECT * FROM t WHERE auth.jwt() = x\n"),
            ["line 5, column 34: Unknown request function"]
        ),
        (
            config("  a:\n    query: SELECT * FROM t WHERE auth.parameter() = x\n"),
            ["line 5, column 34: Expected a single argument here"]
        ),
        (
            config("  a:\n    query: INSERT INTO t VALUES (1)\n"),
            ["line 5, column 12: Expected a SELECT statement"]
        ),
        (config("  a:\n    query: SELECT * FROM\n"), ["line 5, column 25: Unexpected end of input"]),
        (
            config("  a:\n    query: SELECT * FROM t WHERE name LIKE 'a%'\n"),
            ["line 5, column 39: LIKE expressions are not currently supported."]
        ),
        (
            config("  a:\n    query: SELECT * FROM \"t_%\"\n"),
            ["line 5, column 26: Wildcards in table names are not supported by this service."]
        ),
        (
            config("  a:\n    query: SELECT * FROM t WHERE x = 'open\n"),
            ["line 5, column 38: The text that begins here has no closing quote."]
        ),
        (
            "bucket_definitions: {}\nconfig: {edition: 3}\nstreams: {}",
            ["line 1, column 1: 'bucket_definitions' are not supported by this service, use 'streams'."]
        ),
        (
            "streams: {}",
            [
                "line 1, column 1: Only Sync Streams of edition 3 are supported by this service: `config: {edition: 3}`."
            ]
        ),
    ])
    func saysWhatIsWrongAndWhere(_ text: String, _ expected: [String]) {
        do {
            _ = try SyncConfigReader.compile(text)
            Issue.record("accepted")
        } catch {
            #expect(error.diagnostics.map(\.description) == expected)
        }
    }

    @Test func reportsTheLineOfTextThatIsNoYAML() {
        do {
            _ = try SyncConfigReader.compile("config:\n  edition: 3\nstreams: [\n")
            Issue.record("accepted")
        } catch {
            #expect(error.diagnostics.count == 1)
            #expect((error.diagnostics.first?.line ?? 0) >= 3)
        }
    }

    @Test func reportsEverythingThatIsWrongAtOnce() {
        let text = Self.config(
            "  a:\n    query: SELECT 1\n  b:\n    query: SELECT * FROM t LIMIT 1\n    nope: 1\n")
        do {
            _ = try SyncConfigReader.compile(text)
            Issue.record("accepted")
        } catch {
            #expect(error.diagnostics.map(\.line) == [5, 8, 7])
        }
    }

    @Test func takesEveryFormOfAConditionThatItKnows() throws {
        let config = try SyncConfigReader.compile(
            Self.config(
                """
                  a:
                    auto_subscribe: true
                    priority: 1
                    accept_potentially_dangerous_queries: true
                    query: |
                      SELECT DISTINCT t.id, "Name" AS name, 5 AS five -- a comment
                      FROM app.t AS t
                      WHERE owner = auth.user_id() AND subscription.parameter('x') = t.x
                        AND (done = false AND NOT archived IS NULL) AND rank >= -1.5
                        AND auth.parameter('$.app.role') = 'admin' AND (a = 1 OR b <> 2);
                """))
        let stream = try #require(config.streams.first)
        #expect(stream.name == "a" && stream.isDefault && stream.priority == 1)
        let variant = try #require(stream.variants.first)
        // Names of columns in descending order.
        #expect(
            variant.keys == [
                [.parameter(.init(.subscription, argument: "x"))], [.parameter(.userID)],
            ])
        #expect(
            variant.gates == [
                .comparison(
                    .equal, .parameter(.init(.auth, argument: "$.app.role")), .literal("admin"))
            ])
        let processor = try #require(config.sources.first?.processors.first)
        #expect(processor.schema.text == "app" && processor.table.text == "t")
        #expect(processor.outputTable.text == "t")
        func column(_ name: String) -> PowerSyncMockService.Expression { .column(ExactText(name)) }
        #expect(processor.partitionKeys == [column("x"), column("owner")])
        #expect(processor.filters.count == 4)
        #expect(
            processor.outputs == [
                .column(column("id"), name: ExactText("id")),
                .column(column("Name"), name: ExactText("name")),
                .column(.literal(5), name: ExactText("five")),
            ])
    }

    @Test(arguments: ["a = 1 OR ", "a = 1 AND ", "a = 1 AND b OR "])
    func refusesChainsThatWouldExhaustTheStack(_ link: String) throws {
        func query(_ count: Int) -> String {
            Self.config("  a:\n    query: SELECT * FROM t WHERE \(String(repeating: link, count: count))c\n")
        }
        #expect(try SyncConfigReader.compile(query(250)).sources.count == 1)
        let error = #expect(throws: SyncConfigError.self) { try SyncConfigReader.compile(query(50_000)) }
        #expect(
            error?.diagnostics.first?.message == "More than 500 AND and OR are not supported by this service."
        )
    }

    /// None is compared with all others.
    @Test(.patient()) func takesManyStreamsAndQueries() throws {
        try expectNoSquare(of: 10_000) { count in
            let streams = (0..<count / 2).map { "  a\($0): {query: SELECT * FROM t\($0)}\n" }.joined()
            #expect(try SyncConfigReader.compile(Self.config(streams)).sources.count == count / 2)
            let queries = (0..<count).map { "      - SELECT * FROM t\($0)\n" }.joined()
            let config = try SyncConfigReader.compile(Self.config("  a:\n    queries:\n" + queries + queries))
            #expect(config.sources.map(\.processors.count) == [count])
        }
    }

    @Test(.patient()) func findsThePlaceBehindManyEscapes() {
        expectNoSquare(of: 50_000) { count in
            let escapes = String(repeating: "\\x41", count: count)
            let error = #expect(throws: SyncConfigError.self) {
                try SyncConfigReader.compile(
                    Self.config("  a:\n    query: \"SELECT * FROM t WHERE a = '\(escapes)' LIMIT 1\"\n"))
            }
            #expect(error?.diagnostics.first?.line == 5)
        }
    }

    @Test(arguments: ["\n", "\r\n", "\r", "\u{85}"])
    func countsLinesAsYAMLDoes(_ end: String) {
        let lines = [
            "config: {edition: 3}", "streams:", "  a:", "    query: |", "      SELECT *",
            "      FROM t LIMIT 1",
        ]
        let error = #expect(throws: SyncConfigError.self) {
            try SyncConfigReader.compile(lines.joined(separator: end) + end)
        }
        #expect(error?.description == "line 6, column 14: LIMIT is not supported")
    }

    @Test func refusesExpressionsThatWouldExhaustTheStack() {
        let deep = String(repeating: "(", count: 5000) + "1" + String(repeating: ")", count: 5000)
        #expect(throws: SyncConfigError.self) {
            try SyncConfigReader.compile(Self.config("  a:\n    query: SELECT * FROM t WHERE x = \(deep)\n"))
        }
    }
}
