import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncWire
import Testing

/// Client-core 9.9 and the promises beyond the reference, on a real database.
@Suite struct SyncStoreTests {
    @Test func operationsSentTwiceCountOnce() throws {
        let bench = try SyncBench()
        try bench.start()
        let line = SyncLines.data(
            "b", SyncLines.put(1, "r1", checksum: 5), SyncLines.put(2, "r2", checksum: 6))
        try bench.line(SyncLines.checkpoint(2, [.init("b", checksum: 11, count: 2)]))
        try bench.line(line)
        let again = try bench.line(line)
        #expect(again.isEmpty)
        // Twice within one line, and lower than the line's highest.
        try bench.line(
            SyncLines.data("b", SyncLines.put(2, "r2", checksum: 6), SyncLines.put(2, "r2", checksum: 6)))
        #expect(try bench.buckets() == [["b", 0, 2, 0, 11]])
        #expect(try bench.rows("SELECT count_since_last FROM ps_buckets") == [[2]])
        #expect(try bench.line(SyncLines.complete(2)).names == ["log debug", "completed", "status"])
        #expect(try bench.items().count == 2)
    }

    @Test func bucketsWhoseNamesAreOnlySpelledAlikeAreTwo() throws {
        let bench = try SyncBench()
        try bench.start()
        let (one, two) = ("b[\"\u{e9}\"]", "b[\"e\u{301}\"]")
        try bench.line(
            SyncLines.checkpoint(2, [.init(one, checksum: 5), .init(two, checksum: 6)]))
        try bench.line(SyncLines.data(one, SyncLines.put(1, "r1", checksum: 5)))
        try bench.line(SyncLines.data(two, SyncLines.put(2, "r2", checksum: 6)))
        #expect(try bench.line(SyncLines.complete(2)).names.contains("completed"))
        #expect(try bench.items().count == 2)
        #expect(try bench.store.bucketRequests().count == 2)
    }

    @Test func rowsOfTablesWhoseNamesAreOnlySpelledAlikeStayInTheirs() throws {
        let names = ["\u{e9}", "e\u{301}"]
        let tables = names.map { #"{"name":"\#($0)","columns":[{"name":"col","type":"text"}]}"# }
        let bench = try SyncBench(schema: #"{"tables":[\#(tables.joined(separator: ","))]}"#)
        try bench.start()
        for (index, name) in names.enumerated() {
            let op = index + 1
            // Each by itself: the statements of the one before wait to be used again.
            try bench.line(SyncLines.checkpoint(op, [.init("b", checksum: Int64(op), count: op)]))
            try bench.line(SyncLines.data("b", SyncLines.put(op, "r\(op)", checksum: 1, type: name)))
            #expect(try bench.line(SyncLines.complete(op)).names.contains("completed"))
        }
        #expect(try bench.rows("SELECT id FROM \(names[0])") == [["r1"]])
        #expect(try bench.rows("SELECT id FROM \(names[1])") == [["r2"]])
    }

    /// With thousands of buckets a change of one of them rewrote the counters of all.
    @Test func aCompleteCheckpointWritesTheCountersOfChangedBucketsAlone() throws {
        let bench = try SyncBench()
        try bench.start()
        func checkpoint(_ last: Int, changed: Int) throws {
            let buckets = (1...3).map {
                SyncLines.Bucket(
                    "b\($0)", checksum: $0 == 2 ? Int64(changed) : 1, count: $0 == 2 ? changed : 1)
            }
            try bench.line(SyncLines.checkpoint(last, buckets))
        }
        func complete(_ last: Int) throws -> [[SQLiteValue]] {
            try bench.connection.execute("DELETE FROM touched")
            #expect(try bench.line(SyncLines.complete(last)).names.contains("completed"))
            return try bench.rows("SELECT name FROM touched ORDER BY name")
        }
        try bench.connection.execute(
            """
            CREATE TABLE touched(name);
            CREATE TRIGGER counted AFTER UPDATE OF count_at_last, count_since_last ON ps_buckets
            BEGIN INSERT INTO touched VALUES (new.name); END;
            """)
        try checkpoint(3, changed: 1)
        for number in 1...3 {
            try bench.line(SyncLines.data("b\(number)", SyncLines.put(number, "r\(number)", checksum: 1)))
        }
        #expect(try complete(3) == [["b1"], ["b2"], ["b3"]])
        try checkpoint(4, changed: 2)
        try bench.line(SyncLines.data("b2", SyncLines.put(4, "r4", checksum: 1)))
        #expect(try complete(4) == [["b2"]])
        #expect(try complete(4).isEmpty)
        #expect(
            try bench.rows("SELECT count_at_last, count_since_last FROM ps_buckets ORDER BY name")
                == [[1, 0], [2, 0], [1, 0]])
    }

    @Test func aPositionNeverFalls() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(SyncLines.data("b", SyncLines.put(9, "r1", checksum: 5)))
        try bench.line(SyncLines.checkpoint(4, [.init("b", checksum: 5)]))
        try bench.line(SyncLines.complete(4))
        #expect(try bench.store.bucketRequests() == [BucketRequest(name: "b", after: 9)])
        #expect(try bench.items().count == 1)
    }

