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

    @Test func aBlockedCheckpointIsAppliedAfterTheUpload() throws {
        let bench = try SyncBench()
        try writeLocally(bench)
        try bench.start()
        try upload(bench)
        #expect(try checkpoint(bench, writeCheckpoint: 1).names == ["log info"])
        #expect(try bench.feed(.uploadCompleted).isEmpty)
        #expect(try bench.items() == [["local", "mine"]])
    }

    @Test func theCheckpointThatWasBlockedIsAppliedOnceItsWriteCheckpointIsTheTarget() throws {
        let bench = try SyncBench()
        try writeLocally(bench)
        try bench.start()
        try upload(bench)
        _ = try checkpoint(bench, writeCheckpoint: 1)
        _ = try bench.connection.transaction { try bench.store.setTarget(1) }
        let effects = try bench.feed(.uploadCompleted)
        #expect(effects.logged.contains("Applied checkpoint request id 1"))
        #expect(try bench.items() == [["remote", "remote-1"]])
    }

    @Test func anotherWriteBeforeTheUploadEndsKeepsLocalRows() throws {
        let bench = try SyncBench()
        try writeLocally(bench)
        try bench.start()
        try upload(bench)
        _ = try checkpoint(bench, writeCheckpoint: 1)
        _ = try bench.connection.transaction { try bench.store.setTarget(1) }
        try bench.connection.run("INSERT INTO ps_crud(tx_id, data) VALUES (9, '{}')")
        #expect(try bench.feed(.uploadCompleted).names == ["log warning"])
        #expect(try bench.items() == [["local", "mine"]])
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

    @Test func targetsAreSetReadAndCleared() throws {
        let bench = try SyncBench()
        try SyncFunctions.register(on: bench.connection, now: { 0 })
        func control(_ operation: String, _ value: SQLiteValue) throws -> SQLiteValue? {
            try bench.connection.transaction {
                try bench.connection.one("SELECT powersync_control(?1, ?2)", [.text(operation), value]) {
                    $0[0]
                }
            }
        }
        let target = "target_checkpoint_request_id"
        #expect(try control(target, .null) == .null)
        #expect(try control(target, 1) == .null)
        #expect(try control(target, "2") == 1)
        #expect(try control(target, .null) == 2)
        #expect(try control(target, 0) == 2)
        #expect(try control(target, .null) == .null)
        let negative = #expect(throws: SQLiteError.self) { try control(target, -1) }
        #expect(negative?.extendedCode == 3091)
        #expect(
            negative?.message.hasSuffix("target checkpoint request id must be a non-negative integer") == true
        )

        let unseeded = #expect(throws: SQLiteError.self) { try control("next_checkpoint_request_id", .null) }
        #expect(unseeded?.code == .misuse)
        #expect(try control("seed_checkpoint_request_id", "41") == 41)
        #expect(try control("next_checkpoint_request_id", .null) == 42)
        #expect(try control("current_checkpoint_request_id", .null) == 42)
        #expect(try bench.store.firstCheckpointRequest() == 42)
        #expect(throws: SQLiteError.self) { try control("seed_checkpoint_request_id", 0) }
    }
}
