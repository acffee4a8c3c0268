import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// A file that is saved is never lost: neither that of the app nor one that was saved before (Client/Attachments/SPEC.md,
/// Files).
@Suite(.patient(), .namesSeed)
struct AttachmentSavingTests {
    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    private func read(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map { Array($0) }
    }

    /// Takes a file in.
    private func take(
        _ source: String, as id: String, in bench: AttachmentBench,
        _ hook: @escaping @Sendable (any ConnectionContext, Attachment) throws -> Void = { _, _ in }
    ) async throws -> Attachment {
        try await bench.queue.saveFileFromUri(
            localUri: source, mediaType: "image/jpeg", fileExtension: "jpg", id: id, updateHook: hook)
    }

    // MARK: Taking files in

    /// Whatever ends the process before the row is committed leaves the file to the app.
    @Test func aFileThatIsTakenInIsWhereItWasUntilItHasARow() async throws {
        let bench = try AttachmentBench()
        let source = bench.folder.file("recording")
        try write([1, 2, 3], to: source)
        let new = AttachmentFiles().newPath(of: bench.path("p1.jpg"))
        _ = try await take(source, as: "p1", in: bench) { _, _ in
            #expect(FileManager.default.contents(atPath: source) == Data([1, 2, 3]))
            #expect(FileManager.default.contents(atPath: new) == Data([1, 2, 3]))
        }
        #expect(read(source) == nil && bench.bytes("p1.jpg") == [1, 2, 3])
        #expect(bench.fileNames == ["p1.jpg"])
        try await bench.close()
    }

    @Test func whoeverGivesUpTakingAFileInHasItStill() async throws {
        try await forEachSeed(12) { random in
            let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
            let source = bench.folder.file("recording")
            try Data(repeating: 7, count: 4 << 20).write(to: URL(fileURLWithPath: source))
            let taking = Task { try await take(source, as: "p1", in: bench) }
            for _ in 0..<random.below(2000) { await Task.yield() }
            taking.cancel()
            let result = await taking.result
            // What is not saved is cleared up.
            try await bench.queue.startSync()
            let isSaved = try await bench.row("p1") != nil
            #expect(isSaved == ((try? result.get()) != nil), "what is thrown is not saved")
            let place = isSaved ? bench.path("p1.jpg") : source
            #expect(try LocalFile.size(of: place) == 4 << 20)
            try await bench.close()
        }
    }

    /// As a crash leaves it before the row is there, and right behind that.
    @Test func aCrashWhileAFileIsTakenInLosesNothing() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        for id in ["lost", "saved"] {
            let source = bench.folder.file(id)
            try write([1, 2, 3], to: source)
            try #require(try AttachmentFiles().link(source, as: bench.path("\(id).jpg"))).close()
        }
        try await bench.put(
            Attachment(
                id: "saved", filename: "saved.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("saved.jpg")))
        bench.storage.failEach { _ in TestError(text: "no network") }
        try await bench.queue.startSync()
        #expect(read(bench.folder.file("lost")) == [1, 2, 3])
        #expect(bench.fileNames == ["saved.jpg"])
        // The app knows nothing of what was saved, and writes to its file.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: bench.folder.file("saved")))
        try handle.write(contentsOf: Data([9, 9, 9]))
        try handle.close()
        #expect(bench.bytes("saved.jpg") == [1, 2, 3])
        try await bench.close()
    }

    @Test func aFileThatIsNotThereIsNotMade() async throws {
        let bench = try AttachmentBench()
        let source = bench.folder.file("missing")
        await #expect(throws: PowerSyncAttachmentError.self) { try await take(source, as: "p1", in: bench) }
        #expect(!FileManager.default.fileExists(atPath: source))
        #expect(bench.fileNames == [])
        #expect(try await bench.row("p1") == nil)
        try await bench.close()
    }

    /// As from another file system.
    @Test func aFileThatCannotBeLinkedIsCopied() async throws {
        let bench = try AttachmentBench()
        let source = bench.folder.file("recording")
        try write([1, 2, 3], to: source)
        // Somebody else holds it.
        let holder = try StagedFile(existing: source)
        await #expect(throws: TestError(text: "no")) {
            try await take(source, as: "p1", in: bench) { _, _ in throw TestError(text: "no") }
        }
        #expect(read(source) == [1, 2, 3] && bench.fileNames == [])
        let saved = try await take(source, as: "p1", in: bench)
        holder.close()
        #expect(saved.size == 3 && bench.bytes("p1.jpg") == [1, 2, 3] && read(source) == nil)
        try await bench.close()
    }

