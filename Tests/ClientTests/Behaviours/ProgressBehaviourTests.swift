import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 F, progress as the app sees it.
@Suite(.patient())
struct ProgressBehaviourTests {
    /// What has arrived of what is to come, as "5/10"; with a priority, of what is as urgent.
    private func progress(_ status: any SyncStatusData, until priority: Int32? = nil) -> String {
        guard let progress = status.downloadProgress else { return "none" }
        var part: any ProgressWithOperations = progress
        if let priority { part = progress.untilPriority(priority: BucketPriority(priority)) }
        return "\(part.downloadedOperations)/\(part.totalOperations)"
    }

    private func expect(
        _ expected: String, of bench: ConnectedBench, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(
            for: "progress \(expected)", sourceLocation: sourceLocation, read: { progress(bench.status) },
            until: { $0 == expected })
    }

    /// A line with operations of a bucket.
    private func operations(_ bucket: String, _ ids: ClosedRange<Int>) -> String {
        let operations = ids.map { SyncLines.bare($0, "MOVE", checksum: 0) }
        return #"{"data":{"bucket":"\#(bucket)","data":[\#(operations.joined(separator: ","))]}}"#
    }

    private func checkpoint(of count: Int) -> String {
        SyncLines.checkpoint(count, [.init("a", count: count)])
    }

    @Test("Progress begins anew with each checkpoint", .behaviour(75))
    func eachCheckpointBeginsAnew() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(checkpoint(of: 10))
        try await expect("0/10", of: bench)
        stream.send(operations("a", 1...10))
        try await expect("10/10", of: bench)
        stream.send(SyncLines.complete(10))
        try await expect("none", of: bench)
        stream.send(SyncLines.diff(12, updated: [.init("a", count: 12)]))
        try await expect("0/2", of: bench)
        stream.send(operations("a", 11...12))
        try await expect("2/2", of: bench)
        stream.send(SyncLines.complete(12))
        try await expect("none", of: bench)
        #expect(bench.status.downloadProgress == nil && bench.status.hasSynced == true)
        try await bench.database.close()
    }

    @Test("A larger checkpoint in the middle of a download counts on", .behaviour(76))
    func aLargerCheckpointCountsOn() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(checkpoint(of: 10))
        try await expect("0/10", of: bench)
        stream.send(operations("a", 1...10))
        try await expect("10/10", of: bench)
        stream.send(checkpoint(of: 12))
        try await expect("10/12", of: bench)
        stream.send(operations("a", 11...12))
        try await expect("12/12", of: bench)
        stream.send(SyncLines.complete(12))
        try await expect("none", of: bench)
        #expect(bench.status.downloadProgress == nil && bench.status.hasSynced == true)
        try await bench.database.close()
    }

    /// Interrupts a download of ten operations behind the fifth, opens the file anew, and returns what shows first.
    ///
    /// The next checkpoint has so many operations.
    private func progress(afterInterruptionWith count: Int) async throws -> String {
        let folder = try TemporaryDirectory()
        let first = try ConnectedBench(folder: folder)
        try await first.connect()
        try await first.stream().send(checkpoint(of: 10), operations("a", 1...5))
        try await expect("5/10", of: first)
        try await first.database.close()
        let second = try ConnectedBench(folder: folder)
        _ = try await second.users()
        let flow = second.status.asFlow()
        try await second.connect()
        try await second.stream().send(checkpoint(of: count))
        var shown = "none"
        for await status in flow where status.downloading {
            shown = progress(status)
            break
        }
        #expect(progress(second.status) == shown)
        try await second.database.close()
        return shown
    }

    @Test("An interrupted download goes on when the file is opened again", .behaviour(77))
    func anInterruptedDownloadGoesOn() async throws {
        #expect(try await progress(afterInterruptionWith: 10) == "5/10")
    }

    @Test("So it does with a checkpoint that has grown", .behaviour(78))
    func aGrownCheckpointGoesOn() async throws {
        #expect(try await progress(afterInterruptionWith: 12) == "5/12")
    }

    @Test("With a bucket that has shrunk it begins anew, and never shows more than there is", .behaviour(79))
    func aShrunkBucketBeginsAnew() async throws {
        #expect(try await progress(afterInterruptionWith: 4) == "0/4")
    }

    @Test("Progress until a priority counts its buckets alone, through two checkpoints", .behaviour(80))
    func progressUntilAPriority() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        func urgent() -> String { progress(bench.status, until: 0) }
        func checkpoint(_ lastOp: Int, _ a: Int, _ b: Int) -> String {
            SyncLines.checkpoint(
                lastOp, [.init("a", priority: 0, count: a), .init("b", priority: 2, count: b)])
        }
        stream.send(checkpoint(10, 5, 5))
        try await expect("0/10", of: bench)
        #expect(urgent() == "0/5")
        stream.send(operations("a", 1...5))
        try await expect("5/10", of: bench)
        #expect(urgent() == "5/5")
        stream.send(SyncLines.partial(0, 10))
        try await bench.database.waitForFirstSync(priority: 0)
        #expect(progress(bench.status) == "5/10")
        #expect(urgent() == "5/5")
        stream.send(operations("b", 6...7))
        try await expect("7/10", of: bench)
        #expect(urgent() == "5/5")
        stream.send(checkpoint(20, 8, 6))
        try await expect("7/14", of: bench)
        #expect(urgent() == "5/8")
        stream.send(operations("a", 11...13))
        try await expect("10/14", of: bench)
        #expect(urgent() == "8/8")
        stream.send(operations("b", 14...17))
        try await expect("14/14", of: bench)
        #expect(urgent() == "8/8")
        stream.send(SyncLines.complete(20))
        try await expect("none", of: bench)
        #expect(bench.status.downloadProgress == nil && bench.status.hasSynced == true)
        try await bench.database.close()
    }
}
