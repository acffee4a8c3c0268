import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct RawTableTests {
    let database: CoreDatabase

    init() throws { database = try CoreDatabase() }

    private func writer(_ json: String) throws -> RawTableWriter {
        try RawTableWriter(try RawTableDefinition(try JSON.parse(json)), on: database.connection)
    }

    @Test(arguments: [
        (#"{"name":"row_type","table_name":"users"}"#, "Table users has no id column."),
        (#"{"name":"row_type"}"#, "Raw table row_type has no local name"),
        (#"{"name":"row_type","table_name":"missing"}"#, "Could not find missing in local schema."),
    ])
    func aTableThatDoesNotFitIsReportedBeforeRowsAreWritten(_ json: String, _ message: String) throws {
        try database.execute("CREATE TABLE users(name TEXT)")
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

    @Test func anIdCannotBeUpdated() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        try database.createRawTriggers(#"{"name":"row_type","table_name":"users"}"#)
        try database.execute("INSERT INTO users(id) VALUES ('id')")
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == [["row_type", "id"]])
        let error = sqliteError { try database.execute("UPDATE users SET id = 'other'") }
        #expect(error?.message == "Cannot update id")
    }

    @Test func membersAndColumnsThatAreOnlySpelledAlikeAreTwo() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, \u{e9} TEXT, e\u{301} TEXT, rest TEXT)")
        let users = try writer(
            #"""
            {"name":"users","delete":{"sql":"DELETE FROM users WHERE id = ?","params":["Id"]},
             "put":{"sql":"INSERT INTO users(id, \u00e9, rest) VALUES (?, ?, ?)",
                    "params":["Id",{"Column":"\u00e9"},"Rest"]}}
            """#)
        try users.put(id: "a", data: "{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(try database.rows("SELECT \u{e9}, rest FROM users") == [["1", "{\"e\u{301}\":2}"]])
        let definition = try RawTableDefinition(
            JSON.parse(#"{"name":"users","table_name":"users","synced_columns":["e\u0301"]}"#))
        let inference = try RawTableInference(definition, on: database.connection)
        #expect(inference.columns.map { Array($0.utf8) } == [Array("e\u{301}".utf8)])
    }

    @Test func anInferredDeleteTakesTheRowAway() throws {
        try database.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT)")
        let users = try writer(#"{"name":"users","table_name":"users"}"#)
        try users.put(id: "a", data: #"{"name":"x"}"#)
        try users.delete(id: "a")
        #expect(try database.rows("SELECT * FROM users").isEmpty)
    }

    @Test func aFailingDeleteIsNamedForDebuggingAlone() throws {
        try database.execute(
            """
            CREATE TABLE users(id TEXT PRIMARY KEY);
            CREATE TRIGGER keep BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'kept'); END;
            """)
        let users = try writer(#"{"name":"users","table_name":"users"}"#)
        try users.put(id: "my_user", data: "{}")
        let error = try #require(sqliteError { try users.delete(id: "my_user") })
        #expect(error.description == "SQLite error 1811: kept")
        #expect(error.debugDescription.contains("(context: deleting from users, id = my_user)"))
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

}
