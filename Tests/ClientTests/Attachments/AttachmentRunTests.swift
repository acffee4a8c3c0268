import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Runs that begin and end beside each other, transfers that outlive them, and files that are odd (SPEC.md, "Transfers").
@Suite(.patient())
struct AttachmentRunTests {
    private static func watchingNothing(
        _ options: AttachmentBench.Options = .init()
    ) -> AttachmentBench.Options {
        var options = options
        options.watch = { AttachmentBench.watchingNothing() }
        return options
    }

    private func remove(_ name: String, _ bench: AttachmentBench) throws {
        try FileManager.default.removeItem(atPath: bench.path(name))
    }

    private func put(
        _ id: String, _ state: AttachmentState, at path: String?, hasSynced: Bool = true,
        in bench: AttachmentBench
    ) async throws {
        try await bench.put(
            Attachment(id: id, filename: "\(id).jpg", state: state, hasSynced: hasSynced, localUri: path))
    }

    // MARK: Beginning and ending

    @Test func aStartBesideASyncOfTheStorageLasts() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        try await bench.queue.waitForInit()
        let service = try await bench.service()
        let syncing = await bench.queue.syncingService
        let gate = Gate()
        let holding = Task { try await bench.queue.withAttachmentContext { _ in await gate.pass() } }
        try await wait(for: "somebody who has access") { gate.arrivals == 1 }
        let starting = Task { try await syncing.startSync(period: 0) }
        try await wait(for: "the start to wait") { service.waiterCount == 1 }
        let once = Task { try await bench.queue.syncStorage() }
        try await wait(for: "the sync to wait for the start") { await syncing.waiterCount == 1 }
        gate.open()
        try await wait(forEndOf: starting)
        try await wait(forEndOf: once)
        try await wait(forEndOf: holding)
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await bench.close()
    }

    @Test func aStartTakesThePlaceOfASyncOfTheStorageWhichGoesOn() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        let gate = bench.storage.hold(.upload("p1"))
        try await bench.save(id: "p1")
        try await bench.save(user: "u2", id: "p2")
        let once = Task { try await bench.queue.syncStorage() }
        try await wait(for: "the upload") { gate.arrivals == 1 }
        let starting = Task { try await bench.queue.syncingService.startSync(period: 0) }
        // The first upload is left by its run, and is tried again when it has ended.
        try await bench.wait(for: "p2", toBe: .synced)
        gate.open()
        try await bench.wait(for: "p1", toBe: .synced)
        try await wait(forEndOf: starting)
        try await wait(forEndOf: once)
        try await bench.save(user: "u3", id: "p3")
        try await bench.wait(for: "p3", toBe: .synced)
        try await bench.close()
    }

    @Test func twoSyncsOfTheStorageTryAllFilesAndThenNobodyDoes() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        try await bench.queue.waitForInit()
        let service = try await bench.service()
        let syncing = await bench.queue.syncingService
        try await bench.save(id: "p1")
        let (access, gate) = (Gate(), bench.storage.hold(.upload("p1")))
        let holding = Task { try await bench.queue.withAttachmentContext { _ in await access.pass() } }
        try await wait(for: "somebody who has access") { access.arrivals == 1 }
        let both = (0..<2).map { _ in Task { try await bench.queue.syncStorage() } }
        try await wait(for: "both to wait") { service.waiterCount == 2 }
        access.open()
        try await wait(for: "both to wait for one upload") { await syncing.waiterCount == 2 }
        gate.open()
        for once in both { try await wait(forEndOf: once) }
        try await wait(forEndOf: holding)
        #expect(try await bench.row("p1")?.state == .synced)
        #expect(bench.storage.calls == [.upload("p1")])
        // Nobody transfers any more.
        try await wait(for: "the end of all watches") { bench.database.changes.watcherCount == 0 }
        try await bench.save(user: "u2", id: "p2")
        try await bench.queue.syncStorage()
        #expect(try await bench.row("p2")?.state == .synced)
        try await bench.close()
    }

    /// Otherwise it would say that all were tried.
    @Test func aSyncOfTheStorageThatCannotReadItsRowsFails() async throws {
        struct Access: AttachmentServiceProtocol {
            let context: AttachmentContext
            let isOver = Lock(false)

            func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
                AsyncThrowingStream(unfolding: { nil })
            }

            /// Once, before there is a run.
            func withContext<R: Sendable>(
                callback: @Sendable @escaping (AttachmentContext) async throws -> R
            ) async throws -> R {
                let isRefused = isOver.withLock { isOver in
                    defer { isOver = true }
                    return isOver
                }
                if isRefused { throw TestError(text: "the disk is gone") }
                return try await callback(context)
            }
        }
        let bench = try AttachmentBench(Self.watchingNothing())
        let context = AttachmentContext(
            db: bench.database, tableName: "attachments", logger: bench.database.logger, maxArchivedCount: 0)
        let service = SyncingService(
            remoteStorage: bench.storage, localStorage: FileManagerStorageAdapter(),
            attachmentsService: Access(context: context), logger: bench.database.logger,
            getLocalUri: { [folder = bench.folder] in folder.file("photos/\($0)") }, syncThrottle: 0)
        await #expect(throws: TestError(text: "the disk is gone")) { try await service.syncOnce() }
        try await service.close()
        try await bench.close()
    }

    /// The app has written it without a time.
    @Test func aRowThatCannotBeReadKeepsOnlyItsOwnLane() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        try await bench.queue.waitForInit()
        _ = try await bench.database.execute(
            sql: "INSERT INTO attachments (id, state, filename, has_synced) VALUES ('p1', ?, 'p1.jpg', 0)",
            parameters: [AttachmentState.queuedDownload.rawValue])
        try await bench.save(id: "p2")
        try await bench.queue.startSync()
        try await wait(for: "the upload") { bench.storage.calls == [.upload("p2")] }
        try await put("p3", .queuedDelete, at: nil, in: bench)
        try await wait(for: "the delete") { bench.storage.calls == [.upload("p2"), .delete("p3")] }
        // Not all were tried.
        await #expect(throws: (any Error).self) { try await bench.queue.syncStorage() }
        try await bench.close()
    }

    // MARK: Transfers that outlive their run

    /// Otherwise the upload that hangs would bring the bytes behind the delete.
    @Test func whatAStoppedUploadBringsIsDeletedBehindIt() async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(Self.watchingNothing(), environment: clock.environment)
        let gate = bench.storage.hold(.upload("p1"))
        try await bench.save(id: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the upload") { gate.arrivals == 1 }
        _ = try await bench.stop(clock)
        try await bench.queue.deleteFile(attachmentId: "p1") { _, _ in }
        try await bench.queue.startSync()
        // It comes behind.
        try await put("x1", .queuedDelete, at: nil, in: bench)
        try await bench.wait(forEndOf: "x1")
        #expect(bench.storage.count(.delete("p1")) == 0)
        #expect(try await bench.row("p1")?.state == .queuedDelete)
        gate.open()
        try await bench.wait(forEndOf: "p1")
        #expect(bench.storage.calls == [.upload("p1"), .delete("x1"), .delete("p1")])
        #expect(bench.storage.files.isEmpty && bench.bytes("p1.jpg") == nil)
        try await bench.close()
    }

    /// As where somebody signs out and another one signs in; in memory the other queue waits for its turn before.
    @Test(arguments: ["test.db", ":memory:"])
    func whatTheUploadOfAClosedQueueBringsIsDeletedBehindIt(_ name: String) async throws {
        let clock = SteppedClock()
        let bench = try AttachmentBench(
            Self.watchingNothing(), name: name, environment: clock.environment)
        let other = AttachmentBench.queue(
            Self.watchingNothing(), of: bench.database, in: bench.folder, bench.storage)
        let gate = bench.storage.hold(.upload("p1"))
        try await bench.save(id: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the upload") { gate.arrivals == 1 }
        if name == ":memory:" { try await other.startSync() }
        _ = try await bench.stop(clock)
        try await bench.queue.close()
        try await other.deleteFile(attachmentId: "p1") { _, _ in }
        if name != ":memory:" { try await other.startSync() }
        // It comes behind.
        try await put("x1", .queuedDelete, at: nil, in: bench)
        try await bench.wait(forEndOf: "x1")
        #expect(bench.storage.count(.delete("p1")) == 0)
        #expect(try await bench.row("p1")?.state == .queuedDelete)
        gate.open()
        try await bench.wait(forEndOf: "p1")
        #expect(bench.storage.calls == [.upload("p1"), .delete("x1"), .delete("p1")])
        #expect(bench.storage.files.isEmpty && bench.bytes("p1.jpg") == nil)
        try await other.close()
        try await bench.close()
    }

    @Test func nobodyIsAskedAboutADownloadThatIsNotWantedAnyMore() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(.init(handler: handler))
        let gate = bench.storage.hold(.download("p1"))
        bench.storage.fail(.download("p1"), with: TestError(text: "no network"))
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the download") { gate.arrivals == 1 }
        try await bench.setPhoto(to: nil)
        try await bench.wait(for: "p1", toBe: .archived)
        gate.open()
        try await wait(for: "its end") { bench.queue.status.transfers.isEmpty }
        #expect(handler.asked == [] && bench.queue.status.errors.isEmpty)
        try await bench.close()
    }

    @Test func aDownloadThatIsNotWantedAnyMoreIsCancelled() async throws {
        /// A storage whose downloads end when they are cancelled, and never else.
        struct Endless: RemoteStorageAdapter {
            let begun = AsyncValue(0)
            let never = AsyncValue(false)

            func uploadFile(fileData: Data, attachment: Attachment) async throws {}
            func deleteFile(attachment: Attachment) async throws {}
            func downloadFile(attachment: Attachment) async throws -> Data {
                begun.change { $0 += 1 }
                _ = try await never.wait { $0 }
                return Data()
            }
        }
        let bench = try AttachmentBench()
        let storage = Endless()
        let queue = AttachmentBench.queue(.init(), of: bench.database, in: bench.folder, storage)
        try await bench.addUser(photo: "p1")
        try await queue.startSync()
        try await wait(for: "the download") { storage.begun.current == 1 }
        try await bench.setPhoto(to: nil)
        try await wait(for: "its end") { storage.never.waiterCount == 0 && queue.status.transfers.isEmpty }
        #expect(try await bench.row("p1")?.state == .archived)
        try await queue.close()
        try await bench.close()
    }

    // MARK: The cache

    @Test func aFileThatCannotBeRemovedKeepsNoOther() async throws {
        let bench = try AttachmentBench(Self.watchingNothing(.init(cacheLimit: 0)))
        for id in ["p1", "p2", "p3"] {
            try bench.write([1], to: "\(id).jpg")
            try await put(id, .archived, at: bench.path("\(id).jpg"), in: bench)
        }
        // A folder in its place is nothing that goes.
        try remove("p2.jpg", bench)
        try FileManager.default.createDirectory(
            atPath: bench.path("p2.jpg"), withIntermediateDirectories: false)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.queue.expireCache() }
        #expect(try await bench.rows().map(\.id) == ["p2"])
        #expect(bench.bytes("p1.jpg") == nil && bench.bytes("p3.jpg") == nil)
        // A run goes on, too, and says it once.
        try await bench.queue.startSync()
        for id in ["p4", "p5"] {
            try await put(id, .archived, at: nil, in: bench)
            try await bench.wait(forEndOf: id)
        }
        #expect(bench.log.warnings(containing: "Removing files that are not needed failed") == 1)
        try await bench.close()
    }

    /// As another version of the app may have written them.
    @Test func rowsThatShareAFilenameAndGoTogetherTakeTheFileAlong() async throws {
        let bench = try AttachmentBench(Self.watchingNothing(.init(cacheLimit: 0, mostAtOnce: 2)))
        try bench.write([1], to: "a.jpg")
        try await put("a", .archived, at: bench.path("a.jpg"), in: bench)
        try await bench.put(Attachment(id: "z", filename: "a.jpg", state: .archived))
        try await bench.queue.expireCache()
        #expect(try await bench.rows().isEmpty)
        #expect(bench.bytes("a.jpg") == nil)
        try bench.write([1], to: "b.jpg")
        try await put("b", .queuedDelete, at: bench.path("b.jpg"), hasSynced: false, in: bench)
        try await bench.put(Attachment(id: "y", filename: "b.jpg", state: .queuedDelete))
        let gates = ["b", "y"].map { bench.storage.hold(.delete($0)) }
        try await bench.queue.startSync()
        try await wait(for: "both deletes") { gates.allSatisfy { $0.arrivals == 1 } }
        for gate in gates { gate.open() }
        for id in ["b", "y"] { try await bench.wait(forEndOf: id) }
        #expect(bench.bytes("b.jpg") == nil)
        // One of them alone leaves it to the other.
        try bench.write([1], to: "c.jpg")
        try await put("c", .synced, at: bench.path("c.jpg"), in: bench)
        try await bench.put(Attachment(id: "x", filename: "c.jpg", state: .queuedDelete))
        try await bench.wait(forEndOf: "x")
        #expect(bench.bytes("c.jpg") == [1])
        try await bench.close()
    }

    /// The file may have gone with an expiry that ended before the row did.
    @Test func whatIsReferredToAgainIsLookedFor() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        try await bench.queue.waitForInit()
        try bench.write([1], to: "here.jpg")
        for id in ["here", "gone"] { try await put(id, .archived, at: bench.path("\(id).jpg"), in: bench) }
        try await bench.queue.processWatchedAttachments(
            items: ["here", "gone"].map { WatchedAttachmentItem(id: $0, fileExtension: "jpg") })
        #expect(try await bench.row("here")?.state == .synced)
        let gone = try #require(try await bench.row("gone"))
        #expect(gone.state == .queuedDownload && gone.localUri == nil)
        try await bench.close()
    }

    // MARK: Odd paths

    @Test func whatCannotBeLookedAtIsGivenUpByNobody() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        try await bench.queue.waitForInit()
        // Longer than any path.
        let stale = "/" + String(repeating: "x/", count: 4000) + "p.jpg"
        try bench.write([1], to: "moved.jpg")
        try await put("moved", .queuedUpload, at: stale, hasSynced: false, in: bench)
        try await put("saved", .queuedUpload, at: stale, hasSynced: false, in: bench)
        try await put("fetched", .synced, at: stale, in: bench)
        try await bench.queue.verifyAttachments()
        #expect(try await bench.row("moved")?.localUri == bench.path("moved.jpg"))
        let saved = try #require(try await bench.row("saved"))
        #expect(saved.state == .queuedUpload && saved.localUri == stale, "nobody knows that it is lost")
        #expect(try await bench.row("fetched")?.state == .queuedDownload, "of this one there is a copy")
        #expect(bench.log.warnings(containing: "2 files of attachments cannot be looked for") == 1)
        try await bench.queue.startSync()
        try await bench.close()
    }

    @Test func junkInAFolderOfOursStopsNobody() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        let junk = bench.path(".powersync-new/p9.jpg")
        try FileManager.default.createDirectory(atPath: junk, withIntermediateDirectories: true)
        try await bench.queue.startSync()
        #expect(bench.log.warnings(containing: "Clearing up the folder of the attachments failed") == 1)
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await bench.close()
    }

    /// Another process has committed its row, and has yet to take the other name away.
    @Test func aFileThatIsBeingTakenInIsUploadedLater() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(Self.watchingNothing(.init(handler: handler)))
        try await bench.queue.waitForInit()
        let (source, path) = (bench.folder.file("recording"), bench.path("p1.jpg"))
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: source))
        let taking = try #require(try AttachmentFiles().link(source, as: path))
        try await put("p1", .queuedUpload, at: path, hasSynced: false, in: bench)
        try await bench.queue.syncStorage()
        #expect(try await bench.row("p1")?.state == .queuedUpload)
        #expect(bench.storage.calls == [] && handler.asked == [] && bench.bytes("p1.jpg") == nil)
        // It ended before.
        taking.close()
        try await bench.queue.syncStorage()
        #expect(try await bench.row("p1")?.state == .synced)
        #expect(handler.asked == [] && bench.bytes("p1.jpg") == [1, 2, 3])
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: source))
        try handle.write(contentsOf: Data([9, 9, 9]))
        try handle.close()
        #expect(bench.bytes("p1.jpg") == [1, 2, 3])
        try await bench.close()
    }

    @Test func aFolderOfOursThatIsNoneLosesNoUpload() async throws {
        let bench = try AttachmentBench(Self.watchingNothing())
        try await bench.queue.waitForInit()
        try bench.write([1], to: "p1.jpg")
        try bench.write([0], to: ".powersync-new")
        try await put("p1", .queuedUpload, at: bench.path("p1.jpg"), hasSynced: false, in: bench)
        try await bench.queue.verifyAttachments()
        #expect(try await bench.row("p1")?.state == .queuedUpload)
        try await bench.queue.startSync()
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.storage.files["p1"] == [1])
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save(id: "p2") }
        try await bench.close()
    }

    @Test func aLinkInPlaceOfASubdirectoryIsRefused() async throws {
        let outside = try TemporaryDirectory()
        let bench = try AttachmentBench(Self.watchingNothing(.init(subdirectories: ["sub"])))
        try bench.write([1], to: "other.jpg")
        for name in ["a.jpg", "x.jpg"] {
            try Data([7]).write(to: URL(fileURLWithPath: outside.file(name)))
        }
        try FileManager.default.createSymbolicLink(
            atPath: bench.path("sub"), withDestinationPath: outside.path)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.queue.startSync() }
        // Whoever starts the transfers alone reads and writes nothing there.
        bench.storage.put("d", [2])
        try await bench.put(
            Attachment(
                id: "u", filename: "sub/a.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("sub/a.jpg")))
        try await bench.put(Attachment(id: "d", filename: "sub/d.jpg", state: .queuedDownload))
        try await bench.put(
            Attachment(
                id: "x", filename: "sub/x.jpg", state: .queuedDelete, hasSynced: false,
                localUri: bench.path("sub/x.jpg")))
        try await bench.queue.syncStorage()
        #expect(bench.storage.calls == [.delete("x")])
        #expect(bench.queue.status.errors.keys.sorted() == ["d", "u"])
        let left = try FileManager.default.contentsOfDirectory(atPath: outside.path)
        #expect(left.sorted() == ["a.jpg", "x.jpg"])
        #expect(FileManager.default.contents(atPath: outside.file("a.jpg")) == Data([7]))
        try await bench.close()
    }

    // MARK: Disks

    @Test(.enabled("needs the right to mount a tmpfs") { SmallDisk.isPossible })
    func aFullDiskKeepsAQueueFromNothing() async throws {
        let disk = try SmallDisk(bytes: 256 << 10)
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(Self.watchingNothing())
        let large = [UInt8](repeating: 7, count: 1 << 20)
        bench.storage.put("large", large)
        bench.storage.put("small", [1])
        let queue = Self.queue(of: bench, on: disk, handler)
        try await queue.processWatchedAttachments(
            items: ["large", "small"].map { WatchedAttachmentItem(id: $0, fileExtension: "jpg") })
        try await queue.startSync()
        try await bench.wait(for: "small", toBe: .synced)
        try await wait(for: "the handler") { handler.asked == [.download("large")] }
        #expect(try await bench.row("large")?.state == .queuedDownload)
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await queue.saveFile(data: Data(large), mediaType: "image/jpeg", fileExtension: "jpg") {
                _, _ in
            }
        }
        try await queue.saveFile(
            data: Data([2]), mediaType: "image/jpeg", fileExtension: "jpg", metaData: nil, id: "p1"
        ) { _, _ in }
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(try await bench.rows().count == 3, "what was not saved has no row")
        try await queue.close()
        try await bench.close()
    }

    @Test(.enabled("needs the right to mount a tmpfs") { SmallDisk.isPossible })
    func aDiskThatMayNotBeWrittenToIsForTheHandler() async throws {
        let disk = try SmallDisk(bytes: 64 << 10, isReadOnly: true)
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(Self.watchingNothing())
        bench.storage.put("d1", [1])
        let queue = Self.queue(of: bench, on: disk, handler)
        try await queue.processWatchedAttachments(items: [
            WatchedAttachmentItem(id: "d1", fileExtension: "jpg")
        ])
        await #expect(throws: PowerSyncAttachmentError.self) { try await queue.startSync() }
        try await queue.syncStorage()
        #expect(handler.asked == [.download("d1")])
        #expect(try await bench.row("d1")?.state == .queuedDownload)
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await queue.saveFile(data: Data([1]), mediaType: "image/jpeg", fileExtension: "jpg") {
                _, _ in
            }
        }
        #expect(try await bench.rows().map(\.id) == ["d1"])
        try await queue.close()
        try await bench.close()
    }

    /// Makes a queue of a database whose files are on a disk of its own.
    private static func queue(
        of bench: AttachmentBench, on disk: SmallDisk, _ handler: ScriptedHandler
    ) -> AttachmentQueue {
        AttachmentQueue(
            db: bench.database, remoteStorage: bench.storage, attachmentsDirectory: disk.path + "/photos",
            watchAttachments: { AttachmentBench.watchingNothing() }, errorHandler: handler, syncInterval: 0,
            syncThrottleDuration: 0)
    }
}
