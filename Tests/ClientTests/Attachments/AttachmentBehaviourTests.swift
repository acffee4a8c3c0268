import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 N, against a storage in memory and files on disk.
@Suite(.patient())
struct AttachmentBehaviourTests {
    @Test(.behaviour(184)) func aRowThatRefersToAnUnknownIdHasItsFileDownloaded() async throws {
        let bench = try AttachmentBench()
        bench.storage.put("p1", [1, 2, 3])
        try await bench.queue.startSync()
        try await bench.addUser(photo: "p1")
        let row = try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.bytes("p1.jpg") == [1, 2, 3])
        #expect(row.size == 3 && row.hasSynced == true && row.localUri == bench.path("p1.jpg"))
        #expect(bench.storage.calls == [.download("p1")])
        try await bench.close()
    }

    @Test(.behaviour(185)) func aSavedFileIsUploadedWithWhatTheAppWrites() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.startSync()
        let saved = try await bench.queue.saveFile(
            data: Data([3, 4, 5]), mediaType: "image/jpeg", fileExtension: "jpg"
        ) { connection, attachment in
            try connection.execute(
                sql: "INSERT INTO users (id, name, photo_id) VALUES (uuid(), 'A', ?)",
                parameters: [attachment.id])
        }
        #expect(saved.state == .queuedUpload && saved.size == 3)
        let photos = try await bench.database.getAll("SELECT photo_id FROM users") {
            try $0.getString(index: 0)
        }
        #expect(photos == [saved.id])
        try await bench.wait(for: saved.id, toBe: .synced)
        #expect(bench.storage.calls == [.upload(saved.id)])
        #expect(bench.storage.files == [saved.id: [3, 4, 5]])
        try await bench.close()
    }

    @Test("R23 A path that is not right any more is repaired, and nothing is transferred", .behaviour(186))
    func aBrokenPathIsRepaired() async throws {
        let folder = try TemporaryDirectory()
        let first = try AttachmentBench(folder: folder)
        try await first.queue.waitForInit()
        try first.write([1, 2, 3], to: "p1.jpg")
        try await first.put(
            Attachment(
                id: "p1", filename: "p1.jpg", state: .synced, hasSynced: true,
                localUri: "/Containers/of-yesterday/p1.jpg", size: 3))
        try await first.close()
        let bench = try AttachmentBench(folder: folder)
        try await bench.queue.waitForInit()
        let repaired = try #require(try await bench.row("p1"))
        #expect(repaired.localUri == bench.path("p1.jpg") && repaired.state == .synced)
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await bench.queue.syncStorage()
        #expect(bench.storage.calls == [])
        try await bench.close()
    }

    @Test("R23 A download that fails each time is not tried each second")
    func aDownloadThatFailsIsNotTriedEachSecond() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(.init(interval: 30), environment: clock.environment)
        bench.storage.failEach { _ in AttachmentStorageError(.refused, "no such file", status: 404) }
        // As after a relaunch: the path is of another time, and the file is gone.
        try await bench.put(
            Attachment(
                id: "p1", filename: "p1.jpg", state: .synced, hasSynced: true,
                localUri: "/Containers/of-yesterday/p1.jpg", size: 3))
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the first try") { bench.storage.calls.count == 1 }
        try await wait(for: "the error to show") { !bench.queue.status.errors.isEmpty }
        try await wait(for: "the interval") { clock.waiting.contains(.seconds(30)) }
        for second in 1...29 {
            clock.advance(by: .seconds(1))
            // A change of the table is no reason to try it again.
            try await bench.put(
                Attachment(id: "other", filename: "o.jpg", state: .archived, localUri: nil))
            #expect(bench.storage.calls.count == 1, "\(second)")
        }
        clock.advance(by: .seconds(1))
        try await wait(for: "the second try") { bench.storage.calls.count == 2 }
        #expect(try await bench.row("p1")?.state == .queuedDownload)
        try await bench.close()
    }

    @Test(.behaviour(187)) func aFileComesAndGoesWithItsReference() async throws {
        let bench = try AttachmentBench(.init(cacheLimit: 0))
        let gate = bench.storage.hold(.upload("p1"))
        try await bench.queue.startSync()
        let bytes = [UInt8](repeating: 7, count: 123)
        let saved = try await bench.save(bytes, id: "p1")
        #expect(saved.size == 123 && saved.state == .queuedUpload)
        try await wait(for: "the upload") { gate.arrivals == 1 }
        #expect(try await bench.row("p1")?.state == .queuedUpload)
        gate.open()
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.bytes("p1.jpg") == bytes)
        try await bench.setPhoto(to: nil)
        try await bench.wait(forEndOf: "p1")
        #expect(bench.bytes("p1.jpg") == nil)
        // In the storage it stays: nobody has deleted it.
        #expect(bench.storage.calls == [.upload("p1")])
        try await bench.close()
    }

    @Test(.behaviour(188)) func aFileIsWhereItsNameSays() async throws {
        let bench = try AttachmentBench()
        let saved = try await bench.save()
        let expected = await bench.queue.getLocalUri("\(saved.id).jpg")
        #expect(saved.localUri == expected)
        #expect(saved.filename == "\(saved.id).jpg" && bench.bytes(saved.filename) == [3, 4, 5])
        bench.storage.put("p2", [9])
        try await bench.queue.startSync()
        try await bench.addUser("u2", photo: "p2")
        let downloaded = try await bench.wait(for: "p2", toBe: .synced)
        let expectedToo = await bench.queue.getLocalUri("p2.jpg")
        #expect(downloaded.localUri == expectedToo)
        try await bench.close()
    }

    @Test(.behaviour(189)) func aDeletedFileGoesEverywhere() async throws {
        let bench = try AttachmentBench()
        let gate = bench.storage.hold(.delete("p1"))
        try await bench.queue.startSync()
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        let deleted = try await bench.queue.deleteFile(attachmentId: "p1") { connection, attachment in
            #expect(attachment.state == .synced && attachment.hasSynced == true)
            try connection.execute(
                sql: "UPDATE users SET photo_id = NULL WHERE photo_id = ?", parameters: [attachment.id])
        }
        #expect(deleted.state == .queuedDelete && deleted.hasSynced == false)
        try await wait(for: "the storage to be told") { gate.arrivals == 1 }
        #expect(try await bench.row("p1")?.state == .queuedDelete)
        #expect(bench.bytes("p1.jpg") == [3, 4, 5], "first there, then here")
        gate.open()
        try await bench.wait(forEndOf: "p1")
        #expect(bench.bytes("p1.jpg") == nil && bench.storage.files.isEmpty)
        try await bench.close()
    }

    @Test(.behaviour(190)) func aFileThatIsMissingIsDownloadedAgain() async throws {
        let bench = try AttachmentBench()
        bench.storage.put("p1", [1, 2, 3])
        try await bench.put(
            Attachment(
                id: "p1", filename: "p1.jpg", state: .synced, hasSynced: true,
                localUri: bench.folder.file("elsewhere/p1.jpg"), size: 3))
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the download") { bench.storage.calls == [.download("p1")] }
        let row = try await bench.wait(for: "p1", toBe: .synced)
        let path = try #require(row.localUri)
        #expect(path == bench.path("p1.jpg") && FileManager.default.fileExists(atPath: path))
        try await bench.close()
    }

    @Test(.behaviour(191)) func whatIsInTheCacheNeedsNoSecondDownload() async throws {
        let bench = try AttachmentBench()
        bench.storage.put("p1", [1, 2, 3])
        try await bench.queue.startSync()
        try await bench.addUser(photo: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await bench.setPhoto(to: nil)
        try await bench.wait(for: "p1", toBe: .archived)
        #expect(bench.bytes("p1.jpg") == [1, 2, 3])
        try await bench.setPhoto(to: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await bench.queue.syncStorage()
        #expect(bench.storage.count(.download("p1")) == 1)
        try await bench.close()
    }

    @Test(.behaviour(192)) func aDownloadThatFailedIsTriedAgainIfTheHandlerSaysSo() async throws {
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(.init(handler: handler))
        bench.storage.put("p1", [1, 2, 3])
        bench.storage.fail(.download("p1"), with: TestError(text: "no network"))
        try await bench.queue.startSync()
        try await bench.addUser(photo: "p1")
        try await wait(for: "the handler") { handler.asked == [.download("p1")] }
        #expect(try await bench.row("p1")?.state == .queuedDownload)
        try await bench.queue.syncStorage()
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(handler.asked == [.download("p1")] && handler.errors == ["TestError(text: \"no network\")"])
        #expect(bench.storage.calls == [.download("p1"), .download("p1")])
        try await bench.close()
    }

    /// The clock says how long it waits for what hangs.
    @Test(.behaviour(193)) func stoppingDoesNotWaitForADownloadThatHangs() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(environment: clock.environment)
        let gate = bench.storage.hold(.download("p1"))
        for id in ["p1", "p2", "p3"] {
            bench.storage.put(id, [1])
            try await bench.addUser(id, photo: id)
        }
        try await bench.queue.startSync()
        try await wait(for: "the first download") { gate.arrivals == 1 }
        let waits = try await bench.stop(clock)
        #expect((1...2).contains(waits))
        #expect(AttachmentTasks.patience < .milliseconds(500))
        #expect(bench.storage.calls == [.download("p1")])
        // What it brings now is of nobody.
        gate.open()
        try await bench.close()
        let again = try AttachmentBench(folder: bench.folder, storage: bench.storage)
        #expect(try await again.rows().map(\.state) == [.queuedDownload, .queuedDownload, .queuedDownload])
        #expect(again.bytes("p1.jpg") == nil)
        try await again.close()
    }

    @Test(.behaviour(194)) func aFileThatHasComeIsSyncedWhileAnotherHangs() async throws {
        let bench = try AttachmentBench()
        let gate = bench.storage.hold(.download("p2"))
        defer { gate.open() }
        for id in ["p1", "p2"] {
            bench.storage.put(id, [1, 2])
            try await bench.addUser(id, photo: id)
        }
        try await bench.queue.startSync()
        try await wait(for: "the second download") { gate.arrivals == 1 }
        #expect(try await bench.row("p1")?.state == .synced)
        #expect(try await bench.row("p2")?.state == .queuedDownload)
        gate.open()
        try await bench.wait(for: "p2", toBe: .synced)
        try await bench.close()
    }

    /// It waits for nothing that hangs: the clock stands still.
    @Test(.behaviour(195)) func savingDoesNotWaitForATransferThatHangs() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(environment: clock.environment)
        let gate = bench.storage.hold(.download("p1"))
        bench.storage.put("p1", [1])
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the download") { gate.arrivals == 1 }
        let saving = Task { try await bench.save([1, 2], user: "u2") }
        let saved = try await wait(forEndOf: saving)
        #expect(try await bench.row(saved.id) != nil)
        // Nor does its upload, or deleting another one.
        try await bench.wait(for: saved.id, toBe: .synced)
        try await bench.queue.deleteFile(attachmentId: saved.id) { _, _ in }
        try await bench.wait(forEndOf: saved.id)
        #expect(gate.arrivals == 1 && clock.now == .zero)
        gate.open()
        try await bench.wait(for: "p1", toBe: .synced)
        try await bench.close()
    }

    @Test(.behaviour(196)) func aSyncThatIsAskedForBehindWhatHangsEndsWithStopping() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(environment: clock.environment)
        let gate = bench.storage.hold(.download("p1"))
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the download") { gate.arrivals == 1 }
        let syncing = Task { try await bench.queue.syncStorage() }
        try await wait(for: "the wish") { await bench.queue.syncingService.waiterCount == 1 }
        _ = try await bench.stop(clock)
        try await wait(forEndOf: syncing)
        #expect(bench.storage.calls == [.download("p1")])
        gate.open()
        try await bench.close()
    }

    @Test(.behaviour(200)) func theMediaTypeOfAWatchedFileReachesRowAndStorage() async throws {
        let (items, watcher) = AsyncThrowingStream.makeStream(of: [WatchedAttachmentItem].self)
        let bench = try AttachmentBench(.init(watch: { items }))
        bench.storage.put("p1", [1])
        try await bench.queue.startSync()
        watcher.yield([
            WatchedAttachmentItem(
                id: "p1", filename: "holiday.jpeg", metaData: "{\"by\":\"A\"}", mediaType: "image/jpeg")
        ])
        let row = try await bench.wait(for: "p1", toBe: .synced)
        #expect(row.mediaType == "image/jpeg" && row.filename == "holiday.jpeg")
        #expect(row.metaData == "{\"by\":\"A\"}")
        let asked = try #require(bench.storage.attachments.first)
        #expect(asked.mediaType == "image/jpeg" && asked.state == .queuedDownload)
        #expect(bench.bytes("holiday.jpeg") == [1])
        try await bench.close()
    }
}
