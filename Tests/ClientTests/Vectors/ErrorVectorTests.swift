import PowerSyncSQLite
import Testing

@testable import PowerSync

/// Client-core 9.6, and the payloads of 6.1.
@Suite struct ErrorVectorTests {
    @Test(
        "62: what changes the database wants a transaction",
        arguments: [
            "powersync_init()", "powersync_control('stop', NULL)",
            "powersync_replace_schema('{\"tables\":[]}')",
            "powersync_test_migration(14)", "powersync_clear(0)", "powersync_trigger_resync(0)",
        ]) func wantsATransaction(_ call: String) throws
    {
        let bench = try ControlBench()
        let error = bench.failure { try bench.connection.run("SELECT \(call)") }
        #expect(error?.extendedCode == 21)
        let name = call.prefix { $0 != "(" }
        #expect(error?.message == "\(name): This function may only be called in transactions.")
    }

    @Test("63: a strange ps_migration") func strangeMigrationTable() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try CoreExtension.install(on: connection)
        try connection.execute("CREATE TABLE ps_migration(foo TEXT)")
        let error = sqliteError {
            try connection.transaction { try connection.run("SELECT powersync_init()") }
        }
        #expect(error?.extendedCode == 1)
        #expect(error?.message.hasPrefix("powersync_init: statement ") == true)
        #expect(
            error?.message.hasSuffix(": internal SQLite call returned ERROR: no such column: id") == true)
    }

    @Test("64: without a client id") func withoutAClientID() throws {
        let bench = try ControlBench()
        try bench.run("DELETE FROM ps_kv")
        let error = bench.failure { try bench.connection.run("SELECT powersync_client_id()") }
        #expect(error?.extendedCode == 4)
        #expect(error?.message == "powersync_client_id: No client_id found in ps_kv")
        #expect(bench.failure { try bench.begin() }?.extendedCode == 4)
        #expect(bench.failure { try bench.control("completed_upload") }?.extendedCode == 21)
    }

    @Test("65: a line that is none ends the iteration", arguments: [true, false])
    func brokenLine(isText: Bool) throws {
        let bench = try ControlBench()
        try bench.begin()
        let error = bench.failure {
            if isText {
                try bench.control("line_text", "invalid sync line")
            } else {
                try bench.control("line_binary", .blob([1, 2, 3]))
            }
        }
        #expect(error?.extendedCode == 4)
        let kind = isText ? "text" : "binary"
        #expect(
            error?.message.hasPrefix("powersync_control: Sync protocol error: invalid \(kind) line") == true)
        #expect(bench.failure { try bench.line(SyncLines.complete()) }?.extendedCode == 21)
    }

    @Test("65: a line that is no UTF-8 is refused and not repaired") func lineThatIsNoUTF8() throws {
        let bench = try ControlBench()
        try bench.begin()
        let bytes = Array(ControlBench.put("a", 1, "?").utf8).map { $0 == UInt8(ascii: "?") ? 0xff : $0 }
        let error = bench.failure {
            try bench.connection.transaction {
                try bench.connection.run(
                    "SELECT powersync_control('line_text', CAST(?1 AS TEXT))", [.blob(bytes)])
            }
        }
        #expect(error?.extendedCode == 4)
        #expect(try bench.buckets().isEmpty)
    }

    @Test("66: lines that need a checkpoint", arguments: LineEncoding.allCases)
    func linesThatNeedACheckpoint(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        for (line, code, text) in [
            (
                SyncLines.diff(2), 4,
                "Sync protocol error: Received checkpoint_diff without previous checkpoint"
            ),
            (
                SyncLines.complete(), 4,
                "Sync protocol error: Received checkpoint complete without previous checkpoint"
            ),
            (
                SyncLines.partial(1), 21,
                "invalid state: Received checkpoint complete without previous checkpoint"
            ),
        ] {
            try bench.begin()
            let error = bench.failure { try bench.line(line) }
            #expect(error?.extendedCode == Int32(code))
            #expect(error?.message == "powersync_control: \(text)")
            #expect(try bench.control("stop").isEmpty)
        }
    }

    @Test("6.1: arguments are checked, and leave the iteration as it is") func argumentsAreChecked() throws {
        let bench = try ControlBench()
        try bench.begin()
        let cases: [(SQLiteValue, SQLiteValue, String)] = [
            (1, .null, "First argument must be a string"),
            ("line", .null, "Unknown operation"),
            ("line_text", .blob([1]), "Second argument must be a string"),
            ("line_binary", "x", "Second argument must be a byte array"),
            ("connection", "lost", "unknown connection event"),
            ("start", "null", "expected an object as the payload of start"),
            ("start", "[", ""), ("start", "{\"parameters\":[]}", "expected an object as `parameters`"),
            ("start", "{\"checkpoint_mode\":\"x\"}", "expected legacy or requests as `checkpoint_mode`"),
            ("start", "{\"schema\":{}}", "expected an array as `tables` of a schema"),
            ("update_subscriptions", .null, ""),
            ("update_subscriptions", "{}", "expected an array of streams"),
            ("subscriptions", "{}", "expected subscribe or unsubscribe"),
            ("subscriptions", "{\"unsubscribe\":{}}", "expected a string as `name`"),
        ]
        for (operation, payload, message) in cases {
            let error = bench.failure { try bench.value(operation, payload) }
            #expect(error?.extendedCode == 3091)
            #expect(error?.message.hasSuffix(message) == true)
        }
        #expect(try bench.control("connection", "established").instructions == ["UpdateSyncStatus"])
    }

    @Test(
        "6.1: commands that need an iteration",
        arguments: [
            ("line_text", "{}"), ("connection", "end"), ("refreshed_token", nil), ("completed_upload", nil),
            ("update_subscriptions", "[]"), ("seed_checkpoint_request_id", "1"),
            ("next_checkpoint_request_id", nil),
        ] as [(String, String?)]) func needsAnIteration(_ operation: String, _ payload: String?) throws
    {
        let bench = try ControlBench()
        let error = bench.failure { try bench.control(operation, SQLiteValue(payload)) }
        #expect(error?.extendedCode == 21)
        #expect(error?.message == "powersync_control: invalid state: No iteration is active")
    }

    @Test("6.1: not callable from a view") func isDirectOnly() throws {
        let bench = try ControlBench()
        try bench.run(
            """
            CREATE VIEW indirect AS SELECT powersync_control('stop', NULL);
            CREATE VIEW status AS SELECT powersync_offline_sync_status();
            """)
        for view in ["indirect", "status"] {
            let error = bench.failure {
                try bench.connection.transaction { _ = try bench.rows("SELECT * FROM \(view)") }
            }
            #expect(error?.message.contains("unsafe use of") == true)
        }
    }
}
