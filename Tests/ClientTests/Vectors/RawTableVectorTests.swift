import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.3: triggers that queue local writes to raw tables.
struct RawTableVectorTests {
    let database: CoreDatabase

    init() throws { database = try CoreDatabase() }

    /// The value of a key of each entry of the queue.
    private func queued(_ key: String) throws -> [String?] {
        try database.queue().map { $0.entry[key]?.text }
    }

    @Test(
        "39: a table that does not fit is reported",
        arguments: [
            (#"{"name":"row_type","table_name":"users"}"#, "Table users has no id column."),
            (#"{"name":"row_type"}"#, "Raw table row_type has no local name"),
            (#"{"name":"row_type","table_name":"missing"}"#, "Could not find missing in local schema."),
        ])
    func reportsATableThatDoesNotFit(_ json: String, _ message: String) throws {
        try database.execute("CREATE TABLE users(name TEXT)")
        let error = sqliteError { try database.createRawTriggers(json) }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message == "powersync_create_raw_table_crud_trigger: \(message)")
    }

    @Test("40: local writes are queued under the name that the service knows")
    func queuesLocalWrites() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try database.createRawTriggers(#"{"name":"row_type","table_name":"users"}"#)
        try database.execute(
            """
            INSERT INTO users(id, name) VALUES ('id', 'name');
            UPDATE users SET name = 'new name';
            DELETE FROM users;
            """)
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"id","type":"row_type","data":{"name":"name"}}"#,
                #"{"op":"PATCH","id":"id","type":"row_type","data":{"name":"new name"}}"#,
                #"{"op":"DELETE","id":"id","type":"row_type"}"#,
            ])
        #expect(try database.transactionIDs() == [1, 2, 3])
    }

    @Test("41: an insert-only table refuses other writes and leaves the gate open")
    func keepsAnInsertOnlyTable() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try database.createRawTriggers(#"{"name":"users","table_name":"users","insert_only":true}"#)
        try database.execute("INSERT INTO users(id, name) VALUES ('id', 'name')")
        #expect(try database.entries() == [#"{"op":"PUT","type":"users","id":"id","data":{"name":"name"}}"#])
        #expect(try database.rows("SELECT * FROM ps_kv WHERE key <> 'client_id'").isEmpty)
        for sql in ["UPDATE users SET name = 'x'", "DELETE FROM users"] {
            let error = sqliteError { try database.execute(sql) }
            #expect(error?.extendedCode == 1811)
            #expect(error?.message == "Unexpected update on insert-only table")
        }
    }

    @Test("42: previous values of the chosen columns are kept where they changed")
    func keepsPreviousValues() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT, email TEXT)")
        try database.createRawTriggers(
            #"{"name":"users","table_name":"users","include_old":["name"],"include_old_only_when_changed":true}"#
        )
        try database.execute(
            """
            INSERT INTO users(id, name, email) VALUES ('id', 'name', 'mail');
            UPDATE users SET name = 'new name', email = 'other';
            DELETE FROM users;
            """)
        #expect(try queued("old") == [nil, #"{"name":"name"}"#, #"{"name":"new name"}"#])
    }

    @Test("43: an update that changes nothing is left out on demand")
    func leavesOutEmptyUpdates() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try database.createRawTriggers(#"{"name":"users","table_name":"users","ignore_empty_update":true}"#)
        try database.execute("INSERT INTO users VALUES ('id', 'name'); UPDATE users SET name = 'name'")
        #expect(try database.entries().count == 1)
    }

    @Test("44: clearing a raw table queues nothing")
    func clearsWithoutQueueing() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        let json = #"{"name":"users","table_name":"users","clear":"DELETE FROM users"}"#
        try database.apply([], raw: [json])
        try database.createRawTriggers(json)
        try database.execute("INSERT INTO users VALUES ('id', 'name')")
        try database.execute("BEGIN; SELECT powersync_clear(2); COMMIT")
        #expect(try database.rows("SELECT * FROM users").isEmpty)
        #expect(try database.entries().isEmpty)
    }

    @Test("45: only synced columns are queued, and only their changes")
    func queuesSyncedColumnsAlone() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, synced_a, synced_b, local_a, local_b)")
        try database.createRawTriggers(
            #"{"name":"users","table_name":"users","synced_columns":["synced_a","synced_b","unknown"]}"#)
        try database.execute(
            """
            INSERT INTO users VALUES ('id', 'a', 'b', 'c', 'd');
            UPDATE users SET local_a = 'x', local_b = 'y';
            UPDATE users SET synced_a = 'x', local_b = 'z';
            """)
        #expect(try queued("data") == [#"{"synced_a":"a","synced_b":"b"}"#, #"{"synced_a":"x"}"#])
    }

    @Test("46: a schema of raw tables alone creates no tables")
    func createsNoTables() throws {
        try database.apply([], raw: [#"{"name":"users","table_name":"users"}"#])
        #expect(try database.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'ps_data*'").isEmpty)
    }

    @Test("129: the writes of a transaction have one id")
    func sharesTheTransactionID() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try database.createRawTriggers(#"{"name":"users","table_name":"users"}"#)
        try database.execute(
            "BEGIN; INSERT INTO users VALUES ('a', 'b'); UPDATE users SET name = 'c'; DELETE FROM users; COMMIT"
        )
        #expect(try database.transactionIDs() == [1, 1, 1])
    }
}
