import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.14: raw tables that are synced.
struct RawTableSyncVectorTests {
    private static let explicit = """
        {"name":"users","put":{"sql":"INSERT OR REPLACE INTO users(id, name) VALUES (?, ?)",\
        "params":["Id",{"Column":"name"}]},"delete":{"sql":"DELETE FROM users WHERE id = ?","params":["Id"]}}
        """

    private static func open(_ tables: String, sql: String) throws -> SyncBench {
        let bench = try SyncBench(schema: "{\"tables\":[],\"raw_tables\":[\(tables)]}")
        try bench.connection.execute(sql)
        return bench
    }

    private static func remove(_ op: Int, _ type: String, _ id: String) -> String {
        #"{"op_id":"\#(op)","op":"REMOVE","object_type":"\#(type)","object_id":"\#(id)","checksum":0}"#
    }

    private static func put(_ op: Int, _ type: String, _ id: String, _ data: String) -> String {
        SyncLines.put(op, id, type: type, data: data)
    }

    /// Takes in a whole checkpoint with these operations.
    private static func sync(_ bench: SyncBench, _ last: Int, _ operations: String...) throws {
        if !bench.state.isActive { try bench.start() }
        try bench.line(SyncLines.checkpoint(last, [.init("b", count: last)]))
        for operation in operations { try bench.line(SyncLines.data("b", operation)) }
        try bench.line(SyncLines.complete(last))
    }

    @Test("125: synced rows go through the statements of the app, and are not queued")
    func usesTheStatementsOfTheApp() throws {
        let bench = try Self.open(
            Self.explicit,
            sql: """
                CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT) STRICT;
                CREATE TRIGGER users_insert AFTER INSERT ON users BEGIN
                    INSERT INTO powersync_crud(op, id, type, data)
                        VALUES ('PUT', NEW.id, 'users', json_object('name', NEW.name));
                END;
                CREATE TRIGGER users_delete AFTER DELETE ON users BEGIN
                    INSERT INTO powersync_crud(op, id, type) VALUES ('DELETE', OLD.id, 'users');
                END;
                """)
        try Self.sync(bench, 1, Self.put(1, "users", "my_user", #"{"name":"First user"}"#))
        #expect(try bench.rows("SELECT * FROM users") == [["my_user", "First user"]])
        try Self.sync(bench, 2, Self.remove(2, "users", "my_user"))
        #expect(try bench.rows("SELECT * FROM users").isEmpty)
        #expect(try bench.rows("SELECT * FROM ps_crud").isEmpty)
    }

    @Test("126: inferred statements leave local columns alone and see new ones")
    func infersStatements() throws {
        let bench = try Self.open(
            #"{"name":"users","table_name":"local_users","synced_columns":["name","email"]}"#,
            sql: "CREATE TABLE local_users(id TEXT PRIMARY KEY, name TEXT, local TEXT)")
        let row = #"{"name":"x","local":"from the service","email":"m"}"#
        try Self.sync(bench, 1, Self.put(1, "users", "my_user", row))
        #expect(try bench.rows("SELECT * FROM local_users") == [["my_user", "x", nil]])
        try bench.connection.execute("ALTER TABLE local_users ADD COLUMN email TEXT")
        try Self.sync(bench, 2, Self.put(2, "users", "my_user", row))
        #expect(try bench.rows("SELECT * FROM local_users") == [["my_user", "x", nil, "m"]])
    }

    @Test("127: a failing row is named with its statement, for debugging alone")
    func namesAFailingRow() throws {
        let bench = try Self.open(
            Self.explicit, sql: "CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT NOT NULL)")
        let error = try #require(
            sqliteError { try Self.sync(bench, 1, Self.put(1, "users", "my_user", "{}")) })
        #expect(error.extendedCode == 1299)
        #expect(error.message == "NOT NULL constraint failed: users.name")
        #expect(!String(describing: error).contains("my_user"))
        #expect(error.debugDescription.contains("INSERT OR REPLACE INTO users(id, name) VALUES (?, ?)"))
        #expect(
            error.debugDescription.contains("(context: replacing into users, id = my_user, data = {})"))
    }

    @Test("128: what no parameter names goes into the rest")
    func collectsTheRest() throws {
        let bench = try Self.open(
            """
            {"name":"users","put":{"sql":"INSERT OR REPLACE INTO users(id, name, rest) VALUES (?, ?, ?)",\
            "params":["Id",{"Column":"name"},"Rest"]},\
            "delete":{"sql":"DELETE FROM users WHERE id = ?","params":["Id"]}}
            """, sql: "CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT, rest TEXT)")
        try Self.sync(bench, 1, Self.put(1, "users", "my_user", #"{"name":"First user"}"#))
        #expect(try bench.rows("SELECT * FROM users") == [["my_user", "First user", nil]])
        let row = #"{"name":"First user","foo":"bar","another":3}"#
        try Self.sync(bench, 2, Self.put(2, "users", "my_user", row))
        #expect(
            try bench.rows("SELECT * FROM users")
                == [["my_user", "First user", #"{"another":3,"foo":"bar"}"#]])
    }

    @Test("130: deferred foreign keys hold in whatever order rows come", arguments: [false, true])
    func respectsDeferredForeignKeys(_ isDeletedByTheService: Bool) throws {
        let names = ["refs", "users"]
        let tables = names.map { #"{"name":"\#($0)","table_name":"\#($0)"}"# }
        let bench = try Self.open(
            tables.joined(separator: ","),
            sql: """
                PRAGMA foreign_keys = ON;
                CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT);
                CREATE TABLE refs(id TEXT PRIMARY KEY, user_id TEXT REFERENCES users(id)
                    ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
                """)
        for (name, table) in zip(names, tables) {
            for operation in ["INSERT", "UPDATE", "DELETE"] {
                try bench.connection.run(
                    "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                    [.text(table), .text("\(name)_\(operation)"), .text(operation)])
            }
        }
        try Self.sync(
            bench, 2, Self.put(1, "refs", "my_ref", #"{"user_id":"my_user"}"#),
            Self.put(2, "users", "my_user", #"{"name":"First user"}"#))
        #expect(try bench.rows("SELECT * FROM refs") == [["my_ref", "my_user"]])
        if isDeletedByTheService {
            try Self.sync(
                bench, 4, Self.remove(3, "users", "my_user"), Self.remove(4, "refs", "my_ref"))
            #expect(try bench.rows("SELECT * FROM ps_crud").isEmpty)
        } else {
            try bench.connection.run("DELETE FROM users WHERE id = 'my_user'")
            // The apply took transaction id 1: its statements could have written to the queue.
            #expect(
                try bench.rows("SELECT tx_id, data FROM ps_crud ORDER BY id") == [
                    [2, #"{"op":"DELETE","id":"my_ref","type":"refs"}"#],
                    [2, #"{"op":"DELETE","id":"my_user","type":"users"}"#],
                ])
        }
        #expect(try bench.rows("SELECT id FROM users UNION SELECT id FROM refs").isEmpty)
    }

    @Test("131: clearing takes the rows of a raw table away")
    func clearsRawRows() throws {
        let bench = try Self.open(
            #"{"name":"users","table_name":"users","clear":"DELETE FROM users"}"#,
            sql: "CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try Self.sync(bench, 1, Self.put(1, "users", "my_user", #"{"name":"First user"}"#))
        #expect(try bench.rows("SELECT id FROM users") == [["my_user"]])
        try bench.connection.execute("BEGIN; SELECT powersync_clear(0); COMMIT")
        #expect(try bench.rows("SELECT id FROM users").isEmpty)
    }
}
