import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct RawTableTests {
    let database: CoreDatabase

    init() throws { database = try CoreDatabase() }

    private func createTriggers(_ json: String) throws {
        for operation in ["INSERT", "UPDATE", "DELETE"] {
            try database.connection.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                [.text(json), .text("users_\(operation)"), .text(operation)])
        }
    }

    private func writer(_ json: String) throws -> RawTableWriter {
        try RawTableWriter(try RawTableDefinition(try JSON.parse(json)), on: database.connection)
    }

    @Test(arguments: [
        (#"{"name":"row_type","table_name":"users"}"#, "Table users has no id column."),
        (#"{"name":"row_type"}"#, "Raw table row_type has no local name"),
        (#"{"name":"row_type","table_name":"missing"}"#, "Could not find missing in local schema."),
    ])
    func aTableThatDoesNotFitIsReported(_ json: String, _ message: String) throws {
        try database.execute("CREATE TABLE users(name TEXT)")
        let error = sqliteError { try createTriggers(json) }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message == "powersync_create_raw_table_crud_trigger: \(message)")
        let inferred = sqliteError { _ = try writer(json) }
        #expect(inferred?.message == message)
    }

    @Test func anUnknownKindOfWriteIsReported() throws {
        try database.execute("CREATE TABLE users(id TEXT)")
        let error = sqliteError {
            try database.connection.run(
                #"SELECT powersync_create_raw_table_crud_trigger('{"name":"u","table_name":"users"}', 't', 'UPSERT')"#
            )
        }
        #expect(error?.message.hasSuffix("unexpected write type UPSERT") == true)
    }

    @Test func localWritesAreQueuedUnderTheNameOfTheSync() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try createTriggers(#"{"name":"row_type","table_name":"users"}"#)
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
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == [["row_type", "id"]])
        try database.execute("INSERT INTO users(id) VALUES ('id')")
        let error = sqliteError { try database.execute("UPDATE users SET id = 'other'") }
        #expect(error?.message == "Cannot update id")
    }

    @Test func anInsertOnlyTableRefusesOtherWrites() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try createTriggers(#"{"name":"users","table_name":"users","insert_only":true}"#)
        try database.execute("INSERT INTO users(id, name) VALUES ('id', 'name')")
        #expect(try database.entries() == [#"{"op":"PUT","type":"users","id":"id","data":{"name":"name"}}"#])
        #expect(try database.rows("SELECT * FROM ps_kv WHERE key <> 'client_id'").isEmpty)
        for sql in ["UPDATE users SET name = 'x'", "DELETE FROM users"] {
            let error = sqliteError { try database.execute(sql) }
            #expect(error?.extendedCode == 1811)
            #expect(error?.message == "Unexpected update on insert-only table")
        }
    }

    @Test func previousValuesOfChangedColumnsAreKept() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT, email TEXT)")
        try createTriggers(
            #"{"name":"users","table_name":"users","include_old":["name"],"include_old_only_when_changed":true}"#
        )
        try database.execute(
            """
            INSERT INTO users(id, name, email) VALUES ('id', 'name', 'mail');
            UPDATE users SET name = 'new name', email = 'other';
            DELETE FROM users;
            """)
        #expect(
            try database.queue().map { $0.entry["old"]?.text } == [
                nil, #"{"name":"name"}"#, #"{"name":"new name"}"#,
            ])
    }

    @Test func updatesThatChangeNothingAreLeftOutOnDemand() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try createTriggers(#"{"name":"users","table_name":"users","ignore_empty_update":true}"#)
        try database.execute("INSERT INTO users VALUES ('id', 'name'); UPDATE users SET name = 'name'")
        #expect(try database.entries().count == 1)
    }

    @Test func onlySyncedColumnsAreQueued() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, synced_a, synced_b, local_a, local_b)")
        try createTriggers(
            #"{"name":"users","table_name":"users","synced_columns":["synced_a","synced_b","unknown"]}"#)
        try database.execute(
            """
            INSERT INTO users VALUES ('id', 'a', 'b', 'c', 'd');
            UPDATE users SET local_a = 'x', local_b = 'y';
            UPDATE users SET synced_a = 'x', local_b = 'z';
            """)
        #expect(
            try database.queue().map { $0.entry["data"]?.text }
                == [#"{"synced_a":"a","synced_b":"b"}"#, #"{"synced_a":"x"}"#])
    }

    @Test func clearRunsWithoutQueueing() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        let json = #"{"name":"users","table_name":"users","clear":"DELETE FROM users"}"#
        try database.apply([], raw: [json])
        try createTriggers(json)
        try database.execute("INSERT INTO users VALUES ('id', 'name')")
        try database.connection.transaction { try CoreClearing.clear(flags: 2, on: database.connection) }
        #expect(try database.rows("SELECT * FROM users").isEmpty)
        #expect(try database.entries().isEmpty)
    }

    @Test func inferredStatementsLeaveLocalColumnsAlone() throws {
        try database.execute("CREATE TABLE local_users(id TEXT PRIMARY KEY, name TEXT, local TEXT)")
        let json = #"{"name":"users","table_name":"local_users","synced_columns":["name","email"]}"#
        let first = try writer(json)
        try first.put(id: "a", data: #"{"name":"x","local":"from service","email":"m"}"#)
        #expect(try database.rows("SELECT * FROM local_users") == [["a", "x", "null"]])
        try database.execute(
            "UPDATE local_users SET local = 'mine'; ALTER TABLE local_users ADD COLUMN email TEXT")
        let second = try writer(json)
        try second.put(id: "a", data: #"{"name":"y","email":"m"}"#)
        #expect(try database.rows("SELECT * FROM local_users") == [["a", "y", "mine", "m"]])
        try second.delete(id: "a")
        #expect(try database.rows("SELECT * FROM local_users").isEmpty)
    }

    @Test func aTableOfIdsAloneCanBeWritten() throws {
        try database.execute("CREATE TABLE marks(id TEXT PRIMARY KEY)")
        let marks = try writer(#"{"name":"marks","table_name":"marks"}"#)
        try marks.put(id: "a", data: "{}")
        try marks.put(id: "a", data: "{}")
        #expect(try database.rows("SELECT * FROM marks") == [["a"]])
    }

    @Test func bindsWhatTheStatementNames() throws {
        let parameters: [RawStatement.Parameter] = [
            .id, .column("b"), .column("i"), .column("r"), .column("t"), .column("n"), .column("o"),
            .column("none"), .rest,
        ]
        let data =
            #"{"id":"x","b":true,"i":9007199254740993,"r":1.5,"t":"s","n":null,"o":[1],"z":{"k":1.10},"another":3}"#
        #expect(
            try RawTableWriter.values(parameters, id: "x", data: data) == [
                "x", 1, 9_007_199_254_740_993, 1.5, "s", nil, nil, nil, #"{"another":3,"z":{"k":1.10}}"#,
            ])
        #expect(
            try RawTableWriter.values([.column("id"), .rest], id: "x", data: #"{"id":"x"}"#) == ["x", nil])
        #expect(try RawTableWriter.values([.rest], id: "x", data: #"{"id":"x"}"#) == [#"{"id":"x"}"#])
        #expect(
            sqliteError { _ = try RawTableWriter.values([.id], id: "x", data: "[]") }?.message
                == "expected oplog data to be an object")
    }

    @Test func aFailingRowIsNamed() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT NOT NULL)")
        let users = try writer(
            #"{"name":"users","put":{"sql":"INSERT OR REPLACE INTO users(id, name) VALUES (?, ?)","params":["Id",{"Column":"name"}]},"delete":{"sql":"DELETE FROM users WHERE id = ?","params":["Id"]}}"#
        )
        let error = sqliteError { try users.put(id: "my_user", data: "{}") }
        #expect(error?.extendedCode == 1299)
        #expect(error?.context == "replacing into users, id = my_user, data = {}")
        try users.put(id: "my_user", data: #"{"name":"x"}"#)
        try users.delete(id: "my_user")
        #expect(try database.rows("SELECT * FROM users").isEmpty)
    }

    @Test(arguments: [
        (
            #"{"sql":"INSERT INTO users VALUES (?, ?)","params":["Id"]}"#,
            #"{"sql":"DELETE FROM users WHERE id = ?","params":["Id"]}"#,
            "Statement INSERT INTO users VALUES (?, ?) has 2 parameters, but 1 values were provided as sources."
        ),
        (
            #"{"sql":"INSERT INTO users VALUES (?, ?)","params":["Id","Rest"]}"#,
            #"{"sql":"DELETE FROM users WHERE id = ?","params":["Rest"]}"#,
            "Raw delete statement parameters must only reference id"
        ),
    ])
    func statementsThatDoNotFitAreReported(_ put: String, _ delete: String, _ message: String) throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        let error = sqliteError { _ = try writer(#"{"name":"users","put":\#(put),"delete":\#(delete)}"#) }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message == message)
    }

    @Test func aTransactionOfRawWritesHasOneID() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try createTriggers(#"{"name":"users","table_name":"users"}"#)
        try database.execute(
            "BEGIN; INSERT INTO users VALUES ('a', 'b'); UPDATE users SET name = 'c'; DELETE FROM users; COMMIT"
        )
        #expect(try database.transactionIDs() == [1, 1, 1])
    }
}
