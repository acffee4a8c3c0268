import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Transfers that fail, wait, or come in another order.
@Suite(.patient())
struct AttachmentFailureTests {
    private static let unknown = AttachmentStorageError(.unknown, "no such file", status: 404)

    /// Puts one file in each lane: u1 to be uploaded, d1 to be downloaded, x1 to be deleted.
    private func fill(_ bench: AttachmentBench) async throws {
        bench.storage.put("d1", [1])
        bench.storage.put("x1", [2])
        try await bench.queue.waitForInit()
        try bench.write([3], to: "u1.jpg")
        try await bench.put(
            Attachment(
                id: "u1", filename: "u1.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("u1.jpg"), size: 1))
        try await bench.put(Attachment(id: "d1", filename: "d1.jpg", state: .queuedDownload))
        try await bench.put(Attachment(id: "x1", filename: "x1.jpg", state: .queuedDelete))
        for id in ["u1", "d1", "x1"] { try await bench.addUser(id, photo: id) }
        try await bench.upload()
    }

    private static let calls: [ScriptedStorage.Call] = [.upload("u1"), .download("d1"), .delete("x1")]

    private func states(_ bench: AttachmentBench) async throws -> [String: AttachmentState] {
        Dictionary(uniqueKeysWithValues: try await bench.rows().map { ($0.id, $0.state) })
    }

    // MARK: Who decides

    @Test(arguments: [nil, true] as [Bool?])
    func whatFailsIsTriedAgainWithTheNextPass(_ answer: Bool?) async throws {
        let handler = answer.map { ScriptedHandler(triesAgain: $0) }
        let bench = try AttachmentBench(.init(handler: handler, watch: { AttachmentBench.watchingNothing() }))
        try await fill(bench)
        for call in Self.calls { bench.storage.fail(call, with: TestError(text: "no network")) }
        let before = try await bench.rows()
        try await bench.queue.startSync()
        try await wait(for: "the errors to show") { bench.queue.status.errors.count == 3 }
        #expect(bench.queue.status.errors["d1"] == "TestError(text: \"no network\")")
        // Not even their times have changed.
        #expect(try await bench.rows().map(\.timestamp) == before.map(\.timestamp))
        #expect(Set(handler?.asked ?? Self.calls) == Set(Self.calls))
        try await bench.queue.syncStorage()
        #expect(try await states(bench) == ["u1": .synced, "d1": .synced])
        for call in Self.calls { #expect(bench.storage.count(call) == 2, "\(call)") }
        try await wait(for: "the errors to go") { bench.queue.status.errors.isEmpty }
        #expect((handler?.asked.count ?? 3) == 3)
        try await bench.close()
    }

    @Test func whatIsGivenUpIsArchivedAndALostUploadIsWarnedOf() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(
            .init(handler: handler, watch: { AttachmentBench.watchingNothing() }))
        try await fill(bench)
        bench.storage.failEach { _ in TestError(text: "no") }
        try await bench.queue.startSync()
        for id in ["u1", "d1", "x1"] { try await bench.wait(for: id, toBe: .archived) }
        #expect(Set(handler.asked) == Set(Self.calls))
        try await wait(for: "the warning") {
            bench.log.warnings(containing: "gave the upload of attachment u1 up") == 1
        }
        #expect(bench.bytes("u1.jpg") == [3], "it stays in the cache")
        try await bench.queue.syncStorage()
        #expect(bench.storage.calls.count == 3)
        try await bench.close()
    }

    @Test func theHandlerOfTheSDKGivesEverythingUp() async {
        let handler = DefaultSyncErrorHandler()
        let row = Attachment(id: "a", filename: "a.jpg", state: .queuedUpload)
        let error = TestError(text: "no")
        #expect(await !handler.onUploadError(attachment: row, error: error))
        #expect(await !handler.onDownloadError(attachment: row, error: error))
        #expect(await !handler.onDeleteError(attachment: row, error: error))
    }

    @Test func theHandlerIsAskedAboutTheRowAsItWas() async throws {
        final class Handler: SyncErrorHandler {
            let asked = Lock<[Attachment]>([])

            func onDownloadError(attachment: Attachment, error: any Error) async -> Bool { true }
            func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { true }
            func onUploadError(attachment: Attachment, error: any Error) async -> Bool {
                asked.withLock { $0.append(attachment) }
                return true
            }
        }
        let handler = Handler()
        let bench = try AttachmentBench(.init(handler: handler))
        bench.storage.fail(.upload("p1"), with: TestError(text: "no"))
        let saved = try await bench.save(id: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the handler") { handler.asked.withLock { $0.count } == 1 }
        let asked = try #require(handler.asked.withLock { $0.first })
        #expect(asked.state == .queuedUpload && asked.timestamp == saved.timestamp && asked.id == "p1")
        try await bench.close()
    }

    // MARK: What passes by itself

    @Test func whatTheBackendDoesNotKnowYetWaitsForTheUploadQueue() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(
            .init(handler: handler, watch: { AttachmentBench.watchingNothing() }))
        try await fill(bench)
        // Something waits to be uploaded: the backend may not know the rows that refer to these.
        try await bench.addUser("u9", photo: nil)
        for call in Self.calls { bench.storage.fail(call, with: Self.unknown) }
        try await bench.queue.startSync()
        try await wait(for: "the tries") { bench.storage.calls.count == 3 }
        // Other writes do not count.
        try await bench.addUser("u10", photo: nil)
        #expect(bench.storage.calls.count == 3)
        try await bench.upload()
        try await wait(for: "the second tries") {
            try await states(bench) == ["u1": .synced, "d1": .synced]
        }
        for call in Self.calls { #expect(bench.storage.count(call) == 2, "\(call)") }
        #expect(handler.asked == [])
        try await bench.close()
    }

    @Test func withAnEmptyUploadQueueTheAnswerCounts() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(
            .init(handler: handler, watch: { AttachmentBench.watchingNothing() }))
        try await fill(bench)
        bench.storage.failEach { _ in Self.unknown }
        try await bench.queue.startSync()
        try await wait(for: "the end of all") {
            // What nobody knows any more is deleted.
            try await states(bench) == ["u1": .archived, "d1": .archived]
        }
        #expect(Set(handler.asked) == [.upload("u1"), .download("d1")])
        try await bench.close()
    }

    /// The queue was not empty when the request was made, and is when its answer comes.
    @Test func anAnswerOfBeforeTheUploadDoesNotCount() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(.init(handler: handler))
        bench.storage.fail(.upload("p1"), with: Self.unknown)
        let gate = bench.storage.hold(.upload("p1"))
        try await bench.save(id: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the upload") { gate.arrivals == 1 }
        try await bench.upload()
        gate.open()
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(handler.asked == [] && bench.storage.count(.upload("p1")) == 2)
        try await bench.close()
    }

    @Test func whatIsTooEarlyIsTriedAgainWithoutTheHandler() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(
            .init(handler: handler, watch: { AttachmentBench.watchingNothing() }))
        try await fill(bench)
        bench.storage.fail(
            .download("d1"), with: AttachmentStorageError(.notUploaded, "not there yet", status: 404))
        bench.storage.fail(
            .delete("x1"), with: AttachmentStorageError(.stillReferenced, "still needed", status: 409))
        try await bench.queue.startSync()
        try await wait(for: "the tries") { bench.storage.calls.count == 3 }
        try await wait(for: "the errors to show") { bench.queue.status.errors.count == 2 }
        try await bench.queue.syncStorage()
        #expect(try await states(bench) == ["u1": .synced, "d1": .synced])
        #expect(handler.asked == [])
        try await bench.close()
    }

    @Test(arguments: [
        PowerSyncAttachmentError.notFound("x1") as any Error,
        PowerSyncAttachmentError.fileNotFound("x1"), AttachmentStorageError(.gone, "gone", status: 410),
    ])
    func whatIsNotThereIsDeleted(_ error: any Error) async throws {
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(.init(handler: handler))
        try bench.write([1], to: "x1.jpg")
        try await bench.put(
            Attachment(
                id: "x1", filename: "x1.jpg", state: .queuedDelete, hasSynced: false,
                localUri: bench.path("x1.jpg")))
        bench.storage.fail(.delete("x1"), with: error)
        try await bench.queue.startSync()
        try await bench.wait(forEndOf: "x1")
        #expect(bench.bytes("x1.jpg") == nil && handler.asked == [])
        try await bench.close()
    }

    // MARK: Files that are not there

    @Test func anUploadWithoutItsFileIsArchivedWhereNobodyDecides() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.startSync()
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        // Gone between two passes, and saved under another path of old.
        try await bench.put(
            Attachment(
                id: "lost", filename: "lost.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("lost.jpg")))
        let lost = try await bench.wait(for: "lost", toBe: .archived)
        #expect(lost.localUri == nil)
        try bench.write([4], to: "moved.jpg")
        try await bench.put(
            Attachment(
                id: "moved", filename: "moved.jpg", state: .queuedUpload, hasSynced: false,
                localUri: "/Containers/of-yesterday/moved.jpg"))
        try await wait(for: "the path to be repaired") {
            try await bench.row("moved")?.localUri == bench.path("moved.jpg")
        }
        try await bench.queue.syncStorage()
        #expect(bench.storage.files["moved"] == [4])
        #expect(bench.storage.calls == [.upload("p1"), .upload("moved")])
        try await bench.close()
    }

    @Test func anUploadWithoutItsFileIsForTheHandlerWhereThereIsOne() async throws {
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(.init(handler: handler))
        try await bench.queue.startSync()
        try await bench.put(
            Attachment(
                id: "lost", filename: "lost.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("lost.jpg")))
        try await wait(for: "the handler") { handler.asked == [.upload("lost")] }
        #expect(handler.errors.first?.contains("lost.jpg") == true)
        #expect(try await bench.row("lost")?.state == .queuedUpload)
        #expect(bench.storage.calls == [])
        try await bench.close()
    }

    @Test func aFileThatCannotBeWrittenIsForTheHandler() async throws {
        final class FullDisk: LocalStorageAdapter {
            func saveFile(filePath: String, data: Data) async throws -> Int64 {
                throw PowerSyncAttachmentError.ioError(TestError(text: "no space left"))
            }
            func readFile(filePath: String, mediaType: String?) async throws -> Data { Data() }
            func deleteFile(filePath: String) async throws {}
            func fileExists(filePath: String) async throws -> Bool { false }
            func makeDir(path: String) async throws {}
            func rmDir(path: String) async throws {}
            func copyFile(sourcePath: String, targetPath: String) async throws {}
        }
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(.init(handler: handler, local: FullDisk()))
        bench.storage.put("p1", [1])
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the handler") { handler.asked == [.download("p1")] }
        #expect(handler.errors.first?.contains("no space left") == true)
        #expect(try await bench.row("p1")?.state == .queuedDownload)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save(user: "u2", id: "p2") }
        #expect(try await bench.row("p2") == nil)
        // It cannot move files either.
        let error = await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.queue.saveFileFromUri(
                localUri: "/a", mediaType: "audio/mp4", fileExtension: "m4a"
            ) { _, _ in }
        }
        #expect(error?.description.contains("moveFile") == true)
        try await bench.close()
    }

    // MARK: Order and number

    @Test(arguments: [1, 3]) func eachLaneTakesItsFilesInOrderAndAsManyAsItMay(_ most: Int) async throws {
        let bench = try AttachmentBench(
            .init(mostAtOnce: most, watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        let ids = (1...7).map { "\($0)" }
        for id in ids {
            try bench.write([1], to: "u\(id).jpg")
            try await bench.put(
                Attachment(
                    id: "u\(id)", filename: "u\(id).jpg", state: .queuedUpload, hasSynced: false,
                    localUri: bench.path("u\(id).jpg")))
            bench.storage.put("d\(id)", [1])
            try await bench.put(Attachment(id: "d\(id)", filename: "d\(id).jpg", state: .queuedDownload))
            try await bench.put(Attachment(id: "x\(id)", filename: "x\(id).jpg", state: .queuedDelete))
        }
        let lanes: [[ScriptedStorage.Call]] = [
            ids.map { .upload("u\($0)") }, ids.map { .download("d\($0)") }, ids.map { .delete("x\($0)") },
        ]
        let gates = lanes.joined().map { bench.storage.hold($0) }
        try await bench.queue.startSync()
        // As many of each lane as may, and no more, while all of them hang.
        try await wait(for: "all that may begin") { bench.storage.calls.count == 3 * most }
        for lane in lanes { #expect(Set(bench.storage.calls).isSuperset(of: lane.prefix(most))) }
        for gate in gates { gate.open() }
        try await bench.queue.syncStorage()
        #expect(bench.storage.calls.count == 21)
        for lane in lanes {
            let calls = bench.storage.calls.filter { $0.kind == lane[0].kind }
            #expect(Set(calls) == Set(lane))
            if most == 1 { #expect(calls == lane) }
            #expect(bench.storage.mostRunning(lane[0].kind) == most)
        }
        try await bench.close()
    }

    @Test func passesComeWithTheConnection() async throws {
        let folder = try TemporaryDirectory()
        let connected = try ConnectedBench(folder: folder, schema: AttachmentBench.schema)
        let storage = ScriptedStorage()
        storage.put("p1", [1])
        storage.fail(.download("p1"), with: TestError(text: "no network"))
        let queue = AttachmentBench.queue(
            .init(), of: connected.database, in: folder, storage)
        try await connected.database.execute(
            "INSERT INTO users (id, name, photo_id) VALUES ('u1', 'A', 'p1')")
        try await queue.startSync()
        try await wait(for: "the first try") { queue.status.errors.count == 1 }
        try await connected.connect()
        _ = try await connected.stream()
        try await wait(for: "the second try") { storage.calls == [.download("p1"), .download("p1")] }
        try await queue.close()
        try await connected.database.close()
    }

    @Test func passesComeWithTheIntervalAndNotMoreOftenThanTheThrottleLets() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(.init(interval: 30, throttle: 5), environment: clock.environment)
        bench.storage.failEach { _ in TestError(text: "no network") }
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the first try") { bench.queue.status.errors.count == 1 }
        try await wait(for: "the interval") { clock.waiting.contains(.seconds(30)) }
        // Asked for at once, and again: it comes at the end of the throttle.
        for _ in 0..<3 { try await bench.queue.syncingService.triggerSync() }
        try await wait(for: "the throttle") { clock.waiting.contains(.seconds(5)) }
        #expect(bench.storage.calls.count == 1)
        clock.advance(by: .seconds(5))
        try await wait(for: "the second try") { bench.storage.calls.count == 2 }
        try await wait(for: "the rest of the interval") { clock.waiting.contains(.seconds(25)) }
        clock.advance(by: .seconds(25))
        try await wait(for: "the third try") { bench.storage.calls.count == 3 }
        try await bench.close()
    }

    @Test func withoutAnIntervalNothingComesByItself() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(.init(interval: 0), environment: clock.environment)
        bench.storage.failEach { _ in TestError(text: "no network") }
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the first try") { bench.queue.status.errors.count == 1 }
        // Of the number of what waits alone.
        try await wait(for: "nothing else to be waited for") {
            clock.waiting.allSatisfy { $0 <= AttachmentProgress.countInterval }
        }
        clock.advance(by: .seconds(3600))
        try await bench.queue.syncStorage()
        #expect(bench.storage.calls.count == 2)
        try await bench.close()
    }

    // MARK: What the log and the status say

    @Test func theLogHasNoBytesOfFiles() async throws {
        let bench = try AttachmentBench()
        bench.storage.failEach { _ in TestError(text: "no network") }
        try await bench.save(Array("very private".utf8), id: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the failure") {
            bench.log.warnings(containing: "Uploading a file failed (attachment p1)") == 1
        }
        try await bench.queue.syncStorage()
        try await bench.close()
        #expect(!bench.log.has("very private"))
    }
}
