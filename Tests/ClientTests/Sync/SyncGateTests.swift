import PowerSync
import PowerSyncSQLite
import PowerSyncWire
import Testing

/// The local write gate (client-core 8, 9.10, 9.11).
@Suite struct SyncGateTests {
    private func writeLocally(_ bench: SyncBench, _ id: String = "local") throws {
        try bench.connection.transaction {
            try bench.connection.run("INSERT INTO items(id, col) VALUES (?1, 'mine')", [.text(id)])
        }
    }

    private func upload(_ bench: SyncBench) throws { try bench.connection.execute("DELETE FROM ps_crud") }

    private func checkpoint(_ bench: SyncBench, writeCheckpoint: Int? = nil) throws -> [SyncEffect] {
        try bench.line(SyncLines.checkpoint(1, [.init("b", checksum: 5)], writeCheckpoint: writeCheckpoint))
        try bench.line(SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)))
        return try bench.line(SyncLines.complete())
    }

    @Test func pendingEntriesBlockWhateverWasSeen() throws {
        let bench = try SyncBench()
        try bench.start()
        try writeLocally(bench)
        _ = try bench.connection.transaction { try bench.store.setTarget(0) }
        #expect(try checkpoint(bench, writeCheckpoint: 9).names == ["log info"])
        #expect(try bench.items() == [["local", "mine"]])
        // Position and write checkpoint are stored nevertheless.
        #expect(try bench.store.bucketRequests() == [BucketRequest(name: "b", after: 1)])
        #expect(
            try bench.rows("SELECT value FROM ps_kv WHERE key = 'last_seen_checkpoint_request_id'") == [[9]])
    }

    @Test func aTargetAboveTheSeenWriteCheckpointBlocks() throws {
        for (target, seen, isOpen) in [(3, 3, true), (4, 3, false), (2, 3, true)] as [(Int64, Int, Bool)] {
            let bench = try SyncBench()
            try bench.start()
            try writeLocally(bench)
            try upload(bench)
            _ = try bench.connection.transaction { try bench.store.setTarget(target) }
            let effects = try checkpoint(bench, writeCheckpoint: seen)
            #expect(effects.names.contains("completed \(seen)") == isOpen)
            #expect(try bench.items() == (isOpen ? [["remote", "remote-1"]] : [["local", "mine"]]))
        }
    }

    @Test func priorityZeroPassesTheGateAndPriorityOneDoesNot() throws {
        for (priority, isVisible) in [(0, true), (1, false)] {
            let bench = try SyncBench()
            try bench.start()
            try writeLocally(bench)
            try bench.line(SyncLines.checkpoint(1, [.init("b", checksum: 5, priority: priority)]))
            try bench.line(SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)))
            try bench.line(SyncLines.partial(priority))
            #expect(try bench.items().contains(["remote", "remote-1"]) == isVisible)
            #expect(try bench.items().contains(["local", "mine"]))
            // The complete line is gated even when all buckets have priority 0.
            #expect(try bench.line(SyncLines.complete()).names.first == "log info")
        }
    }

    @Test func aWriteCheckpointObtainedForAnOlderWriteIsNotUsed() throws {
        let bench = try SyncBench()
        try writeLocally(bench)
        #expect(try bench.store.writeAwaitingCheckpoint() == nil)
        try upload(bench)
        let write = try #require(try bench.store.writeAwaitingCheckpoint())
        try writeLocally(bench, "second")
        #expect(try !bench.store.setTarget(5, ifLastWriteIs: write))
        try upload(bench)
        #expect(try !bench.store.setTarget(5, ifLastWriteIs: write))
        let second = try #require(try bench.store.writeAwaitingCheckpoint())
        #expect(try bench.store.setTarget(6, ifLastWriteIs: second))
        #expect(try bench.store.target() == 6)
        #expect(try bench.store.writeAwaitingCheckpoint() == nil)
    }
}
