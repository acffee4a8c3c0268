import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Random sessions of an app with its photos, over a storage that fails: in the end rows, files and storage agree.
@Suite(.patient(), .namesSeed)
struct AttachmentRandomTests {
    @Test func inTheEndRowsFilesAndStorageAgree() async throws {
        try await forEachSeed(20) { random in
            let bench = try AttachmentBench(
                .init(
                    handler: random.once(in: 2) ? ScriptedHandler(triesAgain: true) : nil,
                    cacheLimit: Int64(random.below(3)), mostAtOnce: 1 + random.below(3)))
            var session = AttachmentSession(bench: bench)
            try await bench.queue.startSync()
            for _ in 0..<(10 + random.below(30)) {
                try await session.step(&random)
                try await session.check()
            }
            try await session.end()
            try await bench.close()
        }
    }
}

/// What an app does with its photos, and what it may expect.
private struct AttachmentSession {
    let bench: AttachmentBench
    /// The bytes of all files that there ever were.
    private var bytes: [String: [UInt8]] = [:]
    private var deleted: Set<String> = []
    /// Whom each photo belongs to; nil for a user without one.
    private var photos: [String: String?] = [:]
    private var last = 0
    private var isStarted = true

    init(bench: AttachmentBench) { self.bench = bench }

    mutating func step(_ random: inout SeededRandom) async throws {
        last += 1
        let id = "p\(last)"
        switch random.below(13) {
        case 0, 1, 2:
            bytes[id] = [UInt8(last)]
            photos["u\(last)"] = id
            try await bench.save([UInt8(last)], user: "u\(last)", id: id)
        case 3, 4:
            // Of another device.
            bytes[id] = [UInt8(last)]
            photos["u\(last)"] = id
            bench.storage.put(id, [UInt8(last)])
            try await bench.addUser("u\(last)", photo: id)
        case 5:
            guard let user = photos.filter({ $0.value != nil }).keys.sorted().randomElement(using: &random),
                let photo = photos[user] ?? nil, try await bench.row(photo) != nil
            else { return }
            deleted.insert(photo)
            photos[user] = .some(nil)
            try await bench.queue.deleteFile(attachmentId: photo) { connection, _ in
                try connection.execute(
                    sql: "UPDATE users SET photo_id = NULL WHERE id = ?", parameters: [user])
            }
        case 6:
            // Taken away, or given back; what is only here is not taken away, so that it is not lost.
            guard let user = photos.keys.sorted().randomElement(using: &random) else { return }
            if let photo = photos[user] ?? nil {
                guard bench.storage.files[photo] != nil else { return }
                photos[user] = .some(nil)
                try await bench.setPhoto(of: user, to: nil)
            } else {
                let free = Set(bytes.keys).subtracting(deleted).subtracting(photos.values.compactMap { $0 })
                guard let photo = free.sorted().randomElement(using: &random),
                    bench.storage.files[photo] != nil
                else { return }
                photos[user] = photo
                try await bench.setPhoto(of: user, to: photo)
            }
        case 7:
            isStarted.toggle()
            if isStarted { try await bench.queue.startSync() } else { try await bench.queue.stopSyncing() }
        case 8:
            if random.once(in: 2) { return bench.storage.failEach(nil) }
            let unlucky = random.below(3)
            bench.storage.failEach { call in
                switch (call, unlucky) {
                case (.upload, 0), (.download, 1), (.delete, 2): TestError(text: "no network")
                default: nil
                }
            }
        case 9:
            // A file of the app, which it has until that has a row.
            let source = bench.folder.file("taken")
            try Data([UInt8(last)]).write(to: URL(fileURLWithPath: source))
            let user = "u\(last)"
            try await bench.queue.saveFileFromUri(
                localUri: source, mediaType: "image/jpeg", fileExtension: "jpg", id: id
            ) { connection, attachment in
                #expect(FileManager.default.fileExists(atPath: source))
                try connection.execute(
                    sql: "INSERT INTO users (id, name, photo_id) VALUES (?, 'A', ?)",
                    parameters: [user, attachment.id])
            }
            #expect(!FileManager.default.fileExists(atPath: source))
            bytes[id] = [UInt8(last)]
            photos[user] = id
        case 10:
            // A save that is given up at any moment: with its row, or without a trace.
            let (bench, number) = (bench, last)
            let saving = Task { try await bench.save([UInt8(number)], user: "u\(number)", id: id) }
            for _ in 0..<random.below(200) { await Task.yield() }
            saving.cancel()
            let result = await saving.result
            let isSaved = try await bench.row(id) != nil
            #expect(isSaved == ((try? result.get()) != nil))
            guard isSaved else { return }
            bytes[id] = [UInt8(last)]
            photos["u\(last)"] = id
        case 11:
            // Once everything is in the storage, so that nothing is lost.
            guard photos.values.allSatisfy({ $0.map { bench.storage.files[$0] != nil } ?? true }),
                try await bench.rows().allSatisfy({ TransferLane($0.state) == nil })
            else { return }
            try await bench.queue.clearQueue()
        default: try await bench.upload()
        }
    }

    /// What holds at every moment.
    func check() async throws {
        for row in try await bench.rows() where row.state == .synced || row.state == .queuedUpload {
            if bench.bytes(row.filename) == bytes[row.id] { continue }
            // It may have gone meanwhile, but not without its row.
            let now = try await bench.row(row.id)
            #expect(now?.state != row.state, "the file of \(row.id) is not here")
        }
    }

    /// What holds when everything had its time.
    func end() async throws {
        bench.storage.failEach(nil)
        try await bench.upload()
        try await bench.queue.startSync()
        let referred = Set(photos.values.compactMap { $0 })
        try await wait(for: "everything to be done") {
            let rows = try await bench.rows()
            let isWaiting = rows.contains { TransferLane($0.state) != nil }
            let synced = Set(rows.filter { $0.state == .synced }.map(\.id))
            if isWaiting { try await bench.queue.syncStorage() }
            return !isWaiting && synced == referred
        }
        try await bench.queue.expireCache()
        let rows = try await bench.rows()
        for id in referred {
            #expect(bench.bytes("\(id).jpg") == bytes[id] && bench.storage.files[id] == bytes[id])
        }
        for id in deleted where !referred.contains(id) {
            #expect(bench.storage.files[id] == nil && bench.bytes("\(id).jpg") == nil, "\(id) is deleted")
            #expect(!rows.contains { $0.id == id })
        }
        // Nothing lies around that no row has.
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.file("photos"))
            .filter { $0.hasSuffix(".jpg") }
        #expect(Set(names).isSubset(of: rows.map(\.filename)))
    }
}
