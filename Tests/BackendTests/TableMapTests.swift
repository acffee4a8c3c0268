import PowerSyncBackend
import PowerSyncWire
import Testing

struct TableMapTests {
    @Test func theDefaultsAreThoseOfPublicAndID() throws {
        let tables = try Build.tables("tables:\n  lists:\n").tables
        let lists = try #require(tables[ExactText("lists")])
        #expect(lists.quoted == #""public"."lists""#)
        #expect(lists.id.name == "id")
        #expect(lists.owner == nil)
        #expect(lists.operations == [.put, .patch, .delete])
        #expect(lists.columns[ExactText("name")]?.writer == .client)
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
        #expect(tables[ExactText("things_of_mine")]?.quoted == #""app"."things""#)
        #expect(tables[ExactText("things_of_mine")]?.id.name == "thing_id")
        #expect(tables[ExactText("things_of_mine")]?.operations == [.put])
        let lists = try #require(tables[ExactText("lists")])
        #expect(lists.owner?.name == "owner_id")
        #expect(lists.columns[ExactText("made")]?.writer == .server)
        #expect(lists.columns[ExactText("secret")]?.writer == .never)
        #expect(lists.columns[ExactText("body")]?.options.jsonStrings == .keep)
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
        (
            "tables:\n  lists: { columns: { name: { set: now } } }\n", "line 2, column 23",
            "of type text and cannot be set to now"
        ),
        (
            "tables:\n  lists: { columns: { body: { set: subject } } }\n", "line 2, column 23",
            "of type jsonb and cannot be set to subject"
        ),
        (
            "tables:\n  lists: { columns: { sum: { set: subject } } }\n", "line 2, column 23",
            "sum is generated"
        ),
        ("tables:\n  lists: { columns: { at: { set: noon } } }\n", "line 2, column 34", "now or subject"),
        (
            "tables:\n  lists: { columns: { at: { set: now, write: client } } }\n", "line 2, column 23",
            "not both"
        ),
        (
            "tables:\n  lists: { owner: owner_id, columns: { owner_id: { set: subject } } }\n",
            "line 2, column 40", "settled already"
        ),
    ])
    func aMistakeIsNamedWithItsPlace(yaml: String, place: String, message: String) throws {
        let error = try #require(thrown { try Build.tables(yaml) } as? BackendError)
        #expect(error.code == .tableMap)
        #expect(error.message.contains(place))
        #expect(error.message.contains(message))
    }

    // MARK: Parents

    /// `lists`, of somebody, and `todos` that name them.
    private static var parents: Catalog {
        var catalog = Build.catalog
        var todos = Catalog.Table()
        func column(_ name: String, _ oid: UInt32, _ type: String) -> Catalog.Column {
            Catalog.Column(name: name, type: type, typeOID: oid)
        }
        todos.columns = [
            column("id", 25, "text"), column("list_id", 25, "text"), column("n", 23, "integer"),
            column("who", 2950, "uuid"),
        ]
        todos.uniqueColumns = [ExactText("id")]
        todos.references = [
            Catalog.Reference(columns: ["list_id"], table: Catalog.Name(schema: "public", table: "lists"))
        ]
        catalog.tables[Catalog.Name(schema: "public", table: "todos")] = todos
        return catalog
    }

    private func tables(
        _ yaml: String, _ catalog: Catalog = TableMapTests.parents, isRunning: Bool = false
    ) throws -> UploadTables {
        let map = try TableMap(yaml: yaml, source: "map.yaml")
        return try UploadTables(map: map, source: "map.yaml", catalog: catalog, isRunning: isRunning)
    }

    private static func todos(_ entry: String, lists: String = "{ owner: owner_id }") -> String {
        "tables:\n  todos: \(entry)\n  lists: \(lists)\n"
    }

    @Test func aParentIsFoundWhereverItStandsInTheMap() throws {
        let tables = try tables(Self.todos("{ owner: who, parents: { list_id: lists } }"))
        let todos = try #require(tables.tables[ExactText("todos")])
        #expect(todos.parents.map(\.column.name) == ["list_id"])
        #expect(todos.parents.first?.quoted == #""public"."lists""#)
        #expect(todos.parents.first?.id.name == "id")
        #expect(todos.parents.first?.owner.name == "owner_id")
        #expect(tables.warnings == [])
    }

    @Test(arguments: [
        ("{ parents: { list_id: nosuch } }", "{ owner: owner_id }", "line 2, column 32", "no table nosuch"),
        ("{ parents: { list_id: lists } }", "{}", "line 2, column 32", "rows of lists are nobody's"),
        ("{ parents: { nosuch: lists } }", "{ owner: owner_id }", "line 2, column 23", "no column nosuch"),
        ("{ parents: { id: lists } }", "{ owner: owner_id }", "line 2, column 23", "names no parent"),
        (
            "{ owner: who, parents: { who: lists } }", "{ owner: owner_id }", "line 2, column 35",
            "clients do not write who"
        ),
        (
            "{ parents: { list_id: lists }, columns: { list_id: { write: server } } }", "{ owner: owner_id }",
            "line 2, column 23", "clients do not write list_id"
        ),
        (
            "{ parents: { n: lists } }", "{ owner: owner_id }", "line 2, column 23",
            "n is of type integer, and the ids of public.lists are text"
        ),
        ("{ parents: [list_id] }", "{ owner: owner_id }", "line 2, column 21", "expected a mapping"),
    ])
    func aWrongParentIsNamedWithItsPlace(
        entry: String, lists: String, place: String, message: String
    ) throws {
        let error = try #require(
            thrown { try tables(Self.todos(entry, lists: lists)) } as? BackendError)
        #expect(error.code == .tableMap)
        #expect(error.message.contains(place), "\(error)")
        #expect(error.message.contains(message), "\(error)")
    }

    @Test func aRoleThatMayNotHoldTheParentIsRefused() throws {
        var catalog = Self.parents
        catalog.tables[Catalog.Name(schema: "public", table: "lists")]?.mayHoldRows = false
        let yaml = Self.todos("{ parents: { list_id: lists } }")
        let error = try #require(thrown { try tables(yaml, catalog) } as? BackendError)
        #expect(error.message.contains("line 2, column 32: the database role may not hold rows"))
        #expect(try tables(yaml, catalog, isRunning: true).tables[ExactText("todos")] != nil)
    }

    /// Nothing may be written unasked while the table that would have to be asked is changed.
    @Test func aTableIsNotThereWhileItsParentIsNot() throws {
        let yaml = Self.todos("{ parents: { list_id: lists } }")
        var catalog = Self.parents
        let name = Catalog.Name(schema: "public", table: "lists")
        catalog.tables[name] = nil
        let without = try tables(yaml, catalog, isRunning: true)
        #expect(without.tables.isEmpty)
        #expect(Set(without.missing.keys.map(\.text)) == ["todos", "lists"])
        catalog = Self.parents
        catalog.tables[name]?.columns[0].type = "uuid"
        #expect(try tables(yaml, catalog, isRunning: true).tables.keys.map(\.text) == ["lists"])
        // Without its column nobody can name a parent.
        catalog = Self.parents
        catalog.tables[Catalog.Name(schema: "public", table: "todos")]?.columns.remove(at: 1)
        let todos = try tables(yaml, catalog, isRunning: true).tables[ExactText("todos")]
        #expect(todos?.parents == [])
    }

    @Test func theStartWarnsOfWhatIsEverybodysAndOfReferencesThatNobodyAsksAbout() throws {
        let tables = try tables(Self.todos("{}"))
        #expect(tables.warnings.count == 2, "\(tables.warnings)")
        #expect(tables.warnings.first?.contains("line 2, column 3: todos has no owner") == true)
        #expect(tables.warnings.last?.contains("list_id refers to rows of public.lists") == true)
        let named = try self.tables(Self.todos("{ parents: { list_id: lists } }"))
        #expect(named.warnings.count == 1)
    }

    // MARK: What a database can do

    @Test func aViewThatTakesNoUpsertsTakesNoPUT() throws {
        var catalog = Build.catalog
        var view = Catalog.Table()
        view.columns = [Catalog.Column(name: "id", type: "text", typeOID: 25)]
        view.isView = true
        view.takesUpserts = false
        catalog.tables[Catalog.Name(schema: "public", table: "v")] = view
        func tables(_ entry: String) throws -> UploadTables {
            let map = try TableMap(yaml: "tables:\n  v: \(entry)\n", source: "map.yaml")
            return try UploadTables(map: map, source: "map.yaml", catalog: catalog)
        }
        #expect(try tables("{ ops: [PATCH, DELETE] }").tables[ExactText("v")] != nil)
        let error = try #require(thrown { try tables("{ ops: [PUT] }") } as? BackendError)
        #expect(error.code == .tableMap)
        #expect(error.message.contains("line 2, column 3: public.v is a view that takes no upserts"))
        // A trigger that comes later is no reason to reject what was sent before.
        let map = try TableMap(yaml: "tables: { v: }", source: "map.yaml")
        let running = try UploadTables(map: map, source: "map.yaml", catalog: catalog, isRunning: true)
        #expect(running.tables[ExactText("v")] != nil)
    }

    @Test func whatTheMapSaysOfValuesIsTold() throws {
        let tables = try Build.tables(
            """
            tables:
              lists:
                columns:
                  at: { infinity: accept, epoch: ms, empty: null }
                  name: { empty: keep, infinity: refuse }
                  made: { encoding: hex }
                  price: { epoch: s }
                owner: owner_id
            """)
        let columns = try #require(tables.tables[ExactText("lists")]).columns
        var options = ValueOptions()
        options.hasInfinity = true
        options.epoch = .milliseconds
        options.emptyIsNull = true
        #expect(columns[ExactText("at")]?.options == options)
        #expect(columns[ExactText("name")]?.options == ValueOptions())
        #expect(columns[ExactText("made")]?.options.encoding == .hex)
        // They change nothing, and the start says so.
        #expect(tables.warnings.count == 2)
        #expect(tables.warnings.first?.contains("line 6, column 7: encoding says nothing") == true)
        #expect(tables.warnings.last?.contains("line 7, column 7: epoch says nothing") == true)
    }

    @Test(arguments: [
        "encoding: base32", "infinity: yes", "epoch: us", "empty: never", "json_strings: guess",
    ])
    func aWordThatTheMapDoesNotKnowIsNamed(option: String) throws {
        let error = try #require(
            thrown { try Build.tables("tables: { lists: { columns: { at: { \(option) } } } }\n") }
                as? BackendError)
        #expect(error.message.contains("expected "))
        #expect(error.message.contains(" or "))
    }

    @Test func typesDecideHowValuesAreRead() throws {
        let tables = try Build.tables("tables: { lists: }\n").tables
        let columns = try #require(tables[ExactText("lists")]).columns
        #expect(columns[ExactText("tags")]?.kind == .array(.text(limit: nil)))
        #expect(columns[ExactText("price")]?.kind == .numeric(scale: 2))
        #expect(columns[ExactText("sum")]?.writer == .never)
        #expect(columns[ExactText("doc")]?.writer == .never)
    }

    @Test(arguments: [
        ("numeric", (5 << 16 | 2046) + 4, ColumnKind.numeric(scale: -2)),
        ("numeric", (5 << 16 | 2) + 4, .numeric(scale: 2)),
        ("numeric", -1, .numeric(scale: nil)), ("numeric", (1_000 << 16 | 1_000) + 4, .numeric(scale: 1_000)),
        ("numeric", (3 << 16 | (0x7FF & -1_000)) + 4, .numeric(scale: -1_000)),
        ("bpchar", 14, .paddedText(length: 10)), ("bit", 3, .bits), ("citext", -1, .textForm),
        ("name", -1, .name), ("text", -1, .text(limit: nil)),
        ("inet", -1, .address),
    ])
    func aTypeHasTheKindOfItsNameAndModifier(name: String, modifier: Int, kind: ColumnKind) {
        var catalog = Catalog()
        catalog.types[1] = Catalog.TypeEntry(name: name)
        let column = Catalog.Column(name: "c", type: name, typeOID: 1, modifier: modifier)
        #expect(catalog.kind(of: column) == kind)
    }

    @Test func theBoundsOfPostgresOwnRangesAreKnown() {
        var catalog = Catalog()
        func kind(_ name: String, _ type: String) -> ColumnKind {
            catalog.types[1] = Catalog.TypeEntry(name: name, kind: type)
            return catalog.kind(of: Catalog.Column(name: "c", type: name, typeOID: 1))
        }
        #expect(kind("tstzrange", "r") == .range(of: .instant))
        #expect(kind("nummultirange", "m") == .range(of: .numeric(scale: nil)))
        #expect(kind("mine", "r") == .range(of: nil))
    }

    @Test func theOpenSchemaIsThatOfThePublication() throws {
        let tables = try UploadTables(openSchemaOf: Build.catalog)
        #expect(tables.tables.keys.map(\.text) == ["lists"])
        #expect(tables.warnings.contains { $0.contains("logs") })
        var without = Build.catalog
        without.published = nil
        #expect(throws: BackendError.self) { try UploadTables(openSchemaOf: without) }
    }

    /// While it is being changed a database lacks this or that, and the rest can be written.
    @Test func whatARunningBackendMissesIsLeftOut() throws {
        let map = try TableMap(
            yaml:
                "tables: { lists: { columns: { made: { write: server } } }, things: { table: app.things, id: thing_id } }\n",
            source: "map.yaml")
        var catalog = Build.catalog
        catalog.tables[Catalog.Name(schema: "public", table: "lists")]?.columns.removeAll {
            $0.name == "made"
        }
        catalog.tables[Catalog.Name(schema: "app", table: "things")] = nil
        #expect(throws: BackendError.self) {
            try UploadTables(map: map, source: "map.yaml", catalog: catalog)
        }
        let tables = try UploadTables(map: map, source: "map.yaml", catalog: catalog, isRunning: true)
        #expect(tables.tables.keys.map(\.text) == ["lists"])
        #expect(tables.tables[ExactText("lists")]?.columns[ExactText("made")] == nil)
        #expect(tables.missing[ExactText("things")]?.name == Catalog.Name(schema: "app", table: "things"))
        catalog.published = nil
        #expect(try UploadTables(openSchemaOf: catalog, isRunning: true).tables.isEmpty)
    }
}
