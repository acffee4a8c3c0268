import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Vectors of client-core 9.8 on a database that somebody else has locked, and on one priority after the other.
struct LockVectorTests {
    @Test("87: a line that meets a lock changes nothing, and can be repeated")
    func repeatsALine() throws {
        let folder = try TemporaryFolder()
        let core = try CoreDatabase(path: folder.file(), keeping: folder)
        try core.execute("PRAGMA journal_mode = WAL")
        try core.apply([CoreDatabase.items])
        try SyncFunctions.register(on: core.connection) { SteppedClock.start }
        try core.execute("INSERT INTO ps_buckets(name) VALUES ('old')")
        let other = try SQLiteConnection(path: folder.file())

        func control(_ operation: String, _ payload: String? = nil) throws -> String {
            // Deferred: the lock is met within the function.
            try core.execute("BEGIN")
            do {
                let result = try core.connection.one(
                    "SELECT powersync_control(?, ?)", [.text(operation), SQLiteValue(payload)]
                ) { $0.string(0) }
                try core.execute("COMMIT")
                return try #require(result)
            } catch {
                core.connection.rollBack()
                throw error
            }
        }
        func content() throws -> [[String]] {
            try core.rows("SELECT name, last_op, last_applied_op, count_since_last FROM ps_buckets")
                + core.rows("SELECT op_id FROM ps_oplog") + core.rows("SELECT id FROM items")
        }

        _ = try control("start")
        var results: [String] = []
        for line in [
            SyncLines.checkpoint(1, [SyncLines.Bucket("a")]), SyncLines.data("a", SyncLines.put(1, "r")),
            SyncLines.complete(),
        ] {
            let before = try content()
            try other.execute("BEGIN EXCLUSIVE")
            let error = sqliteError { _ = try control("line_text", line) }
            #expect(error?.code == .busy)
            #expect(error?.message.hasSuffix("database is locked") == true)
            try other.execute("ROLLBACK")
            #expect(try content() == before)
            results.append(try control("line_text", line))
        }
        #expect(results[1].contains(#""since_last":1"#))
        #expect(results[2].contains("DidCompleteSync"))
        #expect(try content() == [["a", "1", "1", "0"], ["1"], ["r"]])
    }

    @Test("92: each priority shows its row when it is complete")
    func onePriorityAfterTheOther() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(
            SyncLines.checkpoint(
                4, (0...3).map { SyncLines.Bucket("prio\($0)", checksum: Int64(10 + $0), priority: $0) }))
        for priority in 0...3 {
            try bench.line(
                SyncLines.data(
                    "prio\(priority)",
                    SyncLines.put(priority + 1, "r\(priority)", checksum: Int64(10 + priority))))
            if priority < 3 { try bench.line(SyncLines.partial(priority, 4)) }
            #expect(try bench.items().count == min(priority + 1, 3))
            #expect(
                try bench.rows("SELECT priority FROM ps_sync_state") == [[.integer(Int64(min(priority, 2)))]])
        }
        #expect(try bench.line(SyncLines.complete(4)).names.contains("completed"))
        #expect(try bench.items().count == 4)
        #expect(try bench.rows("SELECT priority FROM ps_sync_state") == [[2_147_483_647]])
    }
}
