import Foundation
import PowerSync
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

struct SchemaFileTests {
    private static func schema(_ text: String) throws -> Schema {
        try SchemaFile.schema(JSON.parse(text))
    }

    @Test func everyMemberOfATableIsTaken() throws {
        let schema = try Self.schema(
            #"""
            {"tables":[{"name":"users","view_name":"people",
              "columns":[{"name":"name","type":"text"},{"name":"age","type":"INTEGER"},{"name":"x","type":"Real"}],
              "indexes":[{"name":"i","columns":[{"name":"name","ascending":true,"type":"text"},
                                                {"name":"age","ascending":false,"type":"integer"}]}],
              "insert_only":true,"include_metadata":true,"ignore_empty_update":true,
              "include_old":["name"],"include_old_only_when_changed":true},
             {"name":"drafts","columns":[],"local_only":true,"include_old":false,"view_name":null},
             {"name":"notes","columns":[],"include_old":true}]}
            """#)
        #expect(schema.tables.count == 3 && schema.rawTables.isEmpty)
        let users = schema.tables[0]
        #expect(users.name == "users" && users.viewName == "people")
        #expect(users.columns == [.text("name"), .integer("age"), .real("x")])
        #expect(users.indexes.map(\.name) == ["i"])
        #expect(users.indexes[0].columns.map(\.column) == ["name", "age"])
        #expect(users.indexes[0].columns.map(\.ascending) == [true, false])
        #expect(!users.localOnly && users.insertOnly && users.trackMetadata && users.ignoreEmptyUpdates)
        #expect(users.trackPreviousValues?.columnFilter == ["name"])
        #expect(users.trackPreviousValues?.onlyWhenChanged == true)
        let drafts = schema.tables[1]
        #expect(drafts.viewName == "drafts" && drafts.localOnly && drafts.trackPreviousValues == nil)
        #expect(!drafts.insertOnly && !drafts.trackMetadata && !drafts.ignoreEmptyUpdates)
        let notes = try #require(schema.tables[2].trackPreviousValues)
        #expect(notes.columnFilter == nil && !notes.onlyWhenChanged)
    }

    @Test func everyMemberOfARawTableIsTaken() throws {
        let schema = try Self.schema(
            #"""
            {"tables":[],"raw_tables":[
              {"name":"lists","put":{"sql":"P","params":["Id",{"Column":"name"},"Rest"]},
               "delete":{"sql":"D","params":["Id"]},"clear":"C"},
              {"name":"todos","table_name":"local_todos","synced_columns":["a"],"insert_only":true}]}
            """#)
        #expect(schema.rawTables.count == 2)
        #expect(
            schema.rawTables[0].jsonDescription() == #"""
                {"name":"lists","put":{"sql":"P","params":["Id",{"Column":"name"},"Rest"]},\#
                "delete":{"sql":"D","params":["Id"]},"clear":"C"}
                """#)
        #expect(
            schema.rawTables[1].jsonDescription() == #"""
                {"name":"todos","table_name":"local_todos","synced_columns":["a"],"local_only":false,\#
                "insert_only":true,"include_metadata":false,"ignore_empty_update":false}
                """#)
    }

    @Test(arguments: [
        ("[]", "expected an object"),
        ("{}", "tables: expected an array"),
        (#"{"tables":[],"views":[]}"#, "views: unknown key"),
        (#"{"tables":[7]}"#, "tables[0]: expected an object"),
        (#"{"tables":[{"columns":[]}]}"#, "tables[0].name: expected a text"),
        (#"{"tables":[{"name":"t"}]}"#, "tables[0].columns: expected an array"),
        (#"{"tables":[{"name":"t","columns":[],"localOnly":true}]}"#, "tables[0].localOnly: unknown key"),
        (
            #"{"tables":[{"name":"t","columns":[{"name":"a","tpye":"text"}]}]}"#,
            "tables[0].columns[0].tpye: unknown key"
        ),
        (
            #"{"tables":[{"name":"t","columns":[{"name":"a","type":"blob"}]}]}"#,
            "tables[0].columns[0].type: expected text, integer or real"
        ),
        (
            #"{"tables":[{"name":"t","columns":[],"local_only":1}]}"#,
            "tables[0].local_only: expected true or false"
        ),
        (
            #"{"tables":[{"name":"t","columns":[],"include_old":["a",1]}]}"#,
            "tables[0].include_old[1]: expected a text"
        ),
        (
            #"{"tables":[{"name":"t","columns":[],"include_old":"a"}]}"#,
            "tables[0].include_old: expected true, false or an array of columns"
        ),
        (
            #"""
            {"tables":[{"name":"t","columns":[],"indexes":[{"name":"i","columns":[\#
            {"name":"a","ascending":true,"type":"text"}]}]}]}
            """#, "tables[0].indexes[0].columns[0].name: expected a column of the table"
        ),
        (
            #"""
            {"tables":[{"name":"t","columns":[{"name":"a","type":"real"}],"indexes":[{"name":"i","columns":[\#
            {"name":"a","ascending":true,"type":"text"}]}]}]}
            """#, "tables[0].indexes[0].columns[0].type: expected the type of the column, real"
        ),
        (
            #"{"tables":[],"raw_tables":[{"name":"r"}]}"#,
            "raw_tables[0].put: expected a statement, or table_name to infer it from"
        ),
        (
            #"{"tables":[],"raw_tables":[{"name":"r","put":{"sql":"P","params":["id"]},"delete":null}]}"#,
            #"raw_tables[0].put.params[0]: expected "Id", "Rest" or {"Column": name}"#
        ),
    ])
    func whatMakesNoSenseIsToldWithItsPlace(text: String, error: String) throws {
        let thrown = #expect(throws: ClientError.self) { try Self.schema(text) }
        #expect(thrown?.message == error)
    }

    @Test func anErrorNamesTheFileAndAPlace() throws {
        let folder = try TemporaryDirectory(prefix: "schema-")
        let path = folder.path + "/schema.json"
        for (text, message) in [
            (#"{"tables":[{"name":"t","columns":[],"x":1}]}"#, "tables[0].x: unknown key"),
            (#"{"tables":[],"tables":[]}"#, "a name occurs twice in one object"),
        ] {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let error = #expect(throws: StackError.self) { try SchemaFile.read(path) }
            #expect(error?.code == .file && error?.message == "\(path): \(message)")
        }
        let missing = #expect(throws: StackError.self) { try SchemaFile.read(folder.path + "/none.json") }
        #expect(missing?.message == "cannot read \(folder.path)/none.json: No such file or directory")
    }
}
