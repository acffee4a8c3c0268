import CPowerSyncSQLite
import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

#if os(Linux)
    /// How much memory files take that wait to be transferred.
    @Suite(.enabled(if: !TestOptions.hasSanitizer), .patient())
    struct AttachmentMemoryTests {
        /// By how many bytes a process has grown at most.
        private struct Growth {
            let all: Int
            /// What SQLite has held at most, its caches above all.
            let ofSQLite: Int
        }

        /// Each in a process of its own, which begins with as many files as an app has saved that was offline.
        @Test func tenThousandFilesThatWaitTakeLittleMoreMemoryThanTen() async throws {
            let few = try await Self.growth(10)
            var many: [Growth] = []
            // How many connections read at once, each of which fills a cache, is chance: that only adds. What so many files
            // take by themselves comes each time.
            var growth = Int.max
            repeat {
                many.append(try await Self.growth(10_000))
                growth = min(growth, many[many.count - 1].all - few.all)
            } while growth > Self.limit && many.count < 3
            #expect(growth <= Self.limit, "\(few), \(many)")
        }

        private static let limit = 16 << 20

        /// By how much a process grows that begins with so many files.
        private static func growth(_ count: Int) async throws -> Growth {
            let folder = try TemporaryDirectory()
            try await prepare(count, in: folder)
            try await ProcessTurn.take {
                await #expect(processExitsWith: .success) {
                    [path = folder.path as String, count = count as Int] in
                    try await AttachmentMemoryTests.transfer(count, in: path)
                }
            }
            let text = try String(contentsOfFile: folder.file("growth"), encoding: .utf8)
            let numbers = text.split(separator: " ").compactMap { Int($0) }
            try #require(numbers.count == 2 && numbers[0] > 0)
            return Growth(all: numbers[0], ofSQLite: numbers[1])
        }

        /// Saves photos of users, which wait to be uploaded.
        private static func prepare(_ count: Int, in folder: TemporaryDirectory) async throws {
            let bench = try AttachmentBench(folder: folder)
            try await bench.queue.waitForInit()
            var random = SeededRandom(seed: count)
            var rows: [Attachment] = []
            for _ in 0..<count {
                let name = "\(id(&random)).jpg"
                try bench.write([UInt8](repeating: 7, count: 10), to: name)
                rows.append(
                    Attachment(
                        id: String(name.dropLast(4)), filename: name, state: .queuedUpload,
                        localUri: bench.path(name), mediaType: "image/jpeg", size: 10))
            }
            try await bench.queue.withAttachmentContext { [rows] in
                try await $0.saveAttachments(attachments: rows)
            }
            try await bench.database.execute(
                "INSERT INTO users (id, name, photo_id) SELECT uuid(), 'A', id FROM attachments")
            try await bench.upload()
            try await bench.close()
        }

        /// An id as the queue makes them, in no order.
        private static func id(_ random: inout SeededRandom) -> String {
            var parts: [String] = []
            for length in [8, 4, 4, 4, 12] {
                var part = ""
                for _ in 0..<length { part.append(random.pick(Array("0123456789abcdef"))) }
                parts.append(part)
            }
            return parts.joined(separator: "-")
        }

        /// Transfers files until one hangs, and writes down how much memory that has taken.
        private static func transfer(_ count: Int, in folder: String) async throws {
            Memory.returnToSystem()
            ResidentMemory.forgetPeak()
            let before = ResidentMemory.bytes("VmRSS:")
            let database = PowerSyncDatabase(
                schema: AttachmentBench.schema, dbFilename: folder + "/test.db",
                logger: DefaultLogger(writers: []))
            let storage = HoldingStorage()
            let queue = AttachmentQueue(
                db: database, remoteStorage: storage, attachmentsDirectory: folder + "/photos",
                watchAttachments: { AttachmentBench.watchingNothing() })
            try await queue.startSync()
            try await wait(
                for: "some uploads, and the number of the others", read: { queue.status.uploads },
                until: {
                    $0.doneFiles == HoldingStorage.taken && $0.waitingFiles == count - HoldingStorage.taken
                })
            // As what a watch of the app tells.
            let items = try await database.getAll(AttachmentBench.watched) {
                WatchedAttachmentItem(id: try $0.getString(index: 0), fileExtension: "jpg")
            }
            try #require(items.count == count)
            try await queue.processWatchedAttachments(items: items)
            let all = ResidentMemory.bytes("VmHWM:") - before
            try "\(all) \(sqlite3_memory_highwater(0))".write(
                toFile: folder + "/growth", atomically: true, encoding: .utf8)
            try await queue.close()
            storage.gate.open()
            try await database.close()
        }
    }

    /// A storage that takes some files, and holds the next one.
    private final class HoldingStorage: RemoteStorageAdapter {
        static let taken = 5
        let gate = Gate()
        private let count = Lock(0)

        func uploadFile(fileData: Data, attachment: Attachment) async throws {
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > Self.taken { await gate.pass() }
        }

        func downloadFile(attachment: Attachment) async throws -> Data {
            throw TestError(text: "nothing is here")
        }

        func deleteFile(attachment: Attachment) async throws {}
    }
#endif
