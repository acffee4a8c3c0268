import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Several queues: of several tables, and of one table in what are several processes.
///
/// Two lists of databases share nothing, as two processes: neither SQLite nor the system can tell them from two.
@Suite(.patient())
struct AttachmentProcessTests {
    @Test func queuesOfTwoTablesHaveNothingToDoWithEachOther() async throws {
        let bench = try AttachmentBench()
        let voices = ScriptedStorage()
        voices.put("v1", [9])
        var options = AttachmentBench.Options()
        options.table = "voices"
        options.directory = "voices"
        options.watch = { AttachmentBench.watchingNothing() }
        let queue = AttachmentBench.queue(options, of: bench.database, in: bench.folder, voices)
        try await bench.queue.startSync()
        try await queue.startSync()
        try await queue.processWatchedAttachments(items: [
            WatchedAttachmentItem(id: "v1", fileExtension: "m4a")
        ])
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await wait(for: "the voice") {
            try await queue.withAttachmentContext { try await $0.getAttachment(id: "v1") }?.state == .synced
        }
        #expect(FileManager.default.contents(atPath: bench.folder.file("voices/v1.m4a")) == Data([9]))
        #expect(bench.storage.calls == [.upload("p1")] && voices.calls == [.download("v1")])
        #expect(try await bench.rows().map(\.id) == ["p1"])
        let locks = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
            .filter { $0.contains("-attachments-") }
        #expect(locks.sorted() == ["test.db-attachments-attachments", "test.db-attachments-voices"])
        try await queue.close()
        try await bench.queue.close()
        // They are the database's.
        try await bench.database.close(deleteDatabase: true)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).sorted() == [
                "photos", "voices",
            ])
    }

    @Test func aWatchOfSeveralTablesIsOneList() async throws {
        let bench = try AttachmentBench()
        for id in ["p1", "p2"] { bench.storage.put(id, [1]) }
        var options = AttachmentBench.Options()
        options.watch = { [database = bench.database] in
            try database.watch(
                options: WatchOptions(
                    sql: """
                        SELECT photo_id FROM users WHERE photo_id IS NOT NULL
                        UNION SELECT name FROM users WHERE name LIKE 'p%'
                        """, throttle: 0
                ) { WatchedAttachmentItem(id: try $0.getString(index: 0), fileExtension: "jpg") })
        }
        let queue = AttachmentBench.queue(options, of: bench.database, in: bench.folder, bench.storage)
        try await bench.database.execute(
            "INSERT INTO users (id, name, photo_id) VALUES ('u1', 'p1', 'p1'), ('u2', 'p2', NULL)")
        try await queue.startSync()
        for id in ["p1", "p2"] { try await bench.wait(for: id, toBe: .synced) }
        #expect(bench.storage.calls == [.download("p1"), .download("p2")])
        try await queue.close()
        try await bench.close()
    }

    @Test(.enabled(if: Platform.tellsOfFiles)) func oneProcessTransfersAndTheOtherTakesOver() async throws {
        let folder = try TemporaryDirectory()
        let storage = ScriptedStorage()
        let (one, other) = (
            try AttachmentBench(folder: folder, storage: storage),
            try AttachmentBench(folder: folder, storage: storage)
        )
        try await one.queue.startSync()
        // It has the right from the first pass on.
        try await one.queue.syncStorage()
        try await other.queue.startSync()
        for number in 0..<10 {
            try await one.save(user: "a\(number)", id: "a\(number)")
            try await other.save(user: "b\(number)", id: "b\(number)")
        }
        for number in 0..<10 {
            try await other.wait(for: "a\(number)", toBe: .synced)
            try await other.wait(for: "b\(number)", toBe: .synced)
        }
        #expect(storage.calls.count == 20 && Set(storage.calls).count == 20)
        #expect(storage.mostRunning(.upload) == 1)
        // Who waits need not wait for what the other does.
        try await other.queue.syncStorage()
        try await one.queue.stopSyncing()
        try await other.save(user: "c", id: "c")
        try await other.wait(for: "c", toBe: .synced)
        try await one.queue.startSync()
        try await one.queue.deleteFile(attachmentId: "c") { connection, _ in
            try connection.execute(sql: "UPDATE users SET photo_id = NULL WHERE id = 'c'", parameters: [])
        }
        try await one.wait(forEndOf: "c")
        #expect(storage.calls.last == .delete("c"))
        try await one.close()
        try await other.close()
    }

    /// Such as one that was killed in the midst of a transfer.
    @Test(.enabled(if: Platform.tellsOfFiles)) func whoTakesOverFinishesWhatWasOnItsWay() async throws {
        let folder = try TemporaryDirectory()
        let (held, free) = (ScriptedStorage(), ScriptedStorage())
        let gate = held.hold(.upload("p1"))
        let (one, other) = (
            try AttachmentBench(folder: folder, storage: held),
            try AttachmentBench(folder: folder, storage: free)
        )
        try await one.queue.startSync()
        try await one.save(id: "p1")
        try await wait(for: "the upload") { gate.arrivals == 1 }
        try await other.queue.startSync()
        #expect(free.calls == [])
        try await one.queue.stopSyncing()
        try await other.wait(for: "p1", toBe: .synced)
        #expect(free.calls == [.upload("p1")])
        gate.open()
        try await one.close()
        try await other.close()
    }

    /// As where the one before was killed between a file and its row.
    @Test(.enabled(if: Platform.tellsOfFiles)) func whoTakesOverLooksForAllFiles() async throws {
        let folder = try TemporaryDirectory()
        let storage = ScriptedStorage()
        let (one, other) = (
            try AttachmentBench(folder: folder, storage: storage),
            try AttachmentBench(folder: folder, storage: storage)
        )
        try await one.queue.startSync()
        try await one.save(id: "p1")
        try await one.wait(for: "p1", toBe: .synced)
        try await other.queue.startSync()
        // Until it knows that another one transfers.
        try await other.queue.syncStorage()
        try FileManager.default.removeItem(atPath: one.path("p1.jpg"))
        try await one.queue.stopSyncing()
        try await wait(for: "the file to come again") { storage.count(.download("p1")) == 1 }
        try await other.wait(for: "p1", toBe: .synced)
        #expect(other.bytes("p1.jpg") == [3, 4, 5])
        try await one.close()
        try await other.close()
    }

    @Test func inMemoryOneQueueAtATimeTransfersATable() async throws {
        let bench = try AttachmentBench(name: ":memory:")
        let storage = ScriptedStorage()
        let other = AttachmentBench.queue(.init(), of: bench.database, in: bench.folder, storage)
        try await bench.queue.startSync()
        try await bench.queue.syncStorage()
        try await other.startSync()
        try await other.syncStorage()
        try await bench.save(id: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.storage.calls == [.upload("p1")] && storage.calls == [])
        try await bench.queue.close()
        try await bench.save(user: "u2", id: "p2")
        try await bench.wait(for: "p2", toBe: .synced)
        #expect(storage.calls == [.upload("p2")])
        try await other.close()
        try await bench.database.close()
    }

    @Test func aDatabaseOfAnotherMakingWillDo() async throws {
        let bench = try AttachmentBench()
        let storage = ScriptedStorage()
        storage.put("p1", [1])
        let queue = AttachmentBench.queue(
            .init(), of: ForeignDatabase(base: bench.database), in: bench.folder, storage)
        try await queue.startSync()
        try await bench.addUser(photo: "p1")
        try await bench.wait(for: "p1", toBe: .synced)
        try await queue.saveFile(data: Data([2]), mediaType: "image/jpeg", fileExtension: "jpg") {
            connection, attachment in
            try connection.execute(
                sql: "INSERT INTO users (id, name, photo_id) VALUES ('u2', 'B', ?)",
                parameters: [attachment.id])
        }
        try await wait(for: "the upload") { storage.files.count == 2 }
        try await queue.syncStorage()
        try await queue.close()
        try await bench.close()
    }

    /// As an app may make it for its tests.
    @Test func aSyncingServiceWorksWithAnAccessOfTheApps() async throws {
        struct Access: AttachmentServiceProtocol {
            let context: AttachmentContext

            func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
                try await context.db.watch("SELECT id FROM attachments WHERE state < 3") {
                    try $0.getString(index: 0)
                }
            }

            func withContext<R: Sendable>(
                callback: @Sendable @escaping (AttachmentContext) async throws -> R
            ) async throws -> R { try await callback(context) }
        }
        let bench = try AttachmentBench()
        bench.storage.put("p1", [1])
        let context = AttachmentContext(
            db: bench.database, tableName: "attachments", logger: bench.database.logger, maxArchivedCount: 0)
        let service = SyncingService(
            remoteStorage: bench.storage, localStorage: FileManagerStorageAdapter(),
            attachmentsService: Access(context: context), logger: bench.database.logger,
            getLocalUri: { [folder = bench.folder] in folder.file("photos/\($0)") }, syncThrottle: 0)
        try await service.startSync(period: 0)
        try await bench.put(Attachment(id: "p1", filename: "p1.jpg", state: .queuedDownload))
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.bytes("p1.jpg") == [1])
        try await service.stopSync()
        try await context.ignoreAttachment(id: "p1")
        #expect(try await service.deleteArchivedAttachments(context))
        #expect(try await bench.rows().isEmpty && bench.bytes("p1.jpg") == nil)
        try await service.close()
        await #expect(throws: PowerSyncAttachmentError.self) { try await service.startSync(period: 0) }
        try await bench.close()
    }

    @Test(arguments: [
        ("attachments", "-attachments-attachments"), ("Photos", "-attachments-photos"),
        ("a/b", "-attachments-a%2fb"), ("..", "-attachments-%2e%2e"), ("é", "-attachments-%c3%a9"),
    ])
    func theLockIsCalledAsTheTable(_ table: String, _ ending: String) {
        #expect(SyncLock.Purpose.ending(of: SQLText.folded(table)) == ending)
    }

    @Test func theNameOfTheLockHasALimit() {
        let tables = ["a", "b"].map { ExactText(String(repeating: "x", count: 300) + $0) }
        let endings = tables.map { SyncLock.Purpose.ending(of: $0) }
        #expect(endings[0] != endings[1])
        #expect(endings.allSatisfy { $0.utf8.count < 128 })
    }

    @Test func turnsComeInTheOrderOfTheWishes() {
        let turns = TransferTurns()
        let (table, told) = (ExactText("t"), Lock<[Int]>([]))
        let claims = (0..<4).map { number in turns.claim(table) { told.withLock { $0.append(number) } } }
        #expect(claims.map(\.isOurs) == [true, false, false, false])
        #expect(turns.claim(ExactText("T")) {}.isOurs, "another table")
        turns.release(claims[1].id, of: table)
        #expect(told.withLock { $0 } == [])
        turns.release(claims[0].id, of: table)
        #expect(told.withLock { $0 } == [2])
        turns.release(claims[2].id, of: table)
        turns.release(claims[3].id, of: table)
        #expect(told.withLock { $0 } == [2, 3])
        #expect(turns.claim(table) {}.isOurs)
    }
}
