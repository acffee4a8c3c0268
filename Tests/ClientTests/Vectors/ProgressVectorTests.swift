import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.13.
@Suite struct ProgressVectorTests {
    /// Sends `count` operations of a bucket in one line, with ids from `first`.
    private func send(_ bench: ControlBench, _ count: Int, _ bucket: String = "a", from first: Int = 1) throws
        -> [String: String]?
    {
        let operations = (first..<first + count).map { SyncLines.bare($0, "MOVE", checksum: 0) }
        let line = """
            {"data":{"bucket":"\(bucket)","data":[\(operations.joined(separator: ","))]}}
            """
        return try bench.line(line).lastStatus?.progress
    }

    private func track(_ bench: ControlBench, _ buckets: (String, priority: Int, count: Int)...) throws
        -> [String: String]?
    {
        try bench.line(
            SyncLines.checkpoint(
                20, buckets.map { SyncLines.Bucket($0.0, priority: $0.priority, count: $0.count) })
        ).lastStatus?.progress
    }

    private func counters(_ bench: ControlBench) throws -> [[SQLiteValue]] {
        try bench.rows("SELECT count_at_last, count_since_last FROM ps_buckets ORDER BY name")
    }

    @Test("120: operations since the last complete checkpoint", arguments: LineEncoding.allCases)
    func sinceTheLast(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        #expect(try track(bench, ("a", 3, 10)) == ["prio_3": "0/10"])
        #expect(try send(bench, 10) == ["prio_3": "10/10"])
        #expect(try bench.line(SyncLines.complete(10)).lastStatus?["downloading"] == .null)
        let diff = SyncLines.diff(12, updated: [.init("a", count: 12)])
        #expect(try bench.line(diff).lastStatus?.progress == ["prio_3": "0/2"])
        #expect(try send(bench, 2, from: 21) == ["prio_3": "2/2"])
        #expect(try bench.line(SyncLines.complete(22)).lastStatus?["downloading"] == .null)
    }

    @Test("121: an interrupted download goes on", arguments: LineEncoding.allCases, [10, 12])
    func goesOn(_ encoding: LineEncoding, total: Int) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        _ = try track(bench, ("a", 3, 10))
        _ = try send(bench, 5)
        try bench.control("stop")
        try bench.begin()
        #expect(try track(bench, ("a", 3, total)) == ["prio_3": "5/\(total)"])
        #expect(try send(bench, 5, from: 6) == ["prio_3": "10/\(total)"])
        #expect(try bench.line(SyncLines.complete(20)).lastStatus?["downloading"] == .null)
    }

    @Test("122: a bucket that shrank begins anew", arguments: LineEncoding.allCases)
    func shrank(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        _ = try track(bench, ("a", 3, 10))
        _ = try send(bench, 5)
        try bench.control("stop")
        try bench.begin()
        #expect(try track(bench, ("a", 3, 4)) == ["prio_3": "0/4"])
        #expect(try counters(bench) == [[0, 0]])
    }

    @Test("6.10: counts beyond all sense do no harm", arguments: LineEncoding.allCases)
    func hugeCounts(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        // The largest integer that a double holds without rounding up to 2^63.
        let huge = 9_223_372_036_854_774_784
        #expect(try track(bench, ("a", 3, huge), ("b", 3, huge)) == ["prio_3": "0/\(Int64.max)"])
        try bench.line(ControlBench.put("a", 1, "1"), SyncLines.complete(20))
        #expect(try track(bench, ("a", 3, huge), ("b", 3, -huge))?["prio_3"] != nil)
    }

    @Test("123: two priorities", arguments: LineEncoding.allCases)
    func twoPriorities(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        #expect(try track(bench, ("a", 0, 5), ("b", 2, 5)) == ["prio_0": "0/5", "prio_2": "0/5"])
        #expect(try send(bench, 5, "a") == ["prio_0": "5/5", "prio_2": "0/5"])
        let partial = try bench.line(SyncLines.partial(0, 5)).lastStatus
        #expect(partial?.progress == ["prio_0": "5/5", "prio_2": "0/5"])
        #expect(try send(bench, 2, "b", from: 6) == ["prio_0": "5/5", "prio_2": "2/5"])
        #expect(try track(bench, ("a", 0, 8), ("b", 2, 6)) == ["prio_0": "5/8", "prio_2": "2/6"])
        #expect(try send(bench, 3, "a", from: 21) == ["prio_0": "8/8", "prio_2": "2/6"])
        #expect(try send(bench, 4, "b", from: 31) == ["prio_0": "8/8", "prio_2": "6/6"])
    }

    @Test("124: counters of the bucket row", arguments: LineEncoding.allCases)
    func bucketRow(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        _ = try track(bench, ("a", 3, 2))
        try bench.line(SyncLines.complete())
        #expect(try counters(bench).isEmpty)
        try bench.line(ControlBench.put("a", 1, "1"))
        #expect(try counters(bench) == [[0, 1]])
        try bench.line(ControlBench.put("a", 2, "2"))
        #expect(try counters(bench) == [[0, 2]])
        try bench.line(SyncLines.complete())
        #expect(try counters(bench) == [[2, 0]])
    }
}
