import PowerSyncSQLite
import Testing

@testable import PowerSync

/// Vectors of client-core 9.5: what the steps between versions do with the data of old files.
struct MigrationVectorTests {
    static let max = "9223372036854775807"

    /// Two buckets, three PUTs and a REMOVE, in the shape before version 4.
    private func oldDatabase(_ version: Int) throws -> CoreDatabase {
        let database = try HistoricFile.empty(version)
        try database.execute(
            """
            INSERT INTO ps_buckets(name, add_checksum) VALUES ('b1', 0), ('b2', 1000);
            INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, key, hash, superseded) VALUES
                ('b1', 1, 3, 'todos', 't1', '', 100, 0), ('b1', 2, 3, 'todos', 't2', '', 20, 0),
                ('b2', 3, 3, 'lists', 'l1', '', 3, 0), ('b2', 4, 4, 'lists', 'l2', '', 5, 0);
            """)
        return database
    }

    @Test("52: operations of versions 2 and 3 get into the new shape", arguments: [2, 3])
    func operationsGetIntoTheNewShape(_ version: Int) throws {
        let database = try oldDatabase(version)
        try database.migrate(to: 14)
        #expect(
            try database.rows(
                "SELECT id, name, add_checksum, op_checksum, count_at_last, count_since_last, downloaded_size FROM ps_buckets"
            ) == [["1", "b1", "0", "120", "0", "0", "0"], ["2", "b2", "1005", "3", "0", "0", "0"]])
        #expect(
            try database.rows("SELECT bucket, op_id, row_type, row_id, hash FROM ps_oplog ORDER BY op_id")
                == [
                    ["1", "1", "todos", "t1", "100"], ["1", "2", "todos", "t2", "20"],
                    ["2", "3", "lists", "l1", "3"],
                ])
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == [["lists", "l2"]])
    }

    @Test("53: and back into the old", arguments: [4, 3, 2]) func andBackIntoTheOld(_ version: Int) throws {
        let database = try oldDatabase(2)
        try database.migrate(to: 14)
        try database.migrate(to: version)
        #expect(
            try database.rows(
                "SELECT name, add_checksum, last_op, target_op, pending_delete FROM ps_buckets ORDER BY name")
                == [
                    ["$local", "0", "0", Self.max, "1"], ["b1", "0", "0", "0", "0"],
                    ["b2", "1005", "0", "0", "0"],
                ])
        #expect(
            try database.rows(
                "SELECT bucket, op_id, op, row_type, row_id, hash, superseded FROM ps_oplog ORDER BY bucket, op_id"
            ) == [
                ["$local", "1", "4", "lists", "l2", "0", "0"], ["b1", "1", "3", "todos", "t1", "100", "0"],
                ["b1", "2", "3", "todos", "t2", "20", "0"], ["b2", "3", "3", "lists", "l1", "3", "0"],
            ])
        if version == 4 {
            #expect(try database.column("SELECT op_checksum FROM ps_buckets WHERE name = 'b2'") == ["3"])
        }
    }

    private func keys(_ database: CoreDatabase) throws -> [[String]] {
        try database.rows("SELECT key, value FROM ps_kv WHERE key GLOB '*checkpoint_request_id' ORDER BY key")
    }

    @Test("54: the gate moves into keys")
    func theGateMovesIntoKeys() throws {
        let database = try HistoricFile.empty(13)
        try database.execute(
            """
            INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op) VALUES ('$local', 5, 6, 7);
            INSERT INTO ps_kv(key, value) VALUES ('target_checkpoint_request_id', 99);
            """)
        try database.migrate(to: 14)
        #expect(
            try keys(database) == [
                ["last_applied_checkpoint_request_id", "5"], ["last_seen_checkpoint_request_id", "6"],
                ["target_checkpoint_request_id", "7"],
            ])
        #expect(try database.rows("SELECT * FROM ps_buckets").isEmpty)
        #expect(sqliteError { try database.execute("UPDATE ps_buckets SET target_op = 1") } != nil)
    }

    @Test("54, 55: a gate that is closed survives the round trip", arguments: [13, 12, 5])
    func anOpenUploadSurvivesTheRoundTrip(_ version: Int) throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        let entries = try database.rows("SELECT * FROM ps_crud")
        try database.migrate(to: version)
        #expect(
            try database.rows(
                "SELECT name, pending_delete, last_op, last_applied_op, target_op FROM ps_buckets")
                == [["$local", "1", "0", "0", Self.max]])
        try database.migrate(to: 14)
        #expect(try keys(database) == [["target_checkpoint_request_id", Self.max]])
        #expect(try database.rows("SELECT * FROM ps_crud") == entries)
    }

    @Test("55: the gate moves back, and an old library goes on")
    func theGateMovesBackAndAnOldLibraryGoesOn() throws {
        let database = try CoreDatabase()
        try database.execute(
            """
            INSERT INTO ps_buckets(name, last_op) VALUES ('b', 3);
            INSERT INTO ps_kv(key, value) VALUES ('last_requested_checkpoint_request_id', 7),
                ('last_seen_checkpoint_request_id', '6'), ('last_applied_checkpoint_request_id', 5),
                ('target_checkpoint_request_id', 7);
            """)
        try database.migrate(to: 13)
        #expect(
            try database.rows(
                "SELECT id, name, pending_delete, last_op, last_applied_op, target_op FROM ps_buckets") == [
                    ["1", "b", "0", "3", "0", "0"], ["2", "$local", "1", "6", "5", "7"],
                ])
        try database.execute(
            "UPDATE ps_buckets SET last_applied_op = 8, last_op = 8, target_op = 9 WHERE name = '$local'")
        try database.migrate(to: 14)
        #expect(
            try keys(database) == [
                ["last_applied_checkpoint_request_id", "8"], ["last_requested_checkpoint_request_id", "7"],
                ["last_seen_checkpoint_request_id", "8"], ["target_checkpoint_request_id", "9"],
            ])
        #expect(try database.layout() == CoreDatabase().layout())
    }

    @Test("56: without a target there is no bucket")
    func withoutATargetThereIsNoBucket() throws {
        let database = try CoreDatabase()
        try database.execute("INSERT INTO ps_kv(key, value) VALUES ('last_seen_checkpoint_request_id', 6)")
        try database.migrate(to: 13)
        #expect(try database.rows("SELECT * FROM ps_buckets").isEmpty)
    }

    @Test("57: the newest time of a priority stays")
    func theNewestTimeOfAPriorityStays() throws {
        let database = try HistoricFile.empty(7)
        for second in 0..<10 {
            try database.execute(
                """
                INSERT INTO ps_sync_state(priority, last_synced_at) VALUES
                    (1, '2025-03-06 14:58:0\(second)'), (2, '2025-03-06 13:58:0\(second)')
                """)
        }
        try database.migrate(to: 8)
        #expect(
            try database.rows("SELECT * FROM ps_sync_state")
                == [["1", "2025-03-06 14:58:09"], ["2", "2025-03-06 13:58:09"]])
    }

    @Test("58: times become microseconds, and seconds again")
    func timesBecomeMicrosecondsAndSecondsAgain() throws {
        let database = try HistoricFile.empty(12)
        try database.execute(
            """
            INSERT INTO ps_sync_state(priority, last_synced_at) VALUES (1, '2025-03-01 10:00:00');
            INSERT INTO ps_stream_subscriptions(stream_name, expires_at, last_synced_at)
                VALUES ('a', 1740823200 + 1800, 1740823200), ('b', NULL, NULL);
            """)
        let subscriptions = "SELECT expires_at, last_synced_at FROM ps_stream_subscriptions ORDER BY id"
        try database.migrate(to: 13)
        #expect(try database.rows("SELECT * FROM ps_sync_state") == [["1", "1740823200000000"]])
        #expect(
            try database.rows(subscriptions) == [
                ["1740825000000000", "1740823200000000"], ["null", "null"],
            ])
        try database.migrate(to: 12)
        #expect(try database.rows("SELECT * FROM ps_sync_state") == [["1", "2025-03-01 10:00:00"]])
        #expect(try database.rows(subscriptions) == [["1740825000", "1740823200"], ["null", "null"]])
    }

    @Test func theTimeOfTheLastSyncMovesBetweenItsPlaces() throws {
        let database = try HistoricFile.empty(6)
        try database.execute("INSERT INTO ps_kv(key, value) VALUES ('last_synced_at', '2025-03-01 10:00:00')")
        try database.migrate(to: 13)
        #expect(try database.rows("SELECT * FROM ps_sync_state") == [["2147483647", "1740823200000000"]])
        try database.execute("UPDATE ps_sync_state SET last_synced_at = last_synced_at + 1000000")
        try database.migrate(to: 6)
        #expect(
            try database.column("SELECT value FROM ps_kv WHERE key = 'last_synced_at'") == [
                "2025-03-01 10:00:01"
            ])
    }

    @Test("59: rows that no operation explains go with the next checkpoint")
    func rowsThatNoOperationExplains() throws {
        let database = try HistoricFile.empty(5)
        try database.execute(
            """
            CREATE TABLE ps_data__lists(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            CREATE TABLE ps_data__todos(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            CREATE TABLE ps_data_local__notes(id TEXT PRIMARY KEY NOT NULL, data TEXT);
            INSERT INTO ps_data__lists VALUES ('l1', '{}'), ('l3', '{}');
            INSERT INTO ps_data__todos VALUES ('t1', '{}'), ('t2', '{}'), ('t3', '{}');
            INSERT INTO ps_data_local__notes VALUES ('n1', '{}');
            INSERT INTO ps_buckets(name, op_checksum) VALUES ('b1', 120), ('b2', 3);
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash) VALUES
                (1, 1, 'todos', 't1', '', '{}', 100), (1, 2, 'todos', 't2', '', '{}', 20),
                (2, 3, 'lists', 'l1', '', '{}', 3);
            """)
        try database.migrate(to: 14)
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == [["lists", "l3"], ["todos", "t3"]])

        let bench = SyncBench(prepared: database.connection)
        try bench.start()
        try bench.line(
            SyncLines.checkpoint(
                3, [SyncLines.Bucket("b1", checksum: 120), SyncLines.Bucket("b2", checksum: 3)]))
        try bench.line(SyncLines.complete(3))
        #expect(try database.column("SELECT id FROM ps_data__lists") == ["l1"])
        #expect(try database.column("SELECT id FROM ps_data__todos ORDER BY id") == ["t1", "t2"])
        #expect(try database.column("SELECT id FROM ps_data_local__notes") == ["n1"])
        #expect(
            try database.rows("SELECT name, last_applied_op, last_op, count_at_last FROM ps_buckets")
                == [["b1", "3", "3", "1"], ["b2", "3", "3", "1"]])
        #expect(try database.rows("SELECT * FROM ps_updated_rows").isEmpty)
    }

    @Test(
        "60: a trigger of the app on a data table survives, and writes through the new view",
        arguments: [3, 4])
    func triggersOfTheAppSurvive(_ version: Int) throws {
        let database = try HistoricFile("v\(version)").open()
        try database.execute(
            """
            CREATE TRIGGER user_trigger AFTER INSERT ON ps_data__lists WHEN NEW.id GLOB 'x*' BEGIN
                INSERT INTO lists(id, name) VALUES ('from trigger', 'y');
            END
            """)
        try database.migrate(to: 14)
        #expect(
            try database.column("SELECT name FROM sqlite_schema WHERE type = 'trigger'") == ["user_trigger"])
        #expect(try database.column("SELECT id FROM lists") == ["l1", "l2"])
        try database.apply([CoreDatabase.table("lists", ["name"])])
        try database.execute("INSERT INTO ps_data__lists(id, data) VALUES ('x1', '{}')")
        #expect(
            try database.column("SELECT id FROM lists ORDER BY id") == ["from trigger", "l1", "l2", "x1"])
        #expect(try database.entries().count == 4)
    }

    @Test("61: managed views go on the way back, and their rows stay", arguments: [3, 4])
    func managedViewsGoOnTheWayBack(_ version: Int) throws {
        let database = try HistoricFile("v5").open()
        try database.migrate(to: version)
        #expect(try database.rows("SELECT name FROM sqlite_schema WHERE type IN ('view', 'trigger')").isEmpty)
        #expect(try database.column("SELECT id FROM ps_data__lists") == ["l1", "l2"])
    }
}
