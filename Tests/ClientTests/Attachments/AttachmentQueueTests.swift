import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Saving, deleting and watching files, and what is left of them.
@Suite(.patient())
struct AttachmentQueueTests {
    // MARK: Saving

    @Test func whatTheHookRefusesIsNotSaved() async throws {
        let bench = try AttachmentBench()
        await #expect(throws: TestError(text: "no")) {
            try await bench.queue.saveFile(data: Data([1]), mediaType: "text/plain", fileExtension: "txt") {
                connection, _ in
                try connection.execute(sql: "INSERT INTO users (id, name) VALUES ('u1', 'A')", parameters: [])
                throw TestError(text: "no")
            }
        }
        #expect(try await bench.rows().isEmpty)
        #expect(try await bench.database.get("SELECT count(*) FROM users") { try $0.getInt(index: 0) } == 0)
        #expect(bench.fileNames == [])
        try await bench.close()
    }

    @Test func anIdIsBoundToOneFile() async throws {
        let bench = try AttachmentBench()
        try await bench.save([1], id: "p1")
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.save([2], user: "u2", id: "p1")
        }
        #expect(bench.bytes("p1.jpg") == [1])
        // Neither is a file overwritten that is not of the queue.
        try bench.write([7], to: "p2.jpg")
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.save([2], user: "u2", id: "p2")
        }
        #expect(bench.bytes("p2.jpg") == [7])
        // Nor where the file has gone already: another device may have it.
        try await bench.put(Attachment(id: "p3", filename: "p3.jpg", state: .queuedDelete))
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.save([2], user: "u2", id: "p3")
        }
        #expect(bench.fileNames == ["p1.jpg", "p2.jpg"])
        #expect(try await bench.rows().map(\.id) == ["p1", "p3"])
        try await bench.close()
    }

    @Test func metaDataStaysWhateverHappens() async throws {
        let bench = try AttachmentBench()
        let saved = try await bench.queue.saveFile(
            data: Data([1]), mediaType: "image/png", fileExtension: "png", metaData: #"{"album":1}"#
        ) { connection, attachment in
            #expect(attachment.metaData == #"{"album":1}"#)
            try connection.execute(
                sql: "INSERT INTO users (id, name, photo_id) VALUES ('u1', 'A', ?)",
                parameters: [attachment.id])
        }
        try await bench.queue.startSync()
        let synced = try await bench.wait(for: saved.id, toBe: .synced)
        #expect(synced.metaData == #"{"album":1}"# && synced.mediaType == "image/png" && synced.size == 1)
        try await bench.setPhoto(to: nil)
        let archived = try await bench.wait(for: saved.id, toBe: .archived)
        #expect(archived.metaData == #"{"album":1}"# && archived.hasSynced == true)
        try await bench.close()
    }

    @Test func filesAreSavedInTheOrderOfTheirTimesHoweverTheClockIsSet() async throws {
        let wall = Lock(SteppedClock.start)
        var environment = SyncEnvironment.system()
        environment.now = { wall.withLock { $0 } }
        let bench = try AttachmentBench(environment: environment)
        for number in 0..<5 { try await bench.save(user: "u\(number)", id: "p\(number)") }
        // An hour back.
        wall.withLock { $0 -= 3_600_000_000 }
        for number in 5..<8 { try await bench.save(user: "u\(number)", id: "p\(number)") }
        let times = try await bench.rows().map(\.timestamp)
        #expect(times == (0..<8).map { Int(SteppedClock.start / 1000) + $0 })
        #expect(try await bench.rows().map(\.id) == (0..<8).map { "p\($0)" })
        try await bench.queue.startSync()
        for number in 0..<8 { try await bench.wait(for: "p\(number)", toBe: .synced) }
        #expect(bench.storage.calls == (0..<8).map { ScriptedStorage.Call.upload("p\($0)") })
        // What is saved now is found, although it is earlier by the clock than all that went before.
        wall.withLock { $0 -= 3_600_000_000 }
        try await bench.save(user: "u8", id: "p8")
        try await bench.wait(for: "p8", toBe: .synced)
        try await bench.close()
    }

    // MARK: Names

    static let badNames = [
        "../p1", "/etc/p1", "a/b", "p\u{0}1", ".", "..", String(repeating: "a", count: 300),
        ".powersync-new", "sub/../p1", "other/p1",
    ]

    @Test(arguments: badNames) func aNameThatLeadsElsewhereIsRefused(_ name: String) async throws {
        let bench = try AttachmentBench(.init(subdirectories: ["sub"]))
        let before = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).sorted()
        // With an ending behind them these two are names as any other.
        if name != ".", name != ".." {
            await #expect(throws: PowerSyncAttachmentError.self) { try await bench.save(id: name) }
        }
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.queue.saveFile(data: Data([1]), mediaType: "image/jpeg", fileExtension: "/../x") {
                _, _ in
            }
        }
        // Of watched items it is left out, and the others are taken.
        bench.storage.put("ok", [1])
        try await bench.addUser(photo: "ok")
        try await bench.queue.processWatchedAttachments(items: [
            WatchedAttachmentItem(id: "bad", filename: name),
            WatchedAttachmentItem(id: "ok", filename: "sub/ok.jpg"),
        ])
        #expect(try await bench.rows().map(\.filename) == ["sub/ok.jpg"])
        #expect(bench.log.warnings(containing: "left out for their names") == 1)
        try await bench.queue.startSync()
        try await bench.wait(for: "ok", toBe: .synced)
        #expect(bench.bytes("sub/ok.jpg") == [1])
        let after = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
        #expect(
            Set(after).subtracting(before).filter { !$0.hasPrefix("test.db") } == ["photos"],
            "nothing is written outside of the folder")
        try await bench.close()
    }

    /// As a row has it that another version of the app has written.
    @Test func aRowWithABadNameKeepsNobodyWaitingAndTouchesNothing() async throws {
        let handler = ScriptedHandler(triesAgain: false)
        let bench = try AttachmentBench(
            .init(handler: handler, cacheLimit: 0, watch: { AttachmentBench.watchingNothing() }))
        let outside = bench.folder.file("kept.txt")
        try Data([1]).write(to: URL(fileURLWithPath: outside))
        bench.storage.put("p1", [1])
        bench.storage.put("bad", [2])
        try await bench.put(Attachment(id: "bad", filename: "../kept.txt", state: .queuedDownload))
        try await bench.put(Attachment(id: "p1", filename: "p1.jpg", state: .queuedDownload))
        try await bench.queue.startSync()
        try await bench.wait(for: "p1", toBe: .synced)
        // Given up by the handler, and beyond the limit of the cache.
        try await bench.wait(forEndOf: "bad")
        #expect(handler.asked == [.download("bad")] && handler.errors.first?.contains("filename") == true)
        #expect(bench.storage.calls == [.download("p1")])
        #expect(FileManager.default.contents(atPath: outside) == Data([1]))
        try await bench.close()
    }

    // MARK: Deleting

    @Test func whatIsNotThereCannotBeDeleted() async throws {
        let bench = try AttachmentBench()
        let error = await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.queue.deleteFile(attachmentId: "p1") { _, _ in }
        }
        #expect(error?.description == "Attachment record with id p1 was not found.")
        try await bench.save(id: "p1")
        await #expect(throws: TestError(text: "no")) {
            try await bench.queue.deleteFile(attachmentId: "p1") { _, _ in throw TestError(text: "no") }
        }
        #expect(try await bench.row("p1")?.state == .queuedUpload)
        try await bench.close()
    }

    @Test(arguments: [TransferLane.upload, .download])
    func whatIsDeletedOnItsWayIsGoneInTheEnd(_ lane: TransferLane) async throws {
        let bench = try AttachmentBench()
        let call: ScriptedStorage.Call = lane == .upload ? .upload("p1") : .download("p1")
        let gate = bench.storage.hold(call)
        if lane == .upload {
            try await bench.save(id: "p1")
        } else {
            bench.storage.put("p1", [1])
            try await bench.addUser(photo: "p1")
        }
        try await bench.queue.startSync()
        try await wait(for: "the transfer") { gate.arrivals == 1 }
        try await bench.queue.deleteFile(attachmentId: "p1") { connection, _ in
            try connection.execute(sql: "UPDATE users SET photo_id = NULL", parameters: [])
        }
        #expect(try await bench.row("p1")?.state == .queuedDelete)
        // It is cancelled, does not notice, and is done.
        gate.open()
        try await bench.wait(forEndOf: "p1")
        #expect(bench.storage.calls == [call, .delete("p1")])
        #expect(bench.storage.files.isEmpty && bench.fileNames == [])
        try await bench.close()
    }

    @Test func whatIsNotWantedAnyMoreWhenItComesLeavesNoFile() async throws {
        let bench = try AttachmentBench()
        let gate = bench.storage.hold(.download("p1"))
        bench.storage.put("p1", [1])
        try await bench.addUser(photo: "p1")
        try await bench.queue.startSync()
        try await wait(for: "the download") { gate.arrivals == 1 }
        try await bench.setPhoto(to: nil)
        try await bench.wait(for: "p1", toBe: .archived)
        gate.open()
        try await wait(for: "the end of the download") { bench.queue.status.transfers.isEmpty }
        #expect(try await bench.row("p1")?.localUri == nil)
        #expect(bench.fileNames == [])
        // Wanted again it comes again.
        try await bench.setPhoto(to: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.bytes("p1.jpg") == [1] && bench.storage.count(.download("p1")) == 2)
        try await bench.close()
    }

    /// As after a crash between the two.
    @Test func aFileWhoseRowDoesNotKnowItGoesWithTheRow() async throws {
        let bench = try AttachmentBench()
        try bench.write([1], to: "p1.jpg")
        try bench.write([2], to: "shared.jpg")
        try await bench.put(Attachment(id: "p1", filename: "p1.jpg", state: .queuedDelete))
        try await bench.put(Attachment(id: "p2", filename: "shared.jpg", state: .queuedDelete))
        try await bench.put(
            Attachment(
                id: "p3", filename: "shared.jpg", state: .synced, hasSynced: true,
                localUri: bench.path("shared.jpg")))
        try await bench.addUser(photo: "p3")
        try await bench.queue.startSync()
        try await bench.wait(forEndOf: "p1")
        try await bench.wait(forEndOf: "p2")
        #expect(bench.fileNames == ["shared.jpg"], "another row has that one")
        try await bench.close()
    }

    // MARK: Watching

    @Test func withoutDownloadsWhatIsUnknownIsIgnoredAndWhatIsKnownIsNot() async throws {
        let bench = try AttachmentBench(.init(downloads: false))
        bench.storage.put("known", [1])
        try await bench.put(Attachment(id: "known", filename: "known.jpg", state: .archived))
        try await bench.addUser(photo: "unknown")
        try await bench.addUser("u2", photo: "known")
        try await bench.queue.startSync()
        try await bench.wait(for: "known", toBe: .synced)
        #expect(try await bench.rows().map(\.id) == ["known"])
        #expect(bench.storage.calls == [.download("known")])
        try await bench.close()
    }

    @Test func theSameListAgainWritesNothing() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        let items = (0..<3).map { WatchedAttachmentItem(id: "p\($0)", fileExtension: "jpg") }
        // Twice in it, as a UNION ALL of two tables has it.
        try await bench.queue.processWatchedAttachments(items: items + items)
        try await bench.save(id: "unwatched")
        let rows = try await bench.rows()
        #expect(rows.map(\.id) == ["p0", "p1", "p2", "unwatched"])
        let times = rows.prefix(3).map(\.timestamp)
        #expect(times == (0..<3).map { times[0] + $0 }, "each has a place of its own")
        var changes = try bench.database.watch("SELECT count(*) FROM attachments") { try $0.getInt(index: 0) }
            .makeAsyncIterator()
        #expect(try await changes.next() == [4])
        for _ in 0..<3 { try await bench.queue.processWatchedAttachments(items: items) }
        #expect(try await bench.rows().map(\.timestamp) == rows.map(\.timestamp))
        try await bench.queue.processWatchedAttachments(items: [])
        #expect(try await changes.next() == [4])
        #expect(
            try await bench.rows().map(\.state) == [.queuedUpload, .archived, .archived, .archived],
            "what was never uploaded stays")
        try await bench.close()
    }

    @Test func watchingThatFailsBeginsAgainAfterAWhile() async throws {
        let clock = SteppedClock()
        let opened = Lock(0)
        let bench = try AttachmentBench(
            .init(watch: {
                let number = opened.withLock { opened in
                    opened += 1
                    return opened
                }
                switch number {
                case 1: throw TestError(text: "cannot begin")
                case 2, 3: return AsyncThrowingStream(unfolding: { throw TestError(text: "broke") })
                default:
                    let (items, watcher) = AsyncThrowingStream.makeStream(of: [WatchedAttachmentItem].self)
                    watcher.yield([WatchedAttachmentItem(id: "p1", fileExtension: "jpg")])
                    return items
                }
            }), environment: clock.environment)
        bench.storage.put("p1", [1])
        try await bench.queue.startSync()
        for (number, pause) in zip(1..., [1, 2, 4]) {
            try await wait(for: "pause \(number)") { clock.waiting.contains(.seconds(pause)) }
            #expect(opened.withLock { $0 } == number)
            clock.advance(by: .seconds(pause))
        }
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(opened.withLock { $0 } == 4)
        #expect(bench.log.warnings(containing: "Watching the attachments of the app failed") == 3)
        try await bench.close()
    }

    // MARK: Stopping, closing, clearing

    @Test func stoppedItDoesNothingAndGoesOnWhenItIsStarted() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.startSync()
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await bench.queue.stopSyncing()
        try await wait(for: "the end of its watches") { bench.database.changes.watcherCount == 0 }
        try await bench.save(user: "u2", id: "p2")
        try await bench.setPhoto(to: "unknown")
        #expect(try await bench.rows().map(\.state) == [.synced, .queuedUpload])
        try await bench.queue.syncingService.triggerSync()
        #expect(bench.storage.calls == [.upload("p1")])
        try await bench.queue.startSync()
        try await bench.wait(for: "p2", toBe: .synced)
        try await bench.wait(for: "p1", toBe: .archived)
        try await bench.close()
    }

    @Test func ofManyStartsOneIsLeft() async throws {
        let bench = try AttachmentBench()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await bench.queue.startSync() } }
            try await group.waitForAll()
        }
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.storage.calls == [.upload("p1")])
        // Rows, counts and the photos of users.
        try await wait(for: "one of each watch") { bench.database.changes.watcherCount == 3 }
        try await bench.close()
        try await wait(for: "the end of its watches") { bench.database.changes.watcherCount == 0 }
    }

    @Test func closedItStaysClosed() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.startSync()
        try await bench.queue.close()
        try await bench.queue.close()
        #expect(await bench.queue.closed)
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.queue.startSync() }
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.queue.syncStorage() }
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.queue.syncingService.triggerSync()
        }
        try await bench.database.close()
    }

    @Test func whoLetsGoOfItEndsIt() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.close()
        let isGone: () -> Bool
        do {
            let queue = AttachmentBench.queue(.init(), of: bench.database, in: bench.folder, bench.storage)
            isGone = { [weak queue] in queue == nil }
            try await queue.startSync()
            try await wait(for: "its watches") { bench.database.changes.watcherCount == 3 }
            #expect(!isGone())
            _ = await queue.closed
        }
        try await wait(for: "the end of its watches") { bench.database.changes.watcherCount == 0 }
        #expect(isGone())
        try await bench.database.close()
    }

    @Test func clearingRemovesRowsAndFilesAndWhatIsOnItsWay() async throws {
        let bench = try AttachmentBench()
        let gate = bench.storage.hold(.download("p2"))
        try await bench.queue.startSync()
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        bench.storage.put("p2", [1])
        try await bench.addUser("u2", photo: "p2")
        try await wait(for: "the download") { gate.arrivals == 1 }
        try await bench.queue.stopSyncing()
        try await bench.queue.clearQueue()
        #expect(try await bench.rows().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: bench.folder.file("photos")))
        gate.open()
        try await bench.queue.startSync()
        // As for somebody who has signed in: what rows of the app refer to comes again.
        for id in ["p1", "p2"] { try await bench.wait(for: id, toBe: .synced) }
        try await bench.close()
    }

    @Test func theCacheIsExpiredTheOldestFirst() async throws {
        let bench = try AttachmentBench(.init(cacheLimit: 2))
        for number in 0..<5 {
            try bench.write([UInt8(number)], to: "p\(number).jpg")
            try await bench.put(
                Attachment(
                    id: "p\(number)", filename: "p\(number).jpg", state: .archived, hasSynced: true,
                    localUri: bench.path("p\(number).jpg")))
        }
        try await bench.queue.expireCache()
        #expect(try await bench.rows().map(\.id) == ["p3", "p4"])
        #expect(bench.fileNames == ["p3.jpg", "p4.jpg"])
        try await bench.close()
    }

    @Test func theCacheIsExpiredPageByPage() async throws {
        let bench = try AttachmentBench(.init(cacheLimit: 1))
        try await bench.queue.withAttachmentContext { context in
            try await context.saveAttachments(
                attachments: (0..<2500).map {
                    Attachment(id: "p\($0)", filename: "p\($0).jpg", state: .archived)
                })
            let pages = Lock<[Int]>([])
            while try await !context.deleteArchivedAttachments(callback: { attachments in
                pages.withLock { $0.append(attachments.count) }
            }) {}
            #expect(pages.withLock { $0 } == [1000, 1000, 499])
        }
        #expect(try await bench.rows().count == 1)
        try await bench.close()
    }

    /// Such as by way of another process, between the end of the file and that of the row.
    @Test func whatIsReferredToWhileItExpiresIsDownloadedAgain() async throws {
        let bench = try AttachmentBench(.init(cacheLimit: 0))
        try await bench.queue.waitForInit()
        try await bench.put(
            Attachment(
                id: "p1", filename: "p1.jpg", state: .archived, hasSynced: true,
                localUri: bench.path("p1.jpg")))
        try await bench.queue.withAttachmentContext { context in
            _ = try await context.deleteArchivedAttachments { _ in
                _ = try await context.rows.change("p1") { AttachmentRules.watched($0) }
            }
        }
        let row = try #require(try await bench.row("p1"))
        #expect(row.state == .queuedDownload && row.localUri == nil)
        try await bench.close()
    }

    /// By way of another process, between reading what is to expire and the end of the file, which is nowhere else.
    @Test(arguments: [true, false])
    func whatIsReferredToBeforeItExpiresKeepsItsFile(_ isOfARun: Bool) async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        for id in ["p1", "p2"] {
            try bench.write([1], to: "\(id).jpg")
            try await bench.put(
                Attachment(
                    id: id, filename: "\(id).jpg", state: .archived, hasSynced: false,
                    localUri: bench.path("\(id).jpg")))
        }
        let reads = Lock(0)
        let database = ForeignDatabase(base: bench.database) {
            let number = reads.withLock { reads in
                reads += 1
                return reads
            }
            guard number == 1 else { return }
            try await bench.queue.withAttachmentContext {
                _ = try await $0.rows.change("p1") { AttachmentRules.watched($0) }
            }
        }
        let context = AttachmentContext(
            db: database, tableName: "attachments", logger: bench.database.logger, maxArchivedCount: 0)
        if isOfARun {
            let local = LocalFiles(
                storage: FileManagerStorageAdapter(), subdirectories: [], path: { bench.path($0) })
            #expect(try await context.expire(local).failed == 0)
        } else {
            _ = try await context.deleteArchivedAttachments { rows in
                for row in rows {
                    try FileManager.default.removeItem(atPath: try #require(row.localUri))
                }
            }
        }
        #expect(try await bench.rows().map(\.id) == ["p1"])
        let row = try #require(try await bench.row("p1"))
        #expect(row.state == .queuedUpload && row.localUri == bench.path("p1.jpg"))
        #expect(bench.bytes("p1.jpg") == [1] && bench.bytes("p2.jpg") == nil)
        try await bench.close()
    }

    @Test func whatTheAppDoesNotRemoveKeepsItsPath() async throws {
        let bench = try AttachmentBench(.init(cacheLimit: 0))
        try await bench.queue.waitForInit()
        try await bench.put(
            Attachment(
                id: "p1", filename: "p1.jpg", state: .archived, hasSynced: true,
                localUri: bench.path("p1.jpg")))
        await #expect(throws: TestError(text: "no")) {
            _ = try await bench.queue.withAttachmentContext { context in
                try await context.deleteArchivedAttachments { _ in throw TestError(text: "no") }
            }
        }
        #expect(try await bench.row("p1")?.localUri == bench.path("p1.jpg"))
        try await bench.close()
    }

    // MARK: What crashes leave

    @Test func whatACrashHasLeftIsSettledOrRemoved() async throws {
        let bench = try AttachmentBench()
        let files = AttachmentFiles()
        // Saved, and without its name.
        for (name, hasRow) in [("saved", true), ("lost", false)] {
            let path = bench.path("\(name).jpg")
            let staged = try files.stage(path)
            try staged.write([5])
            try staged.sync()
            staged.close()
            guard hasRow else { continue }
            try await bench.put(
                Attachment(
                    id: name, filename: "\(name).jpg", state: .queuedUpload, hasSynced: false,
                    localUri: path))
        }
        try await bench.addUser("u2", photo: "saved")
        // Being saved by somebody at this moment.
        let held = try files.stage(bench.path("held.jpg"))
        try held.write([6])
        // Parts of downloads.
        for name in ["wanted", "unwanted"] {
            let part = try StagedFile(path: files.partPath(of: bench.path("\(name).jpg")), resuming: true)
            try part.write([1])
            part.close()
        }
        try await bench.put(Attachment(id: "wanted", filename: "wanted.jpg", state: .queuedDownload))
        try await bench.addUser(photo: "wanted")
        // The app's own.
        try bench.write([7], to: "own.txt")
        bench.storage.fail(.download("wanted"), with: TestError(text: "no network"))
        try await bench.queue.startSync()
        try await bench.wait(for: "saved", toBe: .synced)
        #expect(bench.storage.files["saved"] == [5])
        try await wait(for: "the download to fail") { bench.storage.count(.download("wanted")) == 1 }
        #expect(
            bench.fileNames == [
                ".powersync-new/held.jpg", ".powersync-part/wanted.jpg", "own.txt", "saved.jpg",
            ])
        held.discard()
        try await bench.close()
    }

    /// Of a file that was never uploaded nobody has another copy.
    @Test func lookingForFilesTakesWhatHasNoNameYetForThere() async throws {
        let bench = try AttachmentBench()
        let path = bench.path("p1.jpg")
        let staged = try AttachmentFiles().stage(path)
        try staged.write([5])
        try staged.sync()
        // Between the row and the name of the file.
        try await bench.put(
            Attachment(id: "p1", filename: "p1.jpg", state: .queuedUpload, hasSynced: false, localUri: path))
        try await bench.queue.verifyAttachments()
        #expect(try await bench.row("p1")?.state == .queuedUpload)
        // Whoever saves it finds it done.
        try staged.commit(to: path, replacing: false)
        #expect(bench.bytes("p1.jpg") == [5])
        try await bench.close()
    }

    // MARK: Access

    @Test func accessIsOneAfterTheOtherInTheOrderOfTheCalls() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.waitForInit()
        let access = await bench.queue.attachmentsService
        let service = try #require(access as? AttachmentService)
        let gate = Gate()
        let order = Lock<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<5 {
            tasks.append(
                Task {
                    try await bench.queue.withAttachmentContext { context in
                        order.withLock { $0.append(number) }
                        if number == 0 { await gate.pass() }
                        // A call inside runs at once.
                        try await bench.save(user: "u\(number)", id: "p\(number)")
                        #expect(try await context.getAttachment(id: "p\(number)") != nil)
                        order.withLock { $0.append(number) }
                    }
                })
            if number == 0 {
                try await wait(for: "the first one") { gate.arrivals == 1 }
            } else {
                try await wait(for: "number \(number) to wait") { service.waiterCount == number }
            }
        }
        let cancelled = tasks.remove(at: 3)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.open()
        for task in tasks { try await wait(forEndOf: task) }
        #expect(order.withLock { $0 } == [0, 0, 1, 1, 2, 2, 4, 4])
        try await bench.close()
    }

    /// A task that was begun inside has no access of its own once that is over.
    @Test func accessEndsWithTheCallback() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.waitForInit()
        let (first, second) = (Gate(), Gate())
        let late = Lock<Task<Void, any Error>?>(nil)
        try await bench.queue.withAttachmentContext { _ in
            late.withLock {
                $0 = Task {
                    await first.pass()
                    try await bench.queue.withAttachmentContext { _ in }
                }
            }
        }
        let holding = Task { try await bench.queue.withAttachmentContext { _ in await second.pass() } }
        try await wait(for: "somebody else") { second.arrivals == 1 }
        first.open()
        let access = await bench.queue.attachmentsService
        let service = try #require(access as? AttachmentService)
        try await wait(for: "the late one to wait") { service.waiterCount == 1 }
        second.open()
        try await wait(forEndOf: holding)
        let task = try #require(late.withLock { $0 })
        try await wait(forEndOf: task)
        try await bench.close()
    }

    /// A task that was begun inside, and got access there, keeps it until it is done.
    @Test func accessLastsUntilWhatWasBegunInItIsOver() async throws {
        let bench = try AttachmentBench()
        try await bench.queue.waitForInit()
        let service = try await bench.service()
        let gate = Gate()
        let order = Lock<[String]>([])
        let holding = Task {
            try await bench.queue.withAttachmentContext { _ in
                Task {
                    try await bench.queue.withAttachmentContext { _ in
                        await gate.pass()
                        // Inside of that, too.
                        try await bench.queue.withAttachmentContext { _ in
                            order.withLock { $0.append("inner") }
                        }
                    }
                }
                // It is inside by now.
                try await wait(for: "the inner task") { gate.arrivals == 1 }
                order.withLock { $0.append("outer") }
            }
        }
        try await wait(for: "the outer one to be done") { order.withLock { $0 } == ["outer"] }
        let next = Task {
            try await bench.queue.withAttachmentContext { _ in order.withLock { $0.append("next") } }
        }
        try await wait(for: "the next one to wait") { service.waiterCount == 1 }
        gate.open()
        for task in [holding, next] { try await wait(forEndOf: task) }
        #expect(order.withLock { $0 } == ["outer", "inner", "next"])
        try await bench.close()
    }

    @Test func contextsSaveAndReadRows() async throws {
        let bench = try AttachmentBench()
        let context = AttachmentContext(
            db: bench.database, tableName: "voices", logger: DefaultLogger(writers: []), maxArchivedCount: 3)
        let row = Attachment(
            id: "v1", filename: "v1.m4a", state: .synced, hasSynced: true, localUri: "/v1.m4a",
            mediaType: "audio/mp4", size: 9, metaData: "{}")
        let saved = try await context.saveAttachment(attachment: row)
        #expect(saved.timestamp > 0)
        try await context.saveAttachments(attachments: [])
        try await context.saveAttachments(attachments: [
            Attachment(id: "v2", filename: "v2.m4a", state: .queuedUpload),
            Attachment(id: "v3", filename: "v3.m4a", state: .queuedDelete),
        ])
        #expect(try await context.getAttachmentIds().sorted() == ["v1", "v2", "v3"])
        #expect(try await context.getAttachments().map(\.id) == ["v1", "v2", "v3"])
        #expect(try await context.getActiveAttachments().map(\.id) == ["v2", "v3"])
        let found = try #require(try await context.getAttachment(id: "v1"))
        #expect(found.size == 9 && found.mediaType == "audio/mp4" && found.metaData == "{}")
        #expect(found.localUri == "/v1.m4a" && found.timestamp == saved.timestamp)
        try await context.ignoreAttachment(id: "v1")
        #expect(try await context.getArchivedAttachments().map(\.id) == ["v1"])
        try await context.deleteAttachment(id: "v2")
        #expect(try await context.getAttachment(id: "v2") == nil)
        try await context.clearQueue()
        #expect(try await context.getAttachments().isEmpty)
        #expect(try await bench.queue.generateAttachmentId().count == 36)
        try await bench.close()
    }

    @Test func aRowOfAnUnknownStateIsAnError() async throws {
        let bench = try AttachmentBench()
        try await bench.database.execute(
            "INSERT INTO attachments (id, filename, state, timestamp, has_synced) VALUES ('a', 'a', 9, 0, 0)")
        await #expect(throws: PowerSyncAttachmentError.self) { try await bench.row("a") }
        try await bench.close()
    }

    @Test func aQueueWithoutItsTableSaysSo() async throws {
        let bench = try AttachmentBench(.init(table: "nowhere"))
        await #expect(throws: PowerSyncError.self) { try await bench.queue.waitForInit() }
        await #expect(throws: PowerSyncError.self) { try await bench.queue.startSync() }
        try await bench.close()
    }

    @Test func aWatchedFileNeedsAName() async {
        await #expect(processExitsWith: .failure) { _ = WatchedAttachmentItem(id: "p1") }
    }

    @Test func whatWaitsIsFoundByAnIndex() async throws {
        let bench = try AttachmentBench()
        let sql = AttachmentSQL(name: "attachments")
        let (state, limit) = (AttachmentState.queuedUpload.rawValue, 64)
        let queries: [(query: String, parameters: [(any Sendable)?], index: String)] = [
            (sql.page(isFirst: true), [state, limit], "state"),
            (sql.page(isFirst: false), [state, limit, 5, "a"], "state"),
            (sql.last, [state], "state"), (sql.hasWaiting, [state], "state"),
            (sql.overflow, [100, 1000], "state"),
            ("SELECT max(timestamp) FROM attachments", [], "timestamp"),
            ("SELECT 1 FROM attachments WHERE filename = 'a' AND id <> 'b'", [], "filename"),
        ]
        for (query, parameters, index) in queries {
            let plan = try await bench.database.getAll(
                sql: "EXPLAIN QUERY PLAN \(query)", parameters: parameters
            ) { try $0.getString(name: "detail") }
            #expect(plan.contains { $0.contains("INDEX ps_data_local__attachments__\(index)") }, "\(plan)")
        }
        try await bench.close()
    }

    @Test func activeRowsAreWatched() async throws {
        let bench = try AttachmentBench()
        var ids = try await bench.queue.attachmentsService.watchActiveAttachments().makeAsyncIterator()
        #expect(try await ids.next() == [])
        try await bench.save(id: "p1")
        #expect(try await ids.next() == ["p1"])
        try await bench.close()
    }

    // MARK: Moving a file in

    @Test func aFileIsTakenInByItsPath() async throws {
        let bench = try AttachmentBench()
        let source = bench.folder.file("recording.m4a")
        try Data(repeating: 3, count: 256).write(to: URL(fileURLWithPath: source))
        await #expect(throws: TestError(text: "no")) {
            try await bench.queue.saveFileFromUri(
                localUri: source, mediaType: "audio/mp4", fileExtension: "m4a"
            ) { _, _ in throw TestError(text: "no") }
        }
        #expect(FileManager.default.contents(atPath: source)?.count == 256, "it is where it was")
        #expect(bench.fileNames == [])
        let saved = try await bench.queue.saveFileFromUri(
            localUri: source, mediaType: "audio/mp4", fileExtension: "m4a", id: "v1"
        ) { _, attachment in #expect(attachment.size == 256) }
        #expect(saved.size == 256 && !FileManager.default.fileExists(atPath: source))
        #expect(bench.fileNames == ["v1.m4a"])
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await bench.queue.saveFileFromUri(
                localUri: source, mediaType: "audio/mp4", fileExtension: "m4a"
            ) { _, _ in }
        }
        try await bench.close()
    }
}
