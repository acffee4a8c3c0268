import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.8.
@Suite struct IterationVectorTests {
    @Test("76: start without anything") func startsWithoutAnything() throws {
        let effects = try ControlBench().begin()
        #expect(
            JSON.array(effects).equals(
                """
                [{"UpdateSyncStatus":{"status":{"connected":false,"connecting":true,"priority_status":[],
                "downloading":null,"streams":[]}}},
                {"EstablishSyncStream":{"request":{"buckets":[],"include_checksum":true,"raw_data":true,
                "binary_data":true,"client_id":"test-test-test-test","parameters":null,
                "streams":{"include_defaults":true,"subscriptions":[]}}}}]
                """))
    }

    @Test("77: parameters and metadata of the app") func passesParametersOn() throws {
        let request = try #require(
            try ControlBench().begin(
                #"{"parameters":{"foo":"bar"},"app_metadata":{"key1":"1","key2":"2"},"new":1}"#
            ).streamRequest)
        #expect(request["parameters"]?.equals(#"{"foo":"bar"}"#) == true)
        #expect(request["app_metadata"]?.equals(#"{"key1":"1","key2":"2"}"#) == true)
    }

    @Test("78: one row, step by step", arguments: LineEncoding.allCases)
    func oneRow(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        let tracked = try bench.line(SyncLines.checkpoint(1, [.init("a")]))
        #expect(tracked.instructions == ["UpdateSyncStatus"])
        #expect(
            tracked.lastStatus?.equals(
                """
                {"connected":true,"connecting":false,"priority_status":[],"streams":[],"downloading":{"buckets":
                {"prio_3":{"priority":3,"at_last":0,"since_last":0,"target_count":1}}}}
                """) == true)
        #expect(try bench.line(SyncLines.tokenExpires(in: 60)).isEmpty)
        let saved = try bench.line(ControlBench.put("a", 1, "1"))
        #expect(saved.instructions == ["UpdateSyncStatus"])
        #expect(saved.lastStatus?.progress == ["prio_3": "1/1"])
        let applied = try bench.line(SyncLines.complete())
        #expect(applied.instructions == ["LogLine", "DidCompleteSync", "UpdateSyncStatus"])
        #expect(applied.logLines == ["DEBUG Validated and applied checkpoint"])
        #expect(applied.first("DidCompleteSync") == .object([]))
        #expect(
            applied.lastStatus?.equals(
                """
                {"connected":true,"connecting":false,"downloading":null,"streams":[],"priority_status":
                [{"priority":2147483647,"last_synced_at":1740823200000000,"has_synced":true}]}
                """) == true)
        #expect(
            JSON.array(try bench.line(SyncLines.tokenExpires(in: 10))).equals(
                #"[{"FetchCredentials":{"did_expire":false}}]"#))
        #expect(
            try bench.rows(
                """
                SELECT id, name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete,
                count_at_last, count_since_last FROM ps_buckets
                """) == [[1, "a", 1, 1, 0, 0, 0, 1, 0]])
        #expect(
            try bench.rows("SELECT * FROM ps_oplog") == [
                [1, 1, "items", "1", "items/1/null", "{\"col\":\"hi\"}", 0]
            ])
        #expect(try bench.rows("SELECT * FROM ps_data__items") == [["1", "{\"col\":\"hi\"}"]])
        #expect(
            try bench.rows("SELECT * FROM ps_sync_state") == [[2_147_483_647, .integer(ControlBench.start)]])
        #expect(try bench.rows("SELECT 1 FROM ps_updated_rows UNION ALL SELECT 1 FROM ps_crud").isEmpty)
    }

    @Test("79: the connection opens and ends") func connectionOpensAndEnds() throws {
        let bench = try ControlBench()
        try bench.begin()
        let opened = try bench.control("connection", "established")
        #expect(opened.instructions == ["UpdateSyncStatus"])
        #expect(opened.lastStatus?["connected"] == .bool(true))
        let ended = try bench.control("connection", "end")
        #expect(ended.instructions == ["UpdateSyncStatus", "CloseSyncStream"])
        #expect(ended.lastStatus?["connected"] == .bool(false))
        #expect(ended.first("CloseSyncStream")?["hide_disconnect"] == .bool(false))
    }

    @Test("80, 81: only priority 0 passes local writes", arguments: LineEncoding.allCases)
    func localWritesBlock(_ encoding: LineEncoding) throws {
        for (priority, line, visible) in [
            (1, SyncLines.complete(), ["local"]), (0, SyncLines.partial(0), ["local", "row"]),
        ] {
            let bench = try ControlBench(encoding)
            try bench.begin()
            try bench.line(SyncLines.checkpoint(1, ControlBench.priorities))
            try bench.insertLocally()
            try bench.line(ControlBench.put("prio\(priority)", 1, "row"), line)
            #expect(try bench.items() == visible)
        }
    }

    @Test("82: each priority is shown when it is complete", arguments: LineEncoding.allCases)
    func prioritiesOneByOne(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, ControlBench.priorities))
        for priority in 0...3 {
            try bench.line(ControlBench.put("prio\(priority)", priority + 1, "row-\(priority)"))
        }
        #expect(try bench.items().isEmpty)
        for priority in 0...3 {
            let status = try bench.line(SyncLines.partial(priority))
            #expect(status.instructions == ["UpdateSyncStatus"])
            #expect(try bench.items() == (0...priority).map { "row-\($0)" })
            #expect(
                try bench.rows("SELECT priority FROM ps_sync_state") == [[.integer(Int64(priority))]])
        }
    }

    @Test("83: ten rounds leave one time for each priority", arguments: LineEncoding.allCases)
    func tenRounds(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        for _ in 0..<10 {
            bench.now += ControlBench.hour
            let now = SQLiteValue.integer(bench.now)
            try bench.line(SyncLines.checkpoint(1, ControlBench.priorities))
            for priority: Int64 in 1...3 {
                try bench.line(SyncLines.partial(Int(priority)))
                #expect(
                    try bench.rows("SELECT * FROM ps_sync_state WHERE priority < 2147483647") == [
                        [.integer(priority), now]
                    ])
            }
            try bench.line(SyncLines.complete())
            #expect(try bench.rows("SELECT * FROM ps_sync_state") == [[2_147_483_647, now]])
        }
    }

    @Test("84: times of priorities survive a restart", arguments: LineEncoding.allCases)
    func timesSurvive(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(1, ControlBench.priorities, writeCheckpoint: 1), SyncLines.complete())
        bench.now += 10 * ControlBench.minute
        try bench.line(SyncLines.checkpoint(1, ControlBench.priorities), SyncLines.partial(2))
        try bench.control("stop")
        let times = """
            "priority_status":[{"priority":2,"last_synced_at":1740823800000000,"has_synced":true},
            {"priority":2147483647,"last_synced_at":1740823200000000,"has_synced":true}],
            "downloading":null,"streams":[]
            """
        #expect(
            try bench.begin().lastStatus?.equals("{\"connected\":false,\"connecting\":true,\(times)}") == true
        )
        #expect(
            try bench.offlineStatus().equals("{\"connected\":false,\"connecting\":false,\(times)}"))
    }

    @Test("85: buckets that a checkpoint does not name go", arguments: LineEncoding.allCases)
    func bucketsGo(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.run("INSERT INTO ps_buckets(name, last_op) VALUES ('one', 1), ('two', 2), ('three', 3)")
        #expect(
            try bench.begin().streamRequest?["buckets"]?.equals(
                """
                [{"name":"one","after":"1"},{"name":"two","after":"2"},{"name":"three","after":"3"}]
                """) == true)
        try bench.line(SyncLines.checkpoint(1, [.init("one")]))
        #expect(try bench.rows("SELECT name FROM ps_buckets") == [["one"]])
    }

    @Test("86: a wrong checksum drops the bucket and closes", arguments: LineEncoding.allCases)
    func wrongChecksum(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(1, [.init("a", checksum: 1234)]),
            ControlBench.put("a", 1, "1", checksum: 4321))
        let effects = try bench.line(SyncLines.complete())
        #expect(effects.instructions == ["LogLine", "CloseSyncStream"])
        #expect(
            effects.logLines == [
                "WARNING Could not apply checkpoint, Checksums didn't match, failed for: a (expected "
                    + "0x000004d2, got 0x000010e1 = 0x000010e1 (op) + 0x00000000 (add))"
            ])
        #expect(effects.first("CloseSyncStream")?["hide_disconnect"] == .bool(false))
        #expect(try bench.rows("SELECT 1 FROM ps_buckets UNION ALL SELECT 1 FROM ps_oplog").isEmpty)
        #expect(try bench.begin().streamRequest?["buckets"] == .array([]))
    }

    @Test(
        "87: a line that met a locked database can be repeated, and tells its status then",
        arguments: LineEncoding.allCases)
    func lockedDatabase(_ encoding: LineEncoding) throws {
        let folder = try TemporaryDirectory(prefix: "vectors")
        defer { folder.remove() }
        let bench = try ControlBench(encoding, path: folder.path + "/a.db")
        let other = try SQLiteConnection(path: folder.path + "/a.db")
        try bench.run("INSERT INTO ps_buckets(name) VALUES ('old')")
        try bench.begin()

        func whileLocked(_ line: String) throws -> SQLiteError? {
            try other.execute("BEGIN EXCLUSIVE")
            // The caller's transaction is a deferred one, so that the command itself meets the lock.
            let error = bench.failure {
                try bench.run("BEGIN")
                let operation: SQLiteValue = encoding == .text ? "line_text" : "line_binary"
                let payload: SQLiteValue =
                    encoding == .text ? .text(line) : .blob(try BSONWriter.document(line))
                try bench.connection.run("SELECT powersync_control(?1, ?2)", [operation, payload])
            }
            bench.connection.rollBack()
            try other.execute("COMMIT")
            return error
        }

        let checkpoint = SyncLines.checkpoint(1, [.init("a")])
        let error = try whileLocked(checkpoint)
        #expect(error?.extendedCode == 5)
        #expect(error?.message.contains("DELETE FROM ps_buckets") == true)
        #expect(error?.message.hasSuffix("returned BUSY: database is locked") == true)
        #expect(try bench.buckets() == [["old", 0, 0, 0, 0]])
        let status = try bench.line(checkpoint).lastStatus
        #expect(status?["connected"] == .bool(true))
        #expect(status?.progress == ["prio_3": "0/1"])
        let data = ControlBench.put("a", 1, "1")
        #expect(try whileLocked(data)?.extendedCode == 5)
        #expect(try bench.line(data).lastStatus?.progress == ["prio_3": "1/1"])
        #expect(try whileLocked(SyncLines.complete())?.extendedCode == 5)
        #expect(
            try bench.line(SyncLines.complete()).instructions == [
                "LogLine", "DidCompleteSync", "UpdateSyncStatus",
            ])
    }

    @Test("6.3: any other error ends the iteration") func otherErrorsEnd() throws {
        let bench = try ControlBench()
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [.init("a")]), ControlBench.put("a", 1, "1"))
        try bench.run("ALTER TABLE ps_data__items RENAME COLUMN data TO other")
        #expect(bench.failure { try bench.line(SyncLines.complete()) }?.extendedCode == 1)
        #expect(try bench.control("stop").isEmpty)
    }

    @Test("6.3: a raw table that is locked ends the iteration, and its row is not in the message")
    func lockedRawTable() throws {
        let folder = try TemporaryDirectory(prefix: "vectors")
        defer { folder.remove() }
        let bench = try ControlBench()
        let other = try SQLiteConnection(path: folder.path + "/other.db")
        try other.execute("CREATE TABLE rows(id TEXT PRIMARY KEY)")
        try bench.run("ATTACH '\(folder.path)/other.db' AS other")
        try bench.begin(
            """
            {"schema":{"tables":[],"raw_tables":[{"name":"raw",
            "put":{"sql":"INSERT INTO other.rows(id) VALUES (?)","params":["Id"]},
            "delete":{"sql":"DELETE FROM other.rows WHERE id = ?","params":["Id"]}}]}}
            """)
        // The first row makes the layout of the other file known: only writing meets the lock then.
        try bench.line(
            SyncLines.checkpoint(1, [.init("a")]),
            SyncLines.data("a", SyncLines.put(1, "first", type: "raw")),
            SyncLines.complete(), SyncLines.data("a", SyncLines.put(2, "secret", type: "raw")))
        try other.execute("BEGIN EXCLUSIVE")
        let error = bench.failure {
            // A transaction that begins as a writer would meet the lock at once.
            try bench.run("BEGIN")
            try bench.connection.run(
                "SELECT powersync_control('line_text', ?1)", [.text(SyncLines.complete())])
        }
        bench.connection.rollBack()
        #expect(error?.code == .busy)
        #expect(error?.message.contains("INSERT INTO other.rows") == true)
        #expect(error?.message.contains("secret") == false)
        try other.execute("ROLLBACK")
        #expect(try bench.control("stop").isEmpty)
    }

    @Test("88: triggers know that rows come from the service", arguments: LineEncoding.allCases)
    func triggersKnow(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.run(
            """
            CREATE TABLE seen(value);
            CREATE TRIGGER watch AFTER INSERT ON ps_data__items BEGIN
                INSERT INTO seen VALUES (powersync_in_sync_operation());
            END
            """)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [.init("a")]), ControlBench.put("a", 1, "1"))
        #expect(try bench.rows("SELECT powersync_in_sync_operation()") == [[0]])
        try bench.line(SyncLines.complete())
        #expect(try bench.rows("SELECT value FROM seen") == [[1]])
        #expect(try bench.rows("SELECT powersync_in_sync_operation()") == [[0]])
    }

    @Test("89: the size of each line counts as it came", arguments: LineEncoding.allCases)
    func sizesCount(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        let lines = [ControlBench.put("a", 1, "é"), ControlBench.put("a", 2, "row", "longer text")]
        var size: Int64 = 0
        for line in lines {
            try bench.line(line)
            size += try bench.size(line)
            #expect(try bench.rows("SELECT downloaded_size FROM ps_buckets") == [[.integer(size)]])
        }
        // An operation that was stored before counts for nothing, its line for its size.
        try bench.line(lines[0])
        size += try bench.size(lines[0])
        #expect(try bench.rows("SELECT downloaded_size FROM ps_buckets") == [[.integer(size)]])
    }

    @Test("90: closing during an iteration releases the file", arguments: [true, false])
    func closingReleases(isReadOnly: Bool) throws {
        let folder = try TemporaryDirectory(prefix: "vectors")
        defer { folder.remove() }
        let path = folder.path + "/a.db"
        let owner = try SQLiteConnection(path: path)
        try owner.execute("PRAGMA journal_mode = WAL")
        func install(on owner: SQLiteConnection) throws {
            let core = try CoreExtension.install(borrowing: owner.pointer)
            try SyncFunctions.register(on: core.connection)
        }
        try install(on: owner)
        try owner.transaction {
            try owner.run("SELECT powersync_init()")
            try owner.run("SELECT powersync_control('start', NULL)")
            try owner.run(
                "SELECT powersync_control('line_text', ?1)", [.text(SyncLines.checkpoint(1, [.init("a")]))])
        }
        if isReadOnly {
            let reader = try SQLiteConnection(path: path, flags: .readOnly)
            try install(on: reader)
            try reader.run("SELECT powersync_offline_sync_status()")
            reader.close()
        }
        owner.close()
        // The last connection takes the log with it, and only when nothing of it is in use.
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    @Test("91: a partial checkpoint ignores buckets of lower priority", arguments: LineEncoding.allCases)
    func lowerPrioritiesDoNotCount(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(
                1, [.init("a", checksum: 1, priority: 1), .init("b", checksum: 99, priority: 2)]),
            ControlBench.put("a", 1, "1", checksum: 1), ControlBench.put("b", 2, "2", checksum: 5))
        #expect(try bench.line(SyncLines.partial(1)).instructions == ["UpdateSyncStatus"])
        #expect(try bench.items() == ["1"])
        let effects = try bench.line(SyncLines.partial(2))
        #expect(effects.instructions == ["LogLine", "CloseSyncStream"])
        #expect(effects.logLines[0].hasPrefix("WARNING Could not apply partial checkpoint, Checksums didn't"))
    }
}