    // MARK: A second save under one id

    @Test func aSecondSaveTouchesNothingOfTheFirst() async throws {
        let bench = try AttachmentBench()
        // As after a crash between the row and the name of the file.
        let path = bench.path("p1.jpg")
        let staged = try AttachmentFiles().stage(path)
        try staged.write([5])
        staged.close()
        try await bench.put(
            Attachment(id: "p1", filename: "p1.jpg", state: .queuedUpload, hasSynced: false, localUri: path))
        let source = bench.folder.file("recording")
        try write([1, 2, 3], to: source)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save([2], id: "p1") }
        await #expect(throws: PowerSyncAttachmentError.self) { try await take(source, as: "p1", in: bench) }
        #expect(read(source) == [1, 2, 3])
        try await bench.queue.verifyAttachments()
        #expect(bench.bytes("p1.jpg") == [5])
        try await bench.close()
    }

    @Test func whatSomebodySavesAtThatMomentIsNotTaken() async throws {
        let bench = try AttachmentBench()
        let held = try AttachmentFiles().stage(bench.path("p1.jpg"))
        try held.write([5])
        let source = bench.folder.file("recording")
        try write([1, 2, 3], to: source)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save([2], id: "p1") }
        await #expect(throws: PowerSyncAttachmentError.self) { try await take(source, as: "p1", in: bench) }
        #expect(read(held.path) == [5] && read(source) == [1, 2, 3])
        held.close()
        // What a crash has left without a row is in nobody's way.
        _ = try await take(source, as: "p1", in: bench)
        #expect(bench.bytes("p1.jpg") == [1, 2, 3] && bench.fileNames == ["p1.jpg"])
        try await bench.close()
    }

    /// A local storage of the app's own writes under the name of the file itself.
    @Test func aStorageOfTheAppsOwnIsNotAskedToWriteOverAFile() async throws {
        let bench = try AttachmentBench(.init(local: OwnStorage()))
        let source = bench.folder.file("recording")
        try write([1, 2, 3], to: source)
        try await bench.save([4], id: "p1")
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.save([2], user: "u2", id: "p1")
        }
        await #expect(throws: PowerSyncAttachmentError.self) { try await take(source, as: "p1", in: bench) }
        #expect(bench.bytes("p1.jpg") == [4] && read(source) == [1, 2, 3])
        // Two at once: one of them is saved.
        let saves = (0..<4).map { number in
            Task { try await bench.save([UInt8(number)], user: "v\(number)", id: "p2") }
        }
        var saved: [UInt8] = []
        for (number, save) in saves.enumerated() {
            if case .success = await save.result { saved.append(UInt8(number)) }
        }
        #expect(saved.count == 1 && bench.bytes("p2.jpg") == saved)
        await #expect(throws: TestError(text: "no")) {
            try await take(source, as: "p3", in: bench) { _, _ in throw TestError(text: "no") }
        }
        #expect(read(source) == [1, 2, 3] && bench.bytes("p3.jpg") == nil)
        try await bench.close()
    }

    @Test func aFilenameIsBoundToOneRow() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.processWatchedAttachments(items: [
            WatchedAttachmentItem(id: "a", filename: "a.b.jpg")
        ])
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save([2], id: "a.b") }
        #expect(try await bench.rows().map(\.id) == ["a"])
        #expect(bench.fileNames == [])
        try await bench.close()
    }

    // MARK: Names of others

    /// The filename of a watched file comes from rows that others write.
    @Test func aDownloadTakesNobodysFile() async throws {
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(
            .init(handler: handler, watch: { AttachmentBench.watchingNothing() }))
        bench.storage.failEach { call in
            if case .upload = call { TestError(text: "no network") } else { nil }
        }
        bench.storage.put("z", [9])
        bench.storage.put("y", [8])
        try await bench.save([1, 2, 3], id: "a")
        try await bench.queue.processWatchedAttachments(items: [
            WatchedAttachmentItem(id: "a", fileExtension: "jpg"),
            WatchedAttachmentItem(id: "z", filename: "a.jpg"),
            WatchedAttachmentItem(id: "x", filename: "shared.jpg"),
            WatchedAttachmentItem(id: "y", filename: "shared.jpg"),
        ])
        #expect(try await bench.rows().map(\.id) == ["a", "x"])
        #expect(bench.log.warnings(containing: "2 attachments are left out for their names") == 1)
        // As another version of the app may have written it.
        try await bench.put(Attachment(id: "z", filename: "a.jpg", state: .queuedDownload))
        try await bench.queue.startSync()
        try await wait(for: "the handler") { handler.asked.contains(.download("z")) }
        #expect(bench.storage.count(.download("z")) == 0)
        #expect(bench.bytes("a.jpg") == [1, 2, 3])
        try await bench.close()
    }

    /// Gives a file a name that a file system may take for that of another file: where it does not, by a link.
    private func fold(_ name: String, _ other: String, _ bench: AttachmentBench) throws {
        if FileManager.default.fileExists(atPath: bench.path(other)) { return }
        try FileManager.default.linkItem(atPath: bench.path(name), toPath: bench.path(other))
    }

    @Test func aDownloadTakesNoFileWhoseNameIsTakenForItsOwn() async throws {
        let handler = ScriptedHandler(triesAgain: true)
        let bench = try AttachmentBench(
            .init(handler: handler, cacheLimit: 0, watch: { AttachmentBench.watchingNothing() }))
        bench.storage.failEach { call in
            if case .upload = call { TestError(text: "no network") } else { nil }
        }
        bench.storage.put("z", [9])
        try await bench.save([1, 2, 3], id: "a")
        try fold("a.jpg", "A.jpg", bench)
        let other = WatchedAttachmentItem(id: "z", filename: "A.jpg")
        try await bench.queue.processWatchedAttachments(items: [other])
        try await bench.queue.startSync()
        try await wait(for: "the handler") { handler.asked.contains(.download("z")) }
        #expect(bench.storage.count(.download("z")) == 0)
        #expect(bench.bytes("a.jpg") == [1, 2, 3] && bench.bytes("A.jpg") == [1, 2, 3])
        try await bench.queue.processWatchedAttachments(items: [])
        try await bench.wait(forEndOf: "z")
        #expect(bench.bytes("a.jpg") == [1, 2, 3] && bench.bytes("A.jpg") == [1, 2, 3])
        #expect(try await bench.row("a")?.state == .queuedUpload)
        try await bench.close()
    }

    @Test func aSaveTakesNoFileWhoseNameIsTakenForItsOwn() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        // As after a crash between the row and the name of the file.
        let staged = try AttachmentFiles().stage(bench.path("a.jpg"))
        try staged.write([5])
        staged.close()
        try await bench.put(
            Attachment(
                id: "a", filename: "a.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("a.jpg")))
        try fold(".powersync-new/a.jpg", ".powersync-new/A.jpg", bench)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save([2], id: "A") }
        #expect(try await bench.row("A") == nil)
        #expect(bench.bytes(".powersync-new/A.jpg") == [5])
        try await bench.queue.verifyAttachments()
        #expect(bench.bytes("a.jpg") == [5])
        try await bench.close()
    }

    /// One row of somebody else is enough for them: no change of the app's rows may have to wait for the writer by that.
    @Test func namesThatAreRefusedAreSaidOnceAndWriteNothing() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.save(id: "a")
        let service = try await bench.service()
        let local = LocalFiles(
            storage: FileManagerStorageAdapter(), subdirectories: [],
            path: { [folder = bench.folder] in folder.file("photos/\($0)") })
        let watched = WatchedAttachments(
            service: service, downloads: true, subdirectories: [],
            verification: AttachmentVerification(service: service, local: local),
            filename: { WatchedAttachments.standardName($0, $1) }, logger: bench.database.logger)
        let items = [
            WatchedAttachmentItem(id: "a", fileExtension: "jpg"),
            WatchedAttachmentItem(id: "z", filename: "a.jpg"),
            WatchedAttachmentItem(id: "bad", filename: "../a"),
        ]
        let writer = try SQLiteConnection(path: bench.folder.file("test.db"))
        try writer.execute("BEGIN IMMEDIATE")
        for _ in 0..<3 { try await watched.process(items) }
        writer.close()
        #expect(bench.log.warnings(containing: "2 attachments are left out for their names") == 1)
        // Others than before.
        try await watched.process(Array(items.prefix(2)))
        #expect(bench.log.warnings(containing: "left out for their names") == 2)
        #expect(try await bench.rows().map(\.id) == ["a"])
        try await bench.close()
    }

    // MARK: Clearing

    /// The file is written, and its row is not there: it is cleared, or it is saved, but nothing between.
    @Test func aSaveThatIsClearedMeanwhileFails() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        let service = try await bench.service()
        let (first, second) = (Gate(), Gate())
        let holding = Task { try await bench.queue.withAttachmentContext { _ in await first.pass() } }
        try await wait(for: "somebody who has access") { first.arrivals == 1 }
        // Asks whether the id is free.
        let saving = Task { try await bench.save([1], id: "p1") }
        try await wait(for: "the save") { service.waiterCount == 1 }
        let holdingAgain = Task { try await bench.queue.withAttachmentContext { _ in await second.pass() } }
        try await wait(for: "somebody behind it") { service.waiterCount == 2 }
        let clearing = Task { try await bench.queue.clearQueue() }
        try await wait(for: "the clearing") { service.waiterCount == 3 }
        first.open()
        try await wait(for: "the file to be written, and its save to wait") {
            second.arrivals == 1 && service.waiterCount == 2
        }
        #expect(bench.fileNames == [".powersync-new/p1.jpg"])
        second.open()
        try await wait(forEndOf: clearing)
        await #expect(throws: PowerSyncAttachmentError.self) { try await wait(forEndOf: saving) }
        for task in [holding, holdingAgain] { try await wait(forEndOf: task) }
        #expect(try await bench.rows().isEmpty && bench.fileNames == [])
        #expect(try await bench.database.get("SELECT count(*) FROM users") { try $0.getInt(index: 0) } == 0)
        try await bench.save([1], id: "p1")
        #expect(bench.bytes("p1.jpg") == [1])
        try await bench.close()
    }
}

/// A local storage of the app's own that can move files.
private struct OwnStorage: MovingStorageAdapter {
    private let disk = FileManagerStorageAdapter()

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await disk.saveFile(filePath: filePath, data: data)
    }
    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await disk.readFile(filePath: filePath, mediaType: mediaType)
    }
    func deleteFile(filePath: String) async throws { try await disk.deleteFile(filePath: filePath) }
    func fileExists(filePath: String) async throws -> Bool { try await disk.fileExists(filePath: filePath) }
    func makeDir(path: String) async throws { try await disk.makeDir(path: path) }
    func rmDir(path: String) async throws { try await disk.rmDir(path: path) }
    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await disk.copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }
    func moveFile(sourcePath: String, targetPath: String) async throws {
        try await disk.moveFile(sourcePath: sourcePath, targetPath: targetPath)
    }
}
