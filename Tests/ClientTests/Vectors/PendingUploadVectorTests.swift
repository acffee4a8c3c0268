import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.10.
@Suite struct PendingUploadVectorTests {
    private static let blocked =
        "INFO Could not apply checkpoint due to local data. Will retry at completed upload or next checkpoint."

    /// An iteration whose only local write has been sent to the backend.
    private func uploaded(_ encoding: LineEncoding) throws -> ControlBench {
        let bench = try ControlBench(encoding)
        try bench.insertLocally()
        try bench.begin(#"{"checkpoint_mode":"requests"}"#)
        try bench.value("seed_checkpoint_request_id", 1)
        try bench.run("DELETE FROM ps_crud")
        return bench
    }

    private func download(_ bench: ControlBench, writeCheckpoint: Int? = nil) throws -> [JSON] {
        try bench.line(
            SyncLines.checkpoint(1, [.init("a")], writeCheckpoint: writeCheckpoint),
            ControlBench.put("a", 1, "server"), SyncLines.complete())
    }

    @Test("101: a blocked checkpoint is applied after the upload", arguments: LineEncoding.allCases)
    func appliedAfterTheUpload(_ encoding: LineEncoding) throws {
        let bench = try uploaded(encoding)
        #expect(try download(bench, writeCheckpoint: 1).logLines == [Self.blocked])
        #expect(try bench.items() == ["local"])
        try bench.value("target_checkpoint_request_id", 1)
        let effects = try bench.control("completed_upload")
        #expect(
            effects.logLines == [
                "DEBUG Applied pending checkpoint after completed upload",
                "DEBUG Applied checkpoint request id 1",
            ])
        #expect(effects.instructions.suffix(2) == ["DidCompleteSync", "UpdateSyncStatus"])
        #expect(try bench.items() == ["server"])
        // It was used up.
        #expect(try bench.control("completed_upload").isEmpty)
    }

    @Test("102: the upload ends before the checkpoint", arguments: LineEncoding.allCases)
    func uploadEndsFirst(_ encoding: LineEncoding) throws {
        let bench = try uploaded(encoding)
        try bench.value("target_checkpoint_request_id", 1)
        #expect(try bench.control("completed_upload").isEmpty)
        #expect(try bench.gate() == ["target": 1, "last_requested": 1])
        _ = try download(bench, writeCheckpoint: 1)
        #expect(try bench.items() == ["server"])
    }

    @Test("103: a pending checkpoint without the write is dropped", arguments: LineEncoding.allCases)
    func pendingWithoutTheWrite(_ encoding: LineEncoding) throws {
        let bench = try uploaded(encoding)
        #expect(try download(bench).logLines == [Self.blocked])
        try bench.value("target_checkpoint_request_id", 1)
        #expect(try bench.control("completed_upload").isEmpty)
        #expect(try bench.items() == ["local"])
        try bench.line(SyncLines.checkpoint(1, [.init("a")], writeCheckpoint: 1), SyncLines.complete())
        #expect(try bench.items() == ["server"])
    }

    @Test("104: another write comes before the upload ends", arguments: LineEncoding.allCases)
    func anotherWrite(_ encoding: LineEncoding) throws {
        let bench = try uploaded(encoding)
        _ = try download(bench, writeCheckpoint: 1)
        try bench.insertLocally("second")
        try bench.value("target_checkpoint_request_id", 1)
        let effects = try bench.control("completed_upload")
        #expect(
            effects.logLines == ["WARNING Could not apply pending checkpoint even after completed upload"])
        #expect(effects.instructions == ["LogLine"])
        #expect(try bench.items() == ["local", "second"])
    }

    @Test("105: a write between two checkpoints", arguments: LineEncoding.allCases)
    func writeBetweenCheckpoints(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [.init("a")]))
        try bench.insertLocally()
        _ = try download(bench)
        #expect(try bench.items() == ["local"])
        #expect(try bench.buckets() == [["a", 0, 1, 0, 0]])
    }

    @Test("Q8: a pending checkpoint that fails its checksum leaves the stream open") func pendingMismatch()
        throws
    {
        let bench = try uploaded(.text)
        _ = try download(bench, writeCheckpoint: 1)
        try bench.value("target_checkpoint_request_id", 1)
        try bench.line(ControlBench.put("a", 2, "new", checksum: 5))
        #expect(try bench.control("completed_upload").instructions == ["LogLine"])
        #expect(try bench.buckets().isEmpty)
        #expect(
            try bench.line(SyncLines.checkpoint(2, [.init("a", checksum: 5)]), SyncLines.complete(2))
                .instructions.last == "CloseSyncStream")
    }
}
