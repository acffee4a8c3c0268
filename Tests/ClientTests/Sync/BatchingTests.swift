import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncSQLite

/// When lines that wait are stored while a stream is open, and how many at once (SPEC.md, "Batches").
@Suite(.patient()) struct BatchingTests {
    private let checkpoint = SyncLines.checkpoint(3, [.init("b", checksum: 6, count: 3)])

    private func data(_ number: Int) -> String {
        SyncLines.data("b", SyncLines.put(number, "r\(number)", checksum: Int64(number)))
    }

    /// Sends chunks one after the other and waits until the client has taken them all.
    private func send(_ lines: [String], to stream: ScriptedStream) async throws {
        for line in lines { stream.send(line) }
        try await wait(for: "all to be taken") { stream.isIdle }
    }

    /// Opens a stream with a checkpoint, and lets the upload round pass that its opening starts: its end is an event
    /// like any other.
    private func begin(_ rig: SyncRig) async throws -> ScriptedStream {
        let stream = try await rig.stream(0)
        try await send([checkpoint], to: stream)
        try await rig.restThrottle()
        // What others say comes before a line: then that end has been heard.
        try await send(["{\"new\":1}"], to: stream)
        return stream
    }

    private func stored(_ rig: SyncRig) async throws -> [[SQLiteValue]] {
        try await rig.rows("SELECT op_id FROM ps_oplog ORDER BY op_id")
    }

    @Test func linesOfSeveralChunksWaitOutsideATransactionUntilTheStreamIsQuiet() async throws {
        let moment = AsyncFlag()
        try await SyncRig.run(try await SyncRig(batchPause: { try await moment.wait() })) { rig in
            let stream = try await begin(rig)
            try await send([data(1), data(2)], to: stream)
            #expect(try await stored(rig).isEmpty)
            #expect(await rig.status.downloading?.first?.downloadedOperations == 0)
            // Whoever writes meanwhile does not wait.
            try await rig.pool.write { try $0.run("INSERT INTO ps_untyped VALUES ('t', 'i', '{}')") }
            #expect(try await stored(rig).isEmpty)
            try await wait(for: "them to be stored") {
                moment.raise()
                return try await stored(rig) == [[1], [2]]
            }
            try await wait(for: "them to be told") {
                await rig.status.downloading?.first?.downloadedOperations == 2
            }
        }
    }

    @Test func linesOfAStreamThatGoesOnAreStoredAfterTheirTime() async throws {
        let moment = AsyncFlag()
        try await SyncRig.run(try await SyncRig(batchPause: { try await moment.wait() })) { rig in
            let stream = try await begin(rig)
            try await send([data(1)], to: stream)
            // The longest that any line waits, whatever storing cost before.
            rig.clock.advance(by: .seconds(2))
            try await send([data(2)], to: stream)
            moment.raise()
            try await wait(for: "both to be stored") { try await stored(rig) == [[1], [2]] }
        }
    }

    @Test func theEndOfAStreamStoresWhatWaits() async throws {
        for isCut in [false, true] {
            let never = AsyncFlag()
            try await SyncRig.run(try await SyncRig(batchPause: { try await never.wait() })) { rig in
                let stream = try await begin(rig)
                try await send([data(1)], to: stream)
                if isCut { stream.cut() } else { stream.end() }
                try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
                #expect(try await stored(rig) == [[1]])
            }
        }
    }

    @Test func linesAreStoredAtTheLimitOfBytes() async throws {
        let never = AsyncFlag()
        let limit = data(1).utf8.count + 1
        let rig = try await SyncRig(
            options: { $0.tuning.batchBytes = limit }, batchPause: { try await never.wait() })
        try await SyncRig.run(rig) { rig in
            let stream = try await begin(rig)
            try await send([data(1)], to: stream)
            #expect(try await stored(rig).isEmpty)
            try await send([data(2)], to: stream)
            #expect(try await stored(rig) == [[1], [2]])
        }
    }

    /// The progress that was told behind the first snapshots, as often as it grew.
    private func progress(_ rig: SyncRig, behind count: Int = 0) -> [Int64] {
        var told: [Int64] = []
        for snapshot in rig.snapshots.dropFirst(count) {
            let downloaded = snapshot.downloading?.first?.downloadedOperations ?? 0
            if downloaded > told.last ?? 0 { told.append(downloaded) }
        }
        return told
    }

    /// Each of 10,000 lines told a status of its own, and all of them were kept until the commit.
    @Test func manyLinesAreToldTogether() async throws {
        let never = AsyncFlag()
        try await SyncRig.run(try await SyncRig(batchPause: { try await never.wait() })) { rig in
            let stream = try await rig.stream(0)
            let count = 10_000
            let checksum = Int64(count * (count + 1) / 2)
            stream.send(SyncLines.checkpoint(count, [.init("b", checksum: checksum, count: count)]))
            let lines = (1...count).map { data($0) }
            stream.send(lines.joined(separator: "\n"), SyncLines.complete(count))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(progress(rig) == [Int64(count)])
            // Connecting, connected, the checkpoint, its progress, its end, and what uploading tells.
            #expect(rig.snapshots.count < 10)
        }
    }

    @Test func batchesAreShortWhileTheAppWritesAndLongAgainAfterAWhile() async throws {
        let never = AsyncFlag()
        // All lines are of one size; one of them is enough at first.
        let size = data(1).utf8.count
        let rig = try await SyncRig(
            options: { $0.tuning.firstBytes = size }, batchPause: { try await never.wait() })
        try await SyncRig.run(rig) { rig in
            let stream = try await begin(rig)
            try await rig.pool.write(isCounted: true) {
                try $0.run("INSERT INTO ps_untyped VALUES ('t', 'i', '{}')")
            }
            stream.send(data(1), data(2), data(3), SyncLines.complete(3))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            // The first batch took no time, so that the second may be twice as long.
            #expect(progress(rig) == [1, 3])

            let before = rig.snapshots.count
            rig.clock.advance(by: .seconds(2))
            stream.send(
                SyncLines.diff(7, updated: [.init("b", checksum: 28, count: 7)]), data(4), data(5), data(6),
                data(7), SyncLines.complete(7))
            try await wait(for: "the next complete checkpoint") {
                rig.log.count { $0.contains("applied checkpoint") } == 2
            }
            #expect(progress(rig, behind: before) == [4])
        }
    }

    @Test func anAppThatWritesComesBetweenTwoBatches() async throws {
        let never = AsyncFlag()
        let size = data(1).utf8.count
        let rig = try await SyncRig(
            options: {
                $0.tuning.batchBytes = 2 * size
                $0.tuning.firstBytes = size
            }, batchPause: { try await never.wait() })
        try await SyncRig.run(rig) { rig in
            let stream = try await begin(rig)
            let release = BlockingGate()
            let pool = rig.pool
            async let holder: Void = pool.write(isCounted: true) { _ in release.wait() }
            defer { release.open() }
            try await wait(for: "the writer to be held") { release.arrivals == 1 }
            stream.send(data(1), data(2), data(3), SyncLines.complete(3))
            try await wait(for: "a batch to wait for the writer") { pool.waitingWrites == 1 }
            let seen = Task {
                try await pool.write(isCounted: true) { connection in
                    try connection.query("SELECT op_id FROM ps_oplog ORDER BY op_id") { $0.int64(0) }
                }
            }
            try await wait(for: "the app to wait for the writer") { pool.waitingWrites == 2 }
            release.open()
            try await holder
            // Not behind all lines that had been read.
            #expect(try await seen.value == [1])
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
        }
    }

    @Test func storingWaitsForALongLogToBeCopiedWhileTheAppWrites() async throws {
        let (folder, never, gate) = (try TemporaryDirectory(), AsyncFlag(), BlockingGate())
        defer { gate.open() }
        let checkpointer = WALCheckpointer(
            limits: WALCheckpointer.Limits(pages: 10, longLog: 1_000), beforeEach: { gate.wait() },
            onFailure: { _ in })
        let rig = try await SyncRig(
            options: { $0.tuning.batchBytes = 1 }, path: folder.file(), checkpointer: checkpointer,
            batchPause: { try await never.wait() })
        try await SyncRig.run(rig) { rig in
            let stream = try await begin(rig)
            #expect(!checkpointer.isLong)
            let text = String(repeating: "x", count: 6 << 20)
            stream.send(
                SyncLines.data("b", SyncLines.put(1, "r1", checksum: 1, data: "{\"col\":\"\(text)\"}")))
            try await wait(for: "a long line to be stored") { try await stored(rig) == [[1]] }
            #expect(checkpointer.isLong)
            stream.send(data(2))
            try await wait(for: "storing to wait") { checkpointer.waiting == 1 }
            try await rig.pool.write(isCounted: true) {
                try $0.run("INSERT INTO ps_untyped VALUES ('t', 'i', '{}')")
            }
            #expect(try await stored(rig) == [[1]])
            gate.open()
            try await wait(for: "the next line to be stored") { try await stored(rig) == [[1], [2]] }
            #expect(!checkpointer.isLong, "the log has begun anew")
        }
    }

    /// Else the first local write behind a large sync waits for that.
    @Test func theLogThatACheckpointMadeLongIsCutBehindIt() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file()
        let checkpointer = WALCheckpointer(
            limits: WALCheckpointer.Limits(pages: 10, longLog: 100_000, cut: 1_000), onFailure: { _ in })
        let rig = try await SyncRig(path: path, checkpointer: checkpointer)
        func log() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        }
        try await SyncRig.run(rig) { rig in
            let stream = try await begin(rig)
            let text = String(repeating: "x", count: 6 << 20)
            stream.send(
                SyncLines.data("b", SyncLines.put(1, "r1", checksum: 1, data: "{\"col\":\"\(text)\"}")))
            try await wait(for: "a long line to be stored") { try await stored(rig) == [[1]] }
            #expect(try log() ?? 0 > 6 << 20)
            stream.send(data(2), data(3), SyncLines.complete(3))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            try await wait(for: "the log to be cut") { try log() == 0 }
            #expect(try await rig.items() == ["r1", "r2", "r3"])
        }
    }

    @Test func linesThatWaitWhenTheClientStopsAreAskedForAgain() async throws {
        let never = AsyncFlag()
        let rig = try await SyncRig(batchPause: { try await never.wait() })
        try await SyncRig.run(rig) { rig in
            let stream = try await begin(rig)
            try await send([data(1)], to: stream)
        }
        #expect(try await stored(rig).isEmpty)
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(1)
            #expect(try rig.transport.body(1)["buckets"]?.text == "[]")
            stream.send(checkpoint, data(1), data(2), data(3), SyncLines.complete(3))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(try await rig.items() == ["r1", "r2", "r3"])
        }
    }
}
