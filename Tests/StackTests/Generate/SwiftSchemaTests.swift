import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// The Swift of a plan.
struct SwiftSchemaTests {
    private func stream(_ name: String, isDefault: Bool = false, parameters: [String] = []) -> StreamPlan {
        let keys = parameters.map { [Expression.parameter(RequestParameter(.subscription, argument: $0))] }
        return StreamPlan(
            name: ExactText(name), isDefault: isDefault, priority: 3,
            queriers: [Querier(source: 0, keys: keys)])
    }

    private func schema(_ tables: [(String, [(String, ValueType)])]) -> ClientSchema {
        let plan = SyncPlan(
            edition: 3, options: CompatibilityOptions(edition: 3), streams: [],
            sources: [
                BucketSource(
                    name: ExactText("s"),
                    processors: tables.map { name, _ in
                        RowProcessor(
                            table: TablePattern(
                                tag: .exact(ExactText("default")), schema: .exact(ExactText("public")),
                                name: .exact(ExactText(name))),
                            type: .named(ExactText(name)), outputs: [.allColumns], form: .edition(3))
                    })
            ])
        let source = tables.map { name, columns in
            SourceSchema.Table(
                schema: ExactText("public"), name: ExactText(name),
                columns: columns.map { SourceSchema.Column(name: ExactText($0.0), type: $0.1) })
        }
        return ClientSchema(of: plan, schema: SourceSchema(source))
    }

    @Test func theSchemaIsAsCaptured() throws {
        // As what cli-admin-setup.json has comes to.
        let tables = schema([
            (
                "todos",
                [
                    ("id", .text), ("list_id", .text), ("description", .text), ("completed", .integer),
                    ("position", .integer), ("score", .real), ("tags", .text), ("photo", .blob),
                    ("price", .text), ("kind", .text),
                ]
            ), ("lists", [("id", .text), ("owner_id", .text), ("name", .text), ("created_at", .text)]),
        ])
        let text = SwiftSchema.text(tables, streams: [stream("lists", isDefault: true), stream("todos")])
        let recorded = try Repository.fixture("service/captures/cli-schema.swift.txt")
        #expect(Array(text.utf8) == recorded)
    }

    @Test func columnsOfTwoTypesAreTexts() {
        let text = SwiftSchema.text(
            schema([("a", [("b", [.integer, .real]), ("c", [.integer, .null]), ("d", .any), ("e", [])])]),
            streams: [])
        for line in [".text(\"b\")", ".integer(\"c\")", ".text(\"d\")", ".text(\"e\")"] {
            #expect(text.contains("        \(line)"))
        }
    }

    @Test func parametersOfStreamsAreThoseOfTheirFunctions() {
        let legacy = StreamPlan(
            name: ExactText("bucket"), isDefault: false, priority: 3, isLegacy: true, queriers: [])
        let text = SwiftSchema.text(
            schema([]),
            streams: [
                stream("todos", parameters: ["list", "a-b", "a b"]),
                stream("db", parameters: ["in", "db", "await"]), stream("my list!"), stream("my_list_"),
                stream("class"), stream("2nd"), stream(""), legacy,
            ])
        let expected = """
            import PowerSync

            let schema = Schema(
            )

            struct TypedSyncStreams {
                private var db: PowerSyncDatabaseProtocol
                init(_ db: PowerSyncDatabaseProtocol) {
                    self.db = db
                }
                func todos(a_b: JsonValue, a_b2: JsonValue, list: JsonValue) -> SyncStream {
                    return db.syncStream(name: "todos", params: ["a b": a_b, "a-b": a_b2, "list": list])
                }
                func db2(`await`: JsonValue, db2: JsonValue, `in`: JsonValue) -> SyncStream {
                    return db.syncStream(name: "db", params: ["await": `await`, "db": db2, "in": `in`])
                }
                func my_list_() -> SyncStream {
                    return db.syncStream(name: "my list!", params: [:])
                }
                func my_list_2() -> SyncStream {
                    return db.syncStream(name: "my_list_", params: [:])
                }
                func `class`() -> SyncStream {
                    return db.syncStream(name: "class", params: [:])
                }
                func _2nd() -> SyncStream {
                    return db.syncStream(name: "2nd", params: [:])
                }
                func __() -> SyncStream {
                    return db.syncStream(name: "", params: [:])
                }
            }

            """
        #expect(text == expected)
    }

    @Test func textsAreLiterals() {
        let text = SwiftSchema.text(schema([("a\"\\(b)\n\u{7}é", [])]), streams: [])
        #expect(text.contains(#"    name: "a\"\\(b)\n\u{7}é","#))
        #expect(text.contains("    columns: [\n    ]\n  )\n)"))
    }
}
