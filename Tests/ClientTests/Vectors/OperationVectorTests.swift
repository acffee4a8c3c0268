import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.9.
@Suite struct OperationVectorTests {
    private func updatedRows(_ bench: ControlBench) throws -> [[SQLiteValue]] {
        try bench.rows("SELECT row_type, row_id FROM ps_updated_rows ORDER BY row_type, row_id")
    }

    private func operations(_ bench: ControlBench) throws -> [[SQLiteValue]] {
        try bench.rows("SELECT op_id, hash FROM ps_oplog ORDER BY op_id")
    }

    /// Applies a checkpoint of bucket b.
    private func apply(_ bench: ControlBench, _ lastOp: Int, _ checksum: Int64) throws {
        let effects = try bench.line(
            SyncLines.checkpoint(lastOp, [.init("b", checksum: checksum)]), SyncLines.complete(lastOp))
        #expect(effects.instructions.contains("DidCompleteSync"))
    }

    @Test("93, 94: superseding and removing move hashes", arguments: LineEncoding.allCases)
    func movesHashes(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.data(
                "b", SyncLines.put(1, "r1", checksum: 100), SyncLines.put(2, "r2", checksum: 200)))
        #expect(try bench.buckets() == [["b", 0, 2, 0, 300]])
        #expect(
            try bench.rows("SELECT key FROM ps_oplog ORDER BY op_id") == [
                ["items/r1/null"], ["items/r2/null"],
            ])
        try bench.line(SyncLines.data("b", SyncLines.put(3, "r1", checksum: 300)))
        #expect(try operations(bench) == [[2, 200], [3, 300]])
        #expect(try bench.buckets() == [["b", 0, 3, 100, 500]])
        try bench.line(SyncLines.data("b", SyncLines.remove(4, "r2", checksum: 50)))
        #expect(try bench.buckets() == [["b", 0, 4, 350, 300]])
        #expect(try updatedRows(bench).isEmpty)

        try apply(bench, 4, 650)
        try bench.line(SyncLines.data("b", SyncLines.remove(5, "r1", checksum: 7)))
        #expect(try operations(bench).isEmpty)
        #expect(try bench.buckets() == [["b", 4, 5, 657, 0]])
        #expect(try updatedRows(bench) == [["items", "r1"]])
        #expect(try bench.items() == ["r1"])
        try apply(bench, 5, 657)
        #expect(try bench.items().isEmpty)
        #expect(try updatedRows(bench).isEmpty)
    }

    @Test("95, 96: hashes are signed, sums are not; CLEAR begins anew", arguments: LineEncoding.allCases)
    func clearBeginsAnew(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.data("b", SyncLines.put(1, "r1", checksum: 3_573_495_687)))
        #expect(try operations(bench) == [[1, -721_471_609]])
        #expect(try bench.buckets() == [["b", 0, 1, 0, 3_573_495_687]])
        try bench.line(
            SyncLines.data(
                "b", SyncLines.put(2, "r2", checksum: 4_294_967_295), SyncLines.bare(3, "MOVE", checksum: 2)))
        #expect(try bench.buckets() == [["b", 0, 3, 2, 3_573_495_686]])

        try apply(bench, 3, 3_573_495_688)
        try bench.line(
            SyncLines.data(
                "b", SyncLines.bare(4, "CLEAR", checksum: 3_573_495_688),
                SyncLines.put(5, "r2", checksum: 9, data: "{\"col\":\"new\"}")))
        #expect(try bench.buckets() == [["b", 0, 5, 3_573_495_688, 9]])
        #expect(try updatedRows(bench) == [["items", "r1"], ["items", "r2"]])
        #expect(try operations(bench) == [[5, 9]])
        try apply(bench, 5, 3_573_495_697)
        #expect(try bench.rows("SELECT id, col FROM items") == [["r2", "new"]])
    }

    @Test("97: subkeys keep several versions of a row", arguments: LineEncoding.allCases)
    func subkeys(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.data("b", SyncLines.put(1, "r", subkey: "k1"), SyncLines.put(2, "r", subkey: "k2")))
        #expect(try operations(bench).count == 2)
        try apply(bench, 2, 0)
        #expect(try bench.rows("SELECT id, col FROM items") == [["r", "r-2"]])
        try bench.line(SyncLines.data("b", SyncLines.remove(3, "r", subkey: "k2")))
        #expect(try updatedRows(bench) == [["items", "r"]])
        try apply(bench, 3, 0)
        #expect(try bench.rows("SELECT id, col FROM items") == [["r", "r-1"]])
    }

    @Test("98: the greatest operation of the scope wins", arguments: LineEncoding.allCases)
    func greatestOperation(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(2, [.init("hi", priority: 1), .init("lo", priority: 3)]),
            ControlBench.put("hi", 1, "r", "hi"), ControlBench.put("lo", 2, "r", "lo"),
            SyncLines.partial(1, 2))
        #expect(try bench.rows("SELECT id, col FROM items") == [["r", "hi"]])
        try bench.line(SyncLines.complete(2))
        #expect(try bench.rows("SELECT id, col FROM items") == [["r", "lo"]])
    }

    @Test(
        "99, 100: REMOVE of what the same line put, and of what nobody knows",
        arguments: LineEncoding.allCases)
    func removes(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.data("b", SyncLines.put(1, "old", checksum: 1)))
        try apply(bench, 1, 1)
        try bench.line(
            SyncLines.data("b", SyncLines.put(2, "r1", checksum: 10), SyncLines.remove(3, "r1", checksum: 20))
        )
        #expect(try bench.buckets() == [["b", 1, 3, 30, 1]])
        #expect(try updatedRows(bench) == [["items", "r1"]])
        #expect(try operations(bench) == [[1, 1]])
        try bench.line(SyncLines.data("b", SyncLines.remove(4, "unknown", checksum: 5)))
        #expect(try bench.buckets() == [["b", 1, 4, 35, 1]])
        #expect(try updatedRows(bench) == [["items", "r1"]])
    }

    @Test("6.6: an empty line only makes the bucket", arguments: LineEncoding.allCases)
    func emptyLine(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.data("b"))
        #expect(
            try bench.rows("SELECT last_op, count_since_last, downloaded_size FROM ps_buckets") == [
                [0, 0, 0]
            ]
        )
    }

    @Test("Q4: a PUT without type or id breaks the protocol and ends the iteration")
    func putWithoutType() throws {
        let bench = try ControlBench()
        try bench.begin()
        let line = SyncLines.data("b", SyncLines.put(1, "r"), SyncLines.bare(2, "PUT", checksum: 1))
        #expect(bench.failure { try bench.line(line) }?.extendedCode == 4)
        #expect(try bench.buckets().isEmpty)
        #expect(try bench.control("stop").isEmpty)
    }

    @Test("Q3, Q5: a table of the schema goes before a raw table of its name")
    func tableBeforeRawTable() throws {
        let bench = try ControlBench()
        try bench.run(
            "CREATE TABLE own(id TEXT PRIMARY KEY, n); CREATE TABLE other(id TEXT PRIMARY KEY, n)")
        func raw(_ name: String, _ table: String) -> String {
            """
            {"name":"\(name)","put":{"sql":"INSERT INTO \(table)(id, n) VALUES (?, ?)","params":["Id",
            {"Column":"n"}]},"delete":{"sql":"DELETE FROM \(table) WHERE id = ?","params":["Id"]}}
            """
        }
        try bench.begin(
            "{\"schema\":{\"tables\":[],\"raw_tables\":[\(raw("items", "own")),\(raw("numbers", "other"))]}}")
        let data = "{\"n\":9007199254740993}"
        try bench.line(
            SyncLines.checkpoint(2, [.init("a")]),
            SyncLines.data(
                "a", SyncLines.put(1, "x", data: data), SyncLines.put(2, "y", type: "numbers", data: data)),
            SyncLines.complete(2))
        #expect(try bench.items() == ["x"])
        #expect(try bench.rows("SELECT * FROM own").isEmpty)
        #expect(try bench.rows("SELECT * FROM other") == [["y", 9_007_199_254_740_993]])
    }

    @Test("Q11: data of a bucket that the checkpoint does not name is kept and shown")
    func bucketOutsideTheCheckpoint() throws {
        let bench = try ControlBench()
        try bench.begin()
        let saved = try bench.line(SyncLines.checkpoint(1, [.init("a")]), ControlBench.put("other", 1, "r"))
        #expect(saved.lastStatus?.progress == ["prio_3": "0/1"])
        try bench.line(SyncLines.complete())
        #expect(try bench.items() == ["r"])
    }
}
