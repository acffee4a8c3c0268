import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Clearing removes rows with their files, whatever ends it and whoever saves beside it (Client/Attachments/SPEC.md, Files).
@Suite(.patient(), .namesSeed)
struct AttachmentClearingTests {
    /// The names beside the database that clearing has made.
    private func asides(_ bench: AttachmentBench) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
            .filter { $0.hasPrefix(FilePlace.ours) }
    }

    /// Puts a file where a clearing that was killed has left it.
    private func setAside(_ name: String, in bench: AttachmentBench) throws {
        let aside = bench.folder.file(".powersync-cleared-photos/1a")
        try FileManager.default.createDirectory(atPath: aside, withIntermediateDirectories: true)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: "\(aside)/\(name)"))
    }

    /// Such as a view that goes away when somebody signs out.
    @Test func whoeverGivesUpClearingLeavesNoFile() async throws {
        let local = CancellingStorage()
        let bench = try AttachmentBench(.init(local: local))
        try await bench.save(id: "p1")
        let gate = Gate()
        let holding = Task { try await bench.queue.withAttachmentContext { _ in await gate.pass() } }
        try await wait(for: "somebody who has access") { gate.arrivals == 1 }
        let clearing = Task { try await bench.queue.clearQueue() }
        local.cancels(clearing)
        gate.open()
        try await wait(forEndOf: holding)
        try await wait(forEndOf: clearing)
        #expect(local.hasCancelled)
        #expect(try await bench.rows().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: bench.folder.file("photos")))
        try await bench.close()
    }

    @Test func whatAKilledClearingHasLeftGoes() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        try setAside("p1.jpg", in: bench)
        try await bench.queue.startSync()
        #expect(try asides(bench) == [] && bench.fileNames == [])
        // The next queue does so, too, before it is started.
        try setAside("p1.jpg", in: bench)
        let other = AttachmentBench.queue(.init(), of: bench.database, in: bench.folder, bench.storage)
        try await other.waitForInit()
        #expect(try asides(bench) == [] && bench.fileNames == [])
        try await other.close()
        try await bench.close()
    }

    /// Killed before the rows were gone.
    @Test func filesWhoseRowsAreThereStillArePutBack() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.queue.waitForInit()
        try await bench.put(
            Attachment(
                id: "p1", filename: "p1.jpg", state: .queuedUpload, hasSynced: false,
                localUri: bench.path("p1.jpg")))
        try setAside("p1.jpg", in: bench)
        try await bench.queue.startSync()
        try await bench.wait(for: "p1", toBe: .synced)
        #expect(bench.storage.files["p1"] == [1, 2, 3] && bench.bytes("p1.jpg") == [1, 2, 3])
        #expect(try asides(bench) == [])
        try await bench.close()
    }

    /// As while another process syncs the file, which has the right to.
    @Test func clearingAllThatFailsLeavesRowsAndFiles() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.save(id: "p1")
        let path = bench.folder.file("test.db")
        let other = FileLock(path: path + SyncLock.ending, like: path)
        defer { other.release() }
        #expect(try other.take())
        let error = await #expect(throws: PowerSyncError.self) {
            try await bench.queue.disconnectAndClear()
        }
        #expect(error?.code == .invalidState)
        #expect(try await bench.row("p1")?.state == .queuedUpload)
        #expect(bench.bytes("p1.jpg") == [3, 4, 5])
        other.release()
        try await bench.queue.disconnectAndClear()
        #expect(try await bench.rows().isEmpty)
        let users = "SELECT count(*) FROM users"
        #expect(try await bench.database.get(users) { try $0.getInt(index: 0) } == 0)
        #expect(!FileManager.default.fileExists(atPath: bench.folder.file("photos")))
        #expect(try asides(bench) == [])
        // And others can come.
        try await bench.save(id: "p2")
        #expect(bench.fileNames == ["p2.jpg"])
        try await bench.close()
    }

    @Test func ofADatabaseOfAnotherMakingTheFilesGoBehindTheData() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        let queue = AttachmentBench.queue(
            .init(watch: { AttachmentBench.watchingNothing() }), of: ForeignDatabase(base: bench.database),
            in: bench.folder, bench.storage)
        try await bench.save(id: "p1")
        try await queue.disconnectAndClear()
        #expect(try await bench.rows().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: bench.folder.file("photos")))
        #expect(try asides(bench) == [])
        try await queue.close()
        try await bench.close()
    }

    /// Such as one whose transaction the disk has no room for.
    @Test func filesAreBackWhenRowsCannotBeRemovedAfterAll() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.save(id: "p1")
        let log = DefaultLogger(writers: [bench.log])
        let folder = await bench.queue.folder
        try await bench.queue.withAttachmentContext { context in
            _ = await #expect(throws: TestError.self) {
                try await folder.clear(context.rows, log) { setAside in
                    // With nothing aside it would prove nothing.
                    guard setAside() != nil else { return nil }
                    throw TestError(text: "no room")
                }
            }
        }
        #expect(bench.bytes("p1.jpg") == [3, 4, 5])
        #expect(try asides(bench) == [])
        try await bench.close()
    }

    /// As of a folder on a disk of its own.
    @Test func aFolderThatCannotBeSetAsideIsRemovedWhereItIs() async throws {
        let bench = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
        try await bench.save(id: "p1")
        try Data().write(to: URL(fileURLWithPath: bench.folder.file(".powersync-cleared-photos")))
        try await bench.queue.clearQueue()
        #expect(try await bench.rows().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: bench.folder.file("photos")))
        try await bench.close()
    }

    /// Whoever is told that a file is saved has its row and the file, or both were cleared.
    @Test func whatAnotherProcessSavesBesideItHasARowAndAFileOrNeither() async throws {
        try await forEachSeed(20) { random in
            let folder = try TemporaryDirectory()
            let (one, other) = (try AttachmentBench(folder: folder), try AttachmentBench(folder: folder))
            for bench in [one, other] { try await bench.queue.waitForInit() }
            try await one.save(id: "p")
            let saves = (0..<8).map { number in
                Task { try await other.save([UInt8(number)], user: "u\(number)", id: "p\(number)") }
            }
            for _ in 0..<random.below(500) { await Task.yield() }
            try await one.queue.clearQueue()
            for save in saves { _ = await save.result }
            let rows = try await one.rows()
            #expect(one.fileNames == rows.map(\.filename).sorted())
            #expect(try asides(one) == [])
            try await one.close()
            try await other.close()
        }
    }
}

/// A local storage of the app's own in which somebody gives up clearing while a folder is removed.
private final class CancellingStorage: LocalStorageAdapter {
    private let disk = FileManagerStorageAdapter()
    private let task = Lock<Task<Void, any Error>?>(nil)
    private let isDone = Lock(false)

    /// Whether it was cancelled.
    var hasCancelled: Bool { isDone.withLock { $0 } }

    /// Cancels a task when a folder is removed.
    func cancels(_ task: Task<Void, any Error>) { self.task.withLock { $0 = task } }

    func rmDir(path: String) async throws {
        if let clearing = task.withLock({ $0 }) {
            clearing.cancel()
            isDone.withLock { $0 = true }
        }
        try await disk.rmDir(path: path)
    }

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await disk.saveFile(filePath: filePath, data: data)
    }
    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await disk.readFile(filePath: filePath, mediaType: mediaType)
    }
    func deleteFile(filePath: String) async throws { try await disk.deleteFile(filePath: filePath) }
    func fileExists(filePath: String) async throws -> Bool { try await disk.fileExists(filePath: filePath) }
    func makeDir(path: String) async throws { try await disk.makeDir(path: path) }
    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await disk.copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }
}