    @Test func aPutWithoutTypeOrIdBreaksTheProtocolAndStoresNothing() throws {
        let bench = try SyncBench()
        try bench.start()
        let line = SyncLines.data("b", SyncLines.put(1, "r"), SyncLines.bare(2, "PUT", checksum: 1))
        let error = #expect(throws: SyncError.self) { try bench.line(line) }
        #expect(error?.code == .protocolViolation)
        #expect(try bench.buckets().isEmpty)
        // The iteration goes on where it was.
        #expect(try bench.line(SyncLines.data("b", SyncLines.put(1, "r"))).names == ["status"])
    }

    @Test func bareNaNAndInfinityReachTheAppAsNullAndInfinity() throws {
        let bench = try SyncBench(
            schema: """
                {"tables":[{"name":"items","columns":[{"name":"a","type":"real"},{"name":"b","type":"real"},\
                {"name":"t","type":"text"}],\
                "indexes":[{"name":"i","columns":[{"name":"a","ascending":true,"type":"real"}]}]}]}
                """)
        try bench.start()
        let received = "{\"a\":NaN,\"b\":-Infinity,\"t\":\"NaN \\\"Infinity\"}"
        try bench.line(SyncLines.checkpoint(1, [.init("b")]))
        try bench.line(SyncLines.data("b", SyncLines.put(1, "r", data: received)))
        try bench.line(SyncLines.complete())
        #expect(
            try bench.rows("SELECT a, b, t FROM items") == [[.null, .real(-.infinity), "NaN \"Infinity"]])
        #expect(try bench.rows("SELECT data FROM ps_oplog") == [[.text(received)]])
    }

    @Test func aRowWithoutSuchWordsIsKeptByteForByte() {
        for text in ["{\"a\": 1.50}", "{\"Name\":\"NaN\",\"I\":\"\\\"Infinity\"}", "", "{\"a\":\"é∆\"}"] {
            #expect(RowJSONRepair.repaired(text) == text)
        }
        #expect(
            RowJSONRepair.repaired("[NaN,Infinity,-Infinity,-NaN,\"NaN\"]")
                == "[null,9e999,-9e999,null,\"NaN\"]")
    }

    @Test func aFailedStepLeavesNothingBehind() throws {
        let bench = try SyncBench(
            schema: """
                {"tables":[],"raw_tables":[{"name":"items","put":{"sql":"INSERT INTO own(id, n) VALUES(?, ?)",\
                "params":["Id",{"Column":"n"}]},"delete":{"sql":"DELETE FROM own WHERE id = ?","params":["Id"]}}]}
                """)
        try bench.connection.execute("CREATE TABLE own(id TEXT PRIMARY KEY, n INTEGER NOT NULL)")
        try bench.start()
        try bench.line(SyncLines.checkpoint(2, [.init("b")]))
        try bench.line(
            SyncLines.data(
                "b", SyncLines.put(1, "ok", data: "{\"n\":9007199254740993}"),
                SyncLines.put(2, "zz", data: "{}")))
        #expect(throws: SQLiteError.self) { try bench.line(SyncLines.complete(2)) }
        #expect(try bench.rows("SELECT * FROM own").isEmpty)
        #expect(try bench.buckets() == [["b", 0, 2, 0, 0]])
        try bench.line(SyncLines.data("b", SyncLines.put(3, "zz", data: "{\"n\":1}")))
        try bench.line(SyncLines.complete(2))
        #expect(
            try bench.rows("SELECT * FROM own ORDER BY id") == [["ok", 9_007_199_254_740_993], ["zz", 1]])
        #expect(try bench.rows("SELECT * FROM ps_crud").isEmpty)
    }
}
