import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// How far a queue says that it is.
@Suite(.patient())
struct AttachmentProgressTests {
    @Test func filesAndBytesAreCounted() async throws {
        let bench = try AttachmentBench()
        let gate = bench.storage.hold(.upload("p1"))
        try await bench.queue.startSync()
        try await bench.save([UInt8](repeating: 1, count: 100), user: "u1", id: "p1")
        try await bench.save([UInt8](repeating: 2, count: 20), user: "u2", id: "p2")
        bench.storage.put("d1", [1, 2, 3])
        try await bench.addUser("u3", photo: "d1")
        let seen = try await wait(
            for: "both uploads to be counted", read: { bench.queue.status },
            until: { $0.uploads.waitingFiles == 2 && $0.downloads.doneFiles == 1 && gate.arrivals == 1 })
        #expect(seen.uploads.waitingBytes == 120 && seen.uploads.doneFiles == 0)
        #expect(seen.downloads.doneBytes == 3)
        #expect(
            seen.transfers == [
                AttachmentSyncStatus.Transfer(
                    id: "p1", kind: .upload, bytes: AttachmentBytes(done: 0, total: 100))
            ])
        gate.open()
        let done = try await wait(
            for: "the uploads", read: { bench.queue.status },
            until: { $0.uploads.doneFiles == 2 && $0.uploads.waitingFiles == 0 })
        #expect(done.uploads.doneBytes == 120 && done.uploads.waitingBytes == 0)
        #expect(done.transfers == [] && done.errors == [:])
        // What comes after a rest is counted anew.
        try await bench.save([1], user: "u4", id: "p3")
        let later = try await wait(
            for: "the third upload", read: { bench.queue.status },
            until: { $0.uploads.doneFiles == 1 && $0.uploads.waitingFiles == 0 })
        #expect(later.uploads.doneBytes == 1)
        try await bench.close()
    }

    @Test func updatesAreNoMoreThanTenASecondAndEndWithTheQueue() async throws {
        let clock = SteppedClock()
        let progress = AttachmentProgress(clock.environment)
        let seen = Lock<[AttachmentSyncStatus]>([])
        let following = Task {
            for await status in progress.updates() { seen.withLock { $0.append(status) } }
        }
        try await wait(for: "the status as it is") { seen.withLock { $0.count } == 1 }
        let row = Attachment(id: "p1", filename: "p1.jpg", state: .queuedUpload, size: 9)
        progress.began(row, .upload)
        try await wait(for: "the rest of the interval") { clock.waiting == [AttachmentProgress.interval] }
        for done in 1...9 { progress.moved("p1", AttachmentBytes(done: Int64(done), total: 9)) }
        #expect(seen.withLock { $0.count } == 1)
        clock.advance(by: AttachmentProgress.interval)
        try await wait(for: "the newest") { seen.withLock { $0.count } == 2 }
        #expect(seen.withLock { $0.last?.transfers.first?.bytes } == AttachmentBytes(done: 9, total: 9))
        progress.ended("p1", .upload, done: 9)
        try await wait(for: "the rest of the interval") { clock.waiting == [AttachmentProgress.interval] }
        clock.advance(by: AttachmentProgress.interval)
        try await wait(for: "the end of the transfer") { seen.withLock { $0.last?.uploads.doneFiles } == 1 }
        progress.close()
        await following.value
        #expect(seen.withLock { $0.count } == 3)
        // Who comes later gets the last one.
        var late: [AttachmentSyncStatus] = []
        for await status in progress.updates() { late.append(status) }
        #expect(late.map(\.uploads.doneFiles) == [1])
    }

    @Test func whoFollowsCanBeCancelled() async throws {
        let progress = AttachmentProgress(SteppedClock().environment)
        let count = Lock(0)
        let following = Task { for await _ in progress.updates() { count.withLock { $0 += 1 } } }
        try await wait(for: "the status as it is") { count.withLock { $0 } == 1 }
        following.cancel()
        await following.value
        #expect(count.withLock { $0 } == 1)
    }

    @Test func errorsAreThoseSinceTheLastPassAndAThousandAtMost() {
        let progress = AttachmentProgress(.system())
        #expect(progress.failed("u", .upload, "first"))
        #expect(!progress.failed("u2", .upload, "second"))
        #expect(progress.failed("d", .download, "other lane"))
        #expect(progress.status.errors == ["u": "first", "u2": "second", "d": "other lane"])
        progress.restarted(.upload)
        #expect(progress.status.errors == ["d": "other lane"])
        progress.ended("d", .download, done: 1)
        #expect(progress.status.errors == [:])
        for number in 0..<1500 { _ = progress.failed("u\(number)", .upload, "no") }
        #expect(progress.status.errors.count == 1000)
        _ = progress.failed("u0", .upload, "newer")
        #expect(progress.status.errors["u0"] == "newer")
    }

    /// The number of what waits is counted now and then, and what is done is known at once.
    @Test func whatIsDoneWaitsNoLonger() {
        let progress = AttachmentProgress(.system())
        let state = AttachmentState.queuedUpload
        progress.count([WaitingFiles(state: state.rawValue, files: 2, bytes: 12)])
        for (id, size) in [("p1", Int64(9)), ("p2", 3)] {
            progress.began(Attachment(id: id, filename: id, state: state, size: size), .upload)
        }
        progress.ended("p1", .upload, done: 9, of: 9)
        #expect(progress.status.uploads.waitingFiles == 1 && progress.status.uploads.waitingBytes == 3)
        #expect(progress.status.uploads.doneFiles == 1 && progress.status.uploads.doneBytes == 9)
        progress.ended("p2", .upload, done: 3, of: 3, isLast: true)
        #expect(progress.status.uploads.waitingFiles == 0 && progress.status.uploads.doneFiles == 2)
        // The lane had a rest.
        progress.began(Attachment(id: "p3", filename: "p3", state: state), .upload)
        #expect(progress.status.uploads.doneFiles == 0)
    }

    @Test func whatARunBringsThatIsOverIsNotShown() {
        let progress = AttachmentProgress(.system())
        let row = Attachment(id: "p1", filename: "p1", state: .queuedUpload, size: 9)
        progress.began(row, .upload, unless: { true })
        #expect(progress.status.transfers == [])
        progress.began(row, .upload)
        progress.moved("p1", AttachmentBytes(done: 5, total: 9), unless: { true })
        #expect(!progress.failed("p1", .upload, "no", unless: { true }))
        progress.ended("p1", .upload, done: 9, unless: { true })
        #expect(
            progress.status.transfers == [
                AttachmentSyncStatus.Transfer(
                    id: "p1", kind: .upload, bytes: AttachmentBytes(done: 0, total: 9))
            ])
        #expect(progress.status.errors == [:] && progress.status.uploads.doneFiles == 0)
    }

    @Test func bytesOfAStreamAreTold() async throws {
        final class Streaming: AttachmentTransportAdapter {
            let gate = Gate()

            func upload(
                attachment: Attachment, localUri: String,
                progress: @escaping @Sendable (AttachmentBytes) -> Void
            ) async throws {
                progress(AttachmentBytes(done: 2, total: 3))
                await gate.pass()
            }
            func download(
                attachment: Attachment, localUri: String,
                progress: @escaping @Sendable (AttachmentBytes) -> Void
            ) async throws {}
            func delete(attachment: Attachment) async throws {}
        }
        let bench = try AttachmentBench()
        let storage = Streaming()
        let queue = AttachmentBench.queue(.init(), of: bench.database, in: bench.folder, storage)
        try await queue.startSync()
        try await bench.save(id: "p1")
        let status = try await wait(
            for: "the bytes", read: { queue.status }, until: { $0.transfers.first?.bytes.done == 2 })
        #expect(
            status.transfers == [
                AttachmentSyncStatus.Transfer(
                    id: "p1", kind: .upload, bytes: AttachmentBytes(done: 2, total: 3))
            ])
        storage.gate.open()
        try await bench.wait(for: "p1", toBe: .synced)
        try await queue.close()
        try await bench.close()
    }

    /// With ten thousand files to go no more rows are held than with ten, and the status says how many there are.
    @Test func tenThousandFilesThatWaitAreHeldAPageAtATime() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.processWatchedAttachments(
            items: (0..<10_000).map { WatchedAttachmentItem(id: "d\($0)", fileExtension: "jpg") })
        let gate = bench.storage.hold(.download("d0"))
        try await bench.queue.startSync()
        try await wait(for: "the first download") { gate.arrivals == 1 }
        try await wait(for: "the number of files") { bench.queue.status.downloads.waitingFiles == 10_000 }
        let held = await bench.queue.syncingService.heldRows
        #expect((1...TransferPlan.pageSize).contains(held))
        try await bench.queue.clearQueue()
        gate.open()
        try await wait(for: "the end of all") { bench.queue.status.downloads.waitingFiles == 0 }
        try await bench.close()
        #expect(bench.storage.calls == [.download("d0")])
    }

    /// Whether files are done or only bytes of one: each second there is a state that says how far all of them are.
    @Test func eachSecondAStateIsToldWhileTenThousandFilesWait() async throws {
        let (count, size) = (10_000, 3)
        let clock = SteppedClock()
        let bench = try AttachmentBench(environment: clock.environment)
        let storage = SlowStorage()
        let queue = AttachmentBench.queue(
            .init(watch: { AttachmentBench.watchingNothing() }), of: bench.database, in: bench.folder,
            storage)
        let rows = (0..<count).map { number in
            Attachment(
                id: "p\(number)", filename: "p\(number).jpg", state: .queuedUpload,
                localUri: bench.path("p\(number).jpg"), size: Int64(size))
        }
        for row in rows { try bench.write([1, 2, 3], to: row.filename) }
        try await queue.withAttachmentContext { try await $0.saveAttachments(attachments: rows) }
        let told = Lock<AttachmentSyncStatus?>(nil)
        let following = Task { for await status in queue.statusUpdates() { told.withLock { $0 = status } } }
        try await queue.startSync()
        // Each second one byte more has gone.
        for bytes in 0...7 {
            let (files, rest) = (bytes / size, bytes % size)
            var expected = AttachmentSyncStatus()
            expected.uploads = AttachmentSyncStatus.Lane(
                waitingFiles: count - files, waitingBytes: Int64((count - files) * size), doneFiles: files,
                doneBytes: Int64(files * size))
            expected.transfers = [
                AttachmentSyncStatus.Transfer(
                    id: "p\(files)", kind: .upload,
                    bytes: AttachmentBytes(done: Int64(rest), total: Int64(size)))
            ]
            try await wait(
                for: "\(bytes) bytes to be gone", read: { queue.status }, until: { $0 == expected })
            // Until whoever tells of it waits for the rest of the interval, the clock stands still.
            try await wait(for: "it to be told, or to wait for that") {
                told.withLock { $0 } == expected || clock.waiting.contains(AttachmentProgress.interval)
            }
            clock.advance(by: .seconds(1))
            try await wait(
                for: "\(bytes) bytes to be told", read: { told.withLock { $0 } }, until: { $0 == expected })
            storage.takeByte()
        }
        following.cancel()
        await following.value
        try await queue.close()
        try await bench.close()
    }
}

/// A storage that takes byte after byte, each when the test says so.
private final class SlowStorage: AttachmentTransportAdapter {
    private let allowed = AsyncValue(0)
    private let begun = Lock(0)

    /// Has one byte more taken.
    func takeByte() { allowed.change { $0 += 1 } }

    func upload(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws {
        let size = attachment.size ?? 0
        var done: Int64 = 0
        while done < size {
            let number = begun.withLock { begun in
                begun += 1
                return begun
            }
            _ = try await allowed.wait { $0 >= number }
            done += 1
            progress(AttachmentBytes(done: done, total: size))
        }
    }

    func download(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws {}

    func delete(attachment: Attachment) async throws {}
}
