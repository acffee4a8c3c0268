import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncWire
import Testing

/// Client-core 9.9 and the promises beyond the reference, on a real database.
@Suite struct SyncStoreTests {
    @Test func supersedingMovesTheOldHash() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(
            SyncLines.data("b", SyncLines.put(1, "r1", checksum: 100), SyncLines.put(2, "r2", checksum: 200)))
        #expect(try bench.buckets() == [["b", 0, 2, 0, 300]])
        #expect(
            try bench.rows("SELECT key FROM ps_oplog ORDER BY op_id") == [
                ["items/r1/null"], ["items/r2/null"],
            ])
        try bench.line(SyncLines.data("b", SyncLines.put(3, "r1", checksum: 300)))
        #expect(try bench.buckets() == [["b", 0, 3, 100, 500]])
        try bench.line(SyncLines.data("b", SyncLines.remove(4, "r2", checksum: 50)))
        #expect(try bench.buckets() == [["b", 0, 4, 350, 300]])
        #expect(try bench.rows("SELECT * FROM ps_updated_rows").isEmpty)
        #expect(try bench.brokenInvariants().isEmpty)
    }

    @Test func aRemovedRowDisappearsWithTheNextCompleteCheckpoint() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(SyncLines.checkpoint(1, [.init("b", checksum: 5)]))
        try bench.line(SyncLines.data("b", SyncLines.put(1, "r1", checksum: 5)))
        try bench.line(SyncLines.complete())
        try bench.line(SyncLines.diff(2, updated: [.init("b", checksum: 12)]))
        try bench.line(SyncLines.data("b", SyncLines.remove(2, "r1", checksum: 7)))
        #expect(try bench.items() == [["r1", "r1-1"]])
        try bench.line(SyncLines.partial(3, 2))
        #expect(try bench.items() == [["r1", "r1-1"]])
        try bench.line(SyncLines.complete(2))
        #expect(try bench.items().isEmpty)
        #expect(try bench.buckets() == [["b", 2, 2, 12, 0]])
    }

    @Test func hashesAreStoredSignedAndSumsUnsigned() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(SyncLines.data("b", SyncLines.put(1, "r1", checksum: 3_573_495_687)))
        #expect(try bench.rows("SELECT hash FROM ps_oplog") == [[-721_471_609]])
        try bench.line(
            SyncLines.data(
                "b", SyncLines.put(2, "r2", checksum: 4_294_967_295), SyncLines.bare(3, "MOVE", checksum: 2)))
        #expect(try bench.buckets() == [["b", 0, 3, 2, 3_573_495_686]])
        #expect(try bench.brokenInvariants().isEmpty)
    }

    @Test func clearTakesAllRowsOfTheBucketAway() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(SyncLines.checkpoint(1, [.init("b", checksum: 5)]))
        try bench.line(SyncLines.data("b", SyncLines.put(1, "r1", checksum: 5)))
        try bench.line(SyncLines.complete())
        try bench.line(SyncLines.diff(3, updated: [.init("b", checksum: 14)]))
        try bench.line(
            SyncLines.data("b", SyncLines.bare(2, "CLEAR", checksum: 5), SyncLines.put(3, "r2", checksum: 9)))
        #expect(try bench.buckets() == [["b", 0, 3, 5, 9]])
        #expect(try bench.rows("SELECT row_id FROM ps_updated_rows") == [["r1"]])
        try bench.line(SyncLines.complete(3))
        #expect(try bench.items() == [["r2", "r2-3"]])
    }

    @Test func subkeysKeepSeveralVersionsOfARow() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(SyncLines.checkpoint(2, [.init("b", checksum: 3)]))
        try bench.line(
            SyncLines.data(
                "b", SyncLines.put(1, "r", checksum: 1, subkey: "k1"),
                SyncLines.put(2, "r", checksum: 2, subkey: "k2")))
        try bench.line(SyncLines.complete(2))
        #expect(try bench.items() == [["r", "r-2"]])
        try bench.line(SyncLines.diff(3, updated: [.init("b", checksum: 7)]))
        try bench.line(SyncLines.data("b", SyncLines.remove(3, "r", checksum: 4, subkey: "k2")))
        try bench.line(SyncLines.complete(3))
        #expect(try bench.items() == [["r", "r-1"]])
    }

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

    @Test func theSizeOfEveryLineCounts() throws {
        let bench = try SyncBench()
        try bench.start()
        let first = SyncLines.data("b", SyncLines.put(1, "é", checksum: 5))
        try bench.line(first)
        try bench.line(first)
        #expect(
            try bench.rows("SELECT downloaded_size FROM ps_buckets") == [
                [.integer(Int64(first.utf8.count * 2))]
            ])
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

    @Test func aWrongChecksumDropsTheBucketAndCloses() throws {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(SyncLines.checkpoint(1, [.init("a", checksum: 1234), .init("ok", checksum: 0)]))
        try bench.line(SyncLines.data("a", SyncLines.put(1, "r", checksum: 4321)))
        let effects = try bench.line(SyncLines.complete())
        #expect(effects.names == ["log warning", "close mismatch"])
        #expect(
            effects.logged == [
                "Could not apply checkpoint, Checksums didn't match, failed for: a (expected 0x000004d2, "
                    + "got 0x000010e1 = 0x000010e1 (op) + 0x00000000 (add))"
            ])
        #expect(try bench.buckets().isEmpty)
        #expect(try bench.rows("SELECT * FROM ps_oplog").isEmpty)
        #expect(try bench.start().request?.buckets == [])
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
            #expect(RowJSON.repaired(text) == text)
        }
        #expect(
            RowJSON.repaired("[NaN,Infinity,-Infinity,-NaN,\"NaN\"]") == "[null,9e999,-9e999,null,\"NaN\"]")
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

    @Test func aLockedDatabaseChangesNothingAndTheSameLineWorksLater() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sync-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Nothing is left to do about a folder that cannot be removed.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let connection = try SQLiteConnection(path: folder + "/a.db")
        let other = try SQLiteConnection(path: folder + "/a.db")
        try SyncBench.prepare(connection)
        let bench = SyncBench(prepared: connection)
        try bench.start()
        let line = SyncLines.data("b", SyncLines.put(1, "r", checksum: 5))
        try bench.line(SyncLines.checkpoint(1, [.init("b", checksum: 5)]))
        try other.execute("BEGIN EXCLUSIVE")
        let error = #expect(throws: SQLiteError.self) { try bench.line(line) }
        #expect(error?.code == .busy)
        try other.execute("COMMIT")
        let effects = try bench.line(line)
        #expect(effects.status?.downloading?.first?.downloadedOperations == 1)
        #expect(try bench.line(SyncLines.complete()).names == ["log debug", "completed", "status"])
    }
}
