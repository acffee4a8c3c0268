import PowerSyncSQLite
import Testing

@testable import PowerSync

struct CoreFunctionTests {
    @Test func makesRandomIDsOfVersionFour() throws {
        let database = try CoreDatabase(version: 0)
        for name in ["uuid", "gen_random_uuid"] {
            let ids = try (0..<50).map { _ in try database.column("SELECT \(name)()")[0] }
            #expect(Set(ids).count == 50)
            for id in ids {
                #expect(
                    id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/)
                        != nil)
            }
        }
        #expect(RandomUUID.make(high: 0, low: .max) == "00000000-0000-4000-bfff-ffffffffffff")
    }

    @Test func tellsTheVersionThatOfficialSDKsCompare() throws {
        #expect(try CoreDatabase(version: 0).column("SELECT powersync_rs_version()") == ["0.5.3/swift"])
    }

    @Test func aStrippedValueIsStoredAsText() throws {
        let database = try CoreDatabase(version: 0)
        #expect(
            try database.column("SELECT json_object('a', powersync_strip_subtype(json_object()))") == [
                #"{"a":"{}"}"#
            ])
        #expect(
            try database.column("SELECT json_object('a', powersync_diff('{}', '{\"b\":1}'))") == [
                #"{"a":{"b":1}}"#
            ])
        #expect(
            try database.column("SELECT powersync_json_merge('{\"a\":1}', json_object('b', 2))") == [
                #"{"a":1,"b":2}"#
            ])
    }

    @Test func aDatabaseWithoutClientIDIsReported() throws {
        let database = try CoreDatabase()
        #expect(
            try database.column("SELECT powersync_client_id()") == database.column("SELECT value FROM ps_kv"))
        try database.execute("DELETE FROM ps_kv")
        let error = sqliteError { _ = try database.column("SELECT powersync_client_id()") }
        #expect(error?.extendedCode == 4)
        #expect(error?.message == "powersync_client_id: No client_id found in ps_kv")
    }

    @Test(arguments: [
        "powersync_init()", "powersync_replace_schema('{\"tables\":[]}')", "powersync_test_migration(3)",
        "powersync_clear(0)", "powersync_trigger_resync(0)",
    ])
    func changesOfTheDatabaseNeedATransaction(_ call: String) throws {
        let database = try CoreDatabase()
        let error = sqliteError { try database.connection.run("SELECT \(call)") }
        #expect(error?.extendedCode == 21)
        let name = call.prefix { $0 != "(" }
        #expect(error?.message == "\(name): This function may only be called in transactions.")
    }

    @Test func workThroughSQLAsWell() throws {
        let database = try CoreDatabase(version: 0)
        try database.connection.transaction {
            #expect(try database.column("SELECT powersync_init()") == [""])
            try database.connection.run(
                "SELECT powersync_replace_schema(?)", [.text(#"{"tables":[\#(CoreDatabase.items)]}"#)])
        }
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        try database.connection.transaction { try database.connection.run("SELECT powersync_clear(0)") }
        #expect(try database.rows("SELECT * FROM items").isEmpty)
    }

    @Test("146: update hooks tell what was committed") func updateHooksTellWhatWasCommitted() throws {
        let database = try CoreDatabase()
        try database.execute("CREATE TABLE foo(a)")
        #expect(try database.column("SELECT powersync_update_hooks('install')") == ["null"])
        func changed() throws -> [String] { try database.column("SELECT powersync_update_hooks('get')") }
        #expect(try changed() == ["[]"])
        try database.execute("INSERT INTO foo VALUES (1)")
        #expect(try changed() == [#"["foo"]"#])
        #expect(try changed() == ["[]"])
        try database.execute("BEGIN; INSERT INTO foo VALUES (1); INSERT INTO foo VALUES (2)")
        #expect(try changed() == ["[]"])
        try database.execute("COMMIT")
        #expect(try changed() == [#"["foo"]"#])
        try database.execute("BEGIN; INSERT INTO foo VALUES (1); ROLLBACK")
        #expect(try changed() == ["[]"])
        #expect(
            sqliteError { _ = try database.column("SELECT powersync_update_hooks('x')") }?.extendedCode == 21)
    }

    @Test func theCoreGoesWithItsConnection() throws {
        weak var core: CoreExtension?
        weak var connection: SQLiteConnection?
        do {
            let database = try CoreDatabase(tables: CoreDatabase.items)
            try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
            core = database.core
            connection = database.connection
        }
        #expect(core == nil)
        #expect(connection == nil)
    }

    @Test func aConnectionOfSomebodyElseIsReleasedWhenItsOwnerClosesIt() throws {
        let owner = try SQLiteConnection(path: ":memory:")
        weak let core = try CoreExtension.install(borrowing: owner.pointer)
        #expect(core != nil)
        try owner.transaction {
            try owner.run(
                "SELECT powersync_replace_schema(?)", [.text(#"{"tables":[\#(CoreDatabase.items)]}"#)])
        }
        try owner.run("INSERT INTO items(id, col) VALUES ('a', 'x')")
        #expect(try owner.one("SELECT count(*) FROM ps_crud") { $0.int64(0) } == 1)
        owner.close()
        #expect(core == nil)
    }

    @Test func nothingIsQueuedWhileSyncedRowsAreWritten() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.core.applyingSync {
            #expect(try database.column("SELECT powersync_in_sync_operation()") == ["1"])
            try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        }
        #expect(try database.column("SELECT powersync_in_sync_operation()") == ["0"])
        #expect(try database.entries().isEmpty)
        #expect(try database.rows("SELECT * FROM ps_updated_rows").isEmpty)
    }
}
