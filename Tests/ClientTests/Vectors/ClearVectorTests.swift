import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.12.
@Suite struct ClearVectorTests {
    private func call(_ bench: ControlBench, _ sql: String) throws {
        try bench.connection.transaction { try bench.connection.run("SELECT \(sql)") }
    }

    @Test("116: clearing forgets what was synced and subscribed", arguments: LineEncoding.allCases)
    func clearing(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"s"}}}"#)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, []), SyncLines.complete())
        #expect(try bench.rows("SELECT 1 FROM ps_sync_state") == [[1]])
        try call(bench, "powersync_clear(0)")
        #expect(
            try bench.rows("SELECT 1 FROM ps_sync_state UNION ALL SELECT 1 FROM ps_stream_subscriptions")
                .isEmpty)
    }

    @Test("117: after a soft clear nothing is downloaded again", arguments: LineEncoding.allCases)
    func softClear(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(1, [.init("a")]), ControlBench.put("a", 1, "row"), SyncLines.complete())
        try bench.insertLocally()
        #expect(bench.failure { try call(bench, "powersync_clear(2)") }?.extendedCode == 3091)
        try bench.control("stop")
        try call(bench, "powersync_clear(2)")
        try bench.connection.transaction {
            try bench.connection.run("SELECT powersync_replace_schema(?1)", [.text(SyncBench.schema)])
        }
        #expect(try bench.items().isEmpty)
        #expect(
            try bench.begin().streamRequest?["buckets"]?.equals(#"[{"name":"a","after":"1"}]"#) == true)
        try bench.line(SyncLines.checkpoint(1, [.init("a")]), SyncLines.complete())
        #expect(try bench.items() == ["row"])
    }

    @Test("118: a resync writes every row again", arguments: LineEncoding.allCases)
    func resync(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(1, [.init("a")]), ControlBench.put("a", 1, "row"), SyncLines.complete())
        let error = bench.failure { try call(bench, "powersync_trigger_resync(0)") }
        #expect(error?.extendedCode == 3091)
        #expect(
            error?.message.hasSuffix("Cannot clear or trigger resync while a sync iteration is active.")
                == true)
        try bench.control("stop")
        try bench.run("DELETE FROM ps_data__items")
        try call(bench, "powersync_trigger_resync(0)")
        #expect(try bench.begin().lastStatus?["priority_status"]?.arrayValue?.count == 1)
        try bench.line(SyncLines.checkpoint(1, [.init("a")]), SyncLines.complete())
        #expect(try bench.items() == ["row"])
        try bench.control("stop")
        try call(bench, "powersync_trigger_resync(1)")
        #expect(try bench.offlineStatus()["priority_status"] == .array([]))
    }

    @Test("119: a soft clear keeps buckets, a hard one does not", arguments: [2, 0])
    func keepsBuckets(_ flags: Int64) throws {
        let bench = try ControlBench()
        try bench.run("INSERT INTO ps_buckets(name, last_applied_op, last_op) VALUES ('a', 5, 6)")
        try call(bench, "powersync_clear(\(flags))")
        #expect(try bench.buckets() == (flags == 2 ? [["a", 0, 6, 0, 0]] : []))
    }

    @Test("Q1: a row that a REMOVE takes away after a resync disappears", arguments: LineEncoding.allCases)
    func removedAfterAResync(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(1, [.init("a")]), ControlBench.put("a", 1, "row"), SyncLines.complete())
        try bench.control("stop")
        try call(bench, "powersync_trigger_resync(0)")
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(2, [.init("a")]), SyncLines.data("a", SyncLines.remove(2, "row")),
            SyncLines.complete(2))
        #expect(try bench.items().isEmpty)
    }
}
