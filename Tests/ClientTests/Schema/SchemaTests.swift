import Foundation
import PowerSyncWire
import Testing

@testable import PowerSync

struct SchemaTests {
    private func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test func aTableEncodesExactlyTheKeysOfTheContract() throws {
        let table = Table(
            name: "users", columns: [.text("name"), .integer("age"), .real("score")],
            indexes: [Index(name: "i", IndexedColumn.ascending("name"), IndexedColumn.descending("age"))],
            viewNameOverride: "people",
            trackPreviousValues: TrackPreviousValuesOptions(columnFilter: ["name"], onlyWhenChanged: true))
        #expect(
            try encoded(table) == #"""
                {"columns":[{"name":"name","type":"text"},{"name":"age","type":"integer"},{"name":"score","type":"real"}],\#
                "ignore_empty_update":false,"include_metadata":false,"include_old":["name"],"include_old_only_when_changed":true,\#
                "indexes":[{"columns":[{"ascending":true,"name":"name","type":"text"},{"ascending":false,"name":"age","type":"integer"}],"name":"i"}],\#
                "insert_only":false,"local_only":false,"name":"users","view_name":"people"}
                """#)
    }

    @Test func optionalKeysAreLeftOut() throws {
        let table = Table(name: "users", columns: [], trackMetadata: true, ignoreEmptyUpdates: true)
        #expect(
            try encoded(table) == #"""
                {"columns":[],"ignore_empty_update":true,"include_metadata":true,"indexes":[],"insert_only":false,\#
                "local_only":false,"name":"users"}
                """#)
        let all = Table(name: "users", columns: [], trackPreviousValues: TrackPreviousValuesOptions())
        #expect(try all.json()["include_old"] == .bool(true))
        #expect(try all.json()["include_old_only_when_changed"] == .bool(false))
    }

    @Test func aRawTableEncodesWhatItHas() throws {
        let statement = PendingStatement(sql: "s", parameters: [.id, .column("name"), .rest])
        let plain = RawTable(
            name: "lists", put: statement, delete: PendingStatement(sql: "d", parameters: [.id]), clear: "c")
        #expect(
            plain.jsonDescription()
                == #"{"name":"lists","put":{"sql":"s","params":["Id",{"Column":"name"},"Rest"]},"delete":{"sql":"d","params":["Id"]},"clear":"c"}"#
        )
        let inferred = RawTable(
            name: "lists",
            schema: RawTableSchema(syncedColumns: ["name"], options: TableOptions(insertOnly: true)))
        #expect(
            inferred.jsonDescription()
                == #"{"name":"lists","table_name":"lists","synced_columns":["name"],"local_only":false,"insert_only":true,"include_metadata":false,"ignore_empty_update":false}"#
        )
        #expect(RawTable(name: "a", schema: RawTableSchema(tableName: "b")).json["table_name"] == "b")
    }

    @Test func aSchemaTakesTablesOfBothKinds() throws {
        let raw = RawTable(name: "raw", schema: RawTableSchema())
        let schema = Schema(Table(name: "a", columns: []), raw, Table(name: "b", columns: []))
        #expect(schema.tables.map(\.name) == ["a", "b"])
        #expect(schema.rawTables.map(\.name) == ["raw"])
        #expect(try Schema().json().text == #"{"tables":[],"raw_tables":[]}"#)
        #expect(try encoded(Schema(tables: [])) == #"{"raw_tables":[],"tables":[]}"#)
    }

    @Test func theCoreUnderstandsWhatASchemaEncodes() throws {
        let table = Table(
            name: "users", columns: [.text("name"), .integer("age")],
            indexes: [
                .ascending(name: "i", columns: ["name", "age"]), .ascending(name: "j", column: "age"),
            ],
            viewNameOverride: "people", trackMetadata: true,
            trackPreviousValues: TrackPreviousValuesOptions(onlyWhenChanged: true), ignoreEmptyUpdates: true)
        let raw = RawTable(
            name: "raw", schema: RawTableSchema(tableName: "t", syncedColumns: ["x"]), clear: "c")
        let definition = try SchemaDefinition(json: try Schema(table, raw).json().text)
        let parsed = try #require(definition.tables.first)
        #expect(parsed.viewName == "people" && parsed.columns.map(\.type) == ["text", "integer"])
        #expect(parsed.indexes.map(\.name) == ["i", "j"])
        #expect(parsed.options.flags == 4 | 8 | 16)
        #expect(parsed.options.previousValues == .all)
        #expect(definition.rawTables.first?.tableName == "t")
        #expect(definition.rawTables.first?.syncedColumns == ["x"])
    }

    @Test func anIndexOnAnUnknownColumnCannotBeEncoded() throws {
        let table = Table(name: "t", columns: [], indexes: [.ascending(name: "i", column: "c")])
        let error = #expect(throws: PowerSyncError.self) { try Schema(table).json() }
        #expect(
            error?.errorDescription
                == "Unserializable schema: Index i references column c which does not exist in t")
    }
}
