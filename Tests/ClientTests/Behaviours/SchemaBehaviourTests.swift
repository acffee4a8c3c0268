import Foundation
import PowerSync
import PowerSyncTestSupport
import Testing

/// Client-api 7 K: what the tests beside their sources do not say of it.
@Suite(.patient())
struct SchemaBehaviourTests {
    private func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Why a schema is not valid; nil if it is.
    private func failure(_ schema: Schema) -> String? {
        do {
            try schema.validate()
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func texts(_ index: Index) -> [String] {
        [index.name] + index.columns.map { "\($0.column) \($0.ascending ? "ascending" : "descending")" }
    }

    @Test("Factories of columns and indexes keep what they are given, and ascend by default", .behaviour(148))
    func factoriesKeepWhatTheyAreGiven() {
        #expect(Column.text("name") == Column(name: "name", type: .text))
        #expect(Column.integer("age") == Column(name: "age", type: .integer))
        #expect(Column.real("weight") == Column(name: "weight", type: .real))
        #expect(Column.text("").name.isEmpty)

        #expect(IndexedColumn(column: "name").ascending)
        #expect(IndexedColumn(column: "name").column == "name")
        #expect(!IndexedColumn(column: "name", ascending: false).ascending)
        #expect(IndexedColumn.ascending("name").ascending)
        #expect(!IndexedColumn.descending("name").ascending)
        #expect(IndexedColumn.descending("name").column == "name")
        #expect(IndexedColumn(column: "").column.isEmpty)

        let mixed = [IndexedColumn.ascending("a"), .descending("b"), .ascending("c")]
        let expected = ["i", "a ascending", "b descending", "c ascending"]
        #expect(texts(Index(name: "i", columns: mixed)) == expected)
        #expect(
            texts(Index(name: "i", IndexedColumn.ascending("a"), IndexedColumn.descending("b")))
                == ["i", "a ascending", "b descending"])
        #expect(
            texts(.ascending(name: "i", columns: ["b", "a"])) == ["i", "b ascending", "a ascending"])
        #expect(texts(.ascending(name: "i", column: "a")) == ["i", "a ascending"])
        #expect(texts(Index(name: "i", columns: [])) == ["i"])
    }

    @Test(
        "A view has the name of its table or another, and the rows are in a table of the SDK",
        .behaviour(149),
        arguments: [(false, "ps_data__users"), (true, "ps_data_local__users")])
    func namesOfViewsAndTables(_ isLocal: Bool, _ internalName: String) async throws {
        #expect(Table(name: "users", columns: []).viewName == "users")
        let table = Table(
            name: "users", columns: [.text("name")], localOnly: isLocal, viewNameOverride: "people")
        #expect(table.name == "users")
        #expect(table.viewName == "people")
        let test = try TestDatabase(schema: Schema(table))
        try await test.database.execute("INSERT INTO people (id, name) VALUES ('1', 'A')")
        #expect(try await test.count("people") == 1)
        #expect(try await test.count(internalName) == 1)
        await #expect(throws: PowerSyncError.self) { try await test.count("users") }
    }

    @Test(
        "Two tables of one name are refused with that name, a raw one by its name in SQLite", .behaviour(160))
    func namesAreUnique() {
        let users = Table(name: "users", columns: [.text("name")])
        #expect(failure(Schema(users, users)) == #"duplicateTableName("users")"#)
        let raw = RawTable(name: "raw", schema: RawTableSchema(tableName: "users"))
        #expect(failure(Schema(users, raw)) == #"duplicateTableName("users")"#)
        let other = RawTable(name: "users", schema: RawTableSchema(tableName: "other"))
        #expect(failure(Schema(users, other)) == nil)
    }

    @Test("What is wrong with a table is what is wrong with its schema", .behaviour(161))
    func aTableThatIsNotValid() throws {
        let right = Table(name: "right", columns: [.text("name")])
        let wrong = Table(name: "wrong", columns: [.text("name"), .text("id")])
        #expect(throws: TableError.self) { try Schema(right, wrong).validate() }
        #expect(failure(Schema(right, wrong)) == #"customIdColumn(tableName: "wrong")"#)
        let wide = Table(name: "wide", columns: (0..<64).map { .text("c\($0)") })
        #expect(failure(Schema(wide, right)) == #"tooManyColumns(tableName: "wide", count: 64)"#)
    }

    @Test("A schema of nothing has two empty lists", .behaviour(162)) func aSchemaOfNothing() throws {
        #expect(try encoded(Schema()) == #"{"raw_tables":[],"tables":[]}"#)
    }

    @Test(
        "A table that tracks previous values encodes exactly these keys, and no name of its view",
        .behaviour(163))
    func aTableThatTracksPreviousValues() throws {
        let table = Table(
            name: "users", columns: [.text("name")],
            trackPreviousValues: TrackPreviousValuesOptions(columnFilter: ["name"], onlyWhenChanged: true))
        #expect(
            try encoded(table) == #"""
                {"columns":[{"name":"name","type":"text"}],"ignore_empty_update":false,"include_metadata":false,\#
                "include_old":["name"],"include_old_only_when_changed":true,"indexes":[],"insert_only":false,\#
                "local_only":false,"name":"users"}
                """#)
    }

    @Test("A raw table with statements encodes them and no options", .behaviour(164))
    func aRawTableWithStatements() throws {
        let table = RawTable(
            name: "lists", put: PendingStatement(sql: "insert", parameters: [.id]),
            delete: PendingStatement(sql: "delete", parameters: [.column("a"), .rest]), clear: "clear")
        let text = #"""
            {"clear":"clear","delete":{"params":[{"Column":"a"},"Rest"],"sql":"delete"},"name":"lists",\#
            "put":{"params":["Id"],"sql":"insert"}}
            """#
        #expect(try encoded(table) == text)
        #expect(try encoded(Schema(table)) == #"{"raw_tables":[\#(text)],"tables":[]}"#)
    }

    @Test("A raw table with a schema encodes the schema and its options", .behaviour(165))
    func aRawTableWithASchema() throws {
        let table = RawTable(
            name: "users",
            schema: RawTableSchema(syncedColumns: ["foo"], options: TableOptions(insertOnly: true)))
        #expect(
            try encoded(table) == #"""
                {"ignore_empty_update":false,"include_metadata":false,"insert_only":true,"local_only":false,\#
                "name":"users","synced_columns":["foo"],"table_name":"users"}
                """#)
    }
}
