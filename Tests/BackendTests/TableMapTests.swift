import PowerSyncBackend
import PowerSyncWire
import Testing

struct TableMapTests {
    @Test func theDefaultsAreThoseOfPublicAndID() throws {
        let tables = try Build.tables("tables:\n  lists:\n").tables
        let lists = try #require(tables["lists"])
        #expect(lists.quoted == #""public"."lists""#)
        #expect(lists.id.name == "id")
        #expect(lists.owner == nil)
        #expect(lists.operations == [.put, .patch, .delete])
        #expect(lists.columns["name"]?.writer == .client)
    }

    @Test func everyMemberOfTheMapCounts() throws {
        let tables = try Build.tables(
            """
            tables:
              things_of_mine: { table: app.things, id: thing_id, ops: [PUT] }
              lists:
                owner: owner_id
                columns: { made: { write: server }, secret: { write: never }, body: { json_strings: keep } }
            """
        ).tables
        #expect(tables["things_of_mine"]?.quoted == #""app"."things""#)
        #expect(tables["things_of_mine"]?.id.name == "thing_id")
        #expect(tables["things_of_mine"]?.operations == [.put])
        let lists = try #require(tables["lists"])
        #expect(lists.owner?.name == "owner_id")
        #expect(lists.columns["made"]?.writer == .server)
        #expect(lists.columns["secret"]?.writer == .never)
        #expect(lists.columns["body"]?.jsonStrings == .keep)
    }

    @Test(arguments: [
        ("tables:\n  nosuch:\n", "line 2, column 3", "no table public.nosuch"),
        ("tables:\n  lists: { id: nosuch }\n", "line 2, column 16", "no column nosuch"),
        ("tables:\n  lists:\n    owner: who\n", "line 3, column 12", "no column who"),
        ("tables:\n  lists:\n    columns: { x: { write: server } }\n", "line 3, column 16", "no column x"),
        (
            "tables:\n  lists:\n    columns: { name: { write: maybe } }\n", "line 3, column 31",
            "client, server or never"
        ),
        ("tables:\n  lists: { ops: [UPSERT] }\n", "line 2, column 18", "PUT, PATCH or DELETE"),
        ("tables:\n  lists: { owners: x }\n", "line 2, column 12", "unknown member"),
        ("tables:\n  lists: { id: name }\n", "line 2, column 16", "unique index"),
        ("lists: {}\n", "line 1, column 1", "unknown member"),
    ])
    func aMistakeIsNamedWithItsPlace(yaml: String, place: String, message: String) throws {
        let error = try #require(thrown { try Build.tables(yaml) } as? BackendError)
        #expect(error.code == .tableMap)
        #expect(error.message.contains(place))
        #expect(error.message.contains(message))
    }

    @Test func typesDecideHowValuesAreRead() throws {
        let columns = try #require(try Build.tables("tables: { lists: }\n").tables["lists"]).columns
        #expect(columns["tags"]?.kind == .array(.text(limit: nil)))
        #expect(columns["price"]?.kind == .numeric(scale: 2))
        #expect(columns["sum"]?.writer == .never)
        #expect(columns["doc"]?.writer == .never)
    }

    @Test func theOpenSchemaIsThatOfThePublication() throws {
        let tables = try UploadTables(openSchemaOf: Build.catalog)
        #expect(tables.tables.keys.sorted() == ["lists"])
        #expect(tables.warnings.contains { $0.contains("logs") })
        var without = Build.catalog
        without.published = nil
        #expect(throws: BackendError.self) { try UploadTables(openSchemaOf: without) }
    }

    @Test func aCatalogThatLostAColumnIsNoSuccessor() throws {
        let before = try UploadTables(openSchemaOf: Build.catalog)
        var catalog = Build.catalog
        catalog.tables[Catalog.Name(schema: "public", table: "lists")]?.columns.removeAll { $0.name == "n" }
        #expect(try !UploadTables(openSchemaOf: catalog).covers(before))
        #expect(try before.covers(UploadTables(openSchemaOf: catalog)))
    }
}
