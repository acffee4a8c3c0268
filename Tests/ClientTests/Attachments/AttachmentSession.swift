import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What an app does with its photos in one process, or in two on one database, and what it may expect.
///
/// Two lists of databases share nothing, as two processes: neither SQLite nor the system can tell them from two.
struct AttachmentSession {
    /// The processes.
    let benches: [AttachmentBench]
    let storage: ScriptedStorage
    /// All files that were saved, here or on another device.
    private(set) var known: Set<String> = []
    private(set) var deleted: Set<String> = []
    /// The photo of each user; nil for one without.
    private(set) var photos: [String: String?] = [:]
    /// The ids of the files of the app that were not taken in, by their paths.
    private(set) var kept: [String: String] = [:]
    private var areStarted: [Bool]
    private var last = 0

    /// Begins a session, in which all processes transfer files, or wait for the right to.
    init(_ random: inout SeededRandom) async throws {
        let isPair = random.once(in: 2) && Platform.tellsOfFiles
        let options = AttachmentBench.Options(
            handler: random.once(in: 2) ? ScriptedHandler(triesAgain: true) : nil,
            cacheLimit: Int64(random.below(3)), mostAtOnce: 1 + random.below(3))
        let (folder, storage) = (try TemporaryDirectory(), ScriptedStorage())
        // Long enough for others to come in between.
        storage.delayEach { for _ in 0..<20 { await Task.yield() } }
        self.storage = storage
        benches = try (0..<(isPair ? 2 : 1)).map { _ in
            try AttachmentBench(
                options, folder: folder, environment: Self.environment, storage: storage)
        }
        areStarted = benches.map { _ in true }
        for bench in benches { try await bench.queue.startSync() }
    }

    /// The system's clock, by which stopping waits for what is under way, however slow the machine is: what outlives its run
    /// may come behind what the other process does with the file.
    private static var environment: SyncEnvironment {
        let system = SyncEnvironment.system()
        var environment = system
        environment.sleep = { duration in
            try await system.sleep(duration == AttachmentTasks.patience ? TestOptions.deadline : duration)
        }
        return environment
    }

    /// The bytes of a file.
    static func content(of id: String) -> [UInt8] { Array(id.utf8) }

    // MARK: What the app does

    /// Does something in one of the processes.
    mutating func step(_ random: inout SeededRandom) async throws {
        last += 1
        let place = random.below(benches.count)
        let bench = benches[place]
        switch random.below(18) {
        case 0, 1: try await add(in: bench)
        case 2: try await add(in: bench, fromFile: true)
        case 3, 4: try await add(in: bench, givenUpAfter: random.below(200))
        case 5, 6: try await add(in: bench, fromFile: true, givenUpAfter: random.below(200))
        case 7, 8: try await addOfAnotherDevice(in: bench)
        case 9: try await addTwin(&random, in: bench)
        case 10: try await deleteOne(&random, in: bench)
        case 11, 12: try await takeAwayOrGiveBack(&random, in: bench)
        case 13, 14:
            areStarted[place].toggle()
            if areStarted[place] {
                try await bench.queue.startSync()
            } else {
                try await bench.queue.stopSyncing()
            }
        case 15: fail(&random)
        case 16: try await clear(bench)
        default: try await bench.upload()
        }
    }

    /// Saves a photo, or takes in a file of the app's, and may give that up at any moment: the photo has its row and its file
    /// then, or there is no trace of it, and the file of the app is where it was.
    private mutating func add(
        in bench: AttachmentBench, fromFile: Bool = false, givenUpAfter turns: Int? = nil
    ) async throws {
        let (id, user) = ("p\(last)", "u\(last)")
        let source = bench.folder.file("taken\(last)")
        if fromFile { try Data(Self.content(of: id)).write(to: URL(fileURLWithPath: source)) }
        let adding = Task {
            guard !fromFile else { return try await Self.take(source, as: id, of: user, in: bench) }
            try await bench.save(Self.content(of: id), user: user, id: id)
        }
        if let turns {
            for _ in 0..<turns { await Task.yield() }
            adding.cancel()
        }
        let result = await adding.result
        if turns == nil { try result.get() }
        let isDone = if case .success = result { true } else { false }
        // Written in the same transaction as the row of the photo, and by nobody else.
        let isSaved =
            try await bench.database.get(
                sql: "SELECT count(*) FROM users WHERE id = ?", parameters: [user]
            ) { try $0.getInt(index: 0) } == 1
        #expect(isSaved == isDone, "\(id) is saved, or an error is thrown")
        if fromFile {
            #expect(FileManager.default.fileExists(atPath: source) != isSaved)
            if !isSaved { kept[source] = id }
        }
        guard isSaved else { return }
        known.insert(id)
        photos[user] = id
    }

    private static func take(
        _ source: String, as id: String, of user: String, in bench: AttachmentBench
    ) async throws {
        try await bench.queue.saveFileFromUri(
            localUri: source, mediaType: "image/jpeg", fileExtension: "jpg", id: id
        ) { connection, attachment in
            try connection.execute(
                sql: "INSERT INTO users (id, name, photo_id) VALUES (?, 'A', ?)",
                parameters: [user, attachment.id])
        }
    }

    /// A user whose photo another device has uploaded.
    private mutating func addOfAnotherDevice(in bench: AttachmentBench) async throws {
        let (id, user) = ("p\(last)", "u\(last)")
        known.insert(id)
        photos[user] = id
        storage.put(id, Self.content(of: id))
        try await bench.addUser(user, photo: id)
    }

    /// The same, with the filename of another row: as another version of the app may have written it.
    private mutating func addTwin(_ random: inout SeededRandom, in bench: AttachmentBench) async throws {
        let names = try await bench.rows().map(\.filename)
        guard !names.isEmpty else { return }
        let (id, user) = ("z\(last)", "u\(last)")
        let twin = Attachment(id: id, filename: random.pick(names.sorted()), state: .queuedDownload)
        storage.put(id, Self.content(of: id))
        try await bench.database.writeTransaction { connection in
            let sql = AttachmentSQL(name: defaultAttachmentsTableName)
            try sql.write(twin.saved(at: try sql.stamp(at: 0, on: connection)), on: connection)
            try connection.execute(
                sql: "INSERT INTO users (id, name, photo_id) VALUES (?, 'A', ?)", parameters: [user, id])
        }
        known.insert(id)
        photos[user] = id
    }

    private mutating func deleteOne(_ random: inout SeededRandom, in bench: AttachmentBench) async throws {
        let all = photos.values.compactMap { $0 }.sorted()
        guard !all.isEmpty else { return }
        try await delete(random.pick(all), in: bench)
    }

    /// Deletes a photo, if it has a row.
    mutating func delete(_ id: String, in bench: AttachmentBench) async throws {
        do {
            try await bench.queue.deleteFile(attachmentId: id) { connection, _ in
                try connection.execute(
                    sql: "UPDATE users SET photo_id = NULL WHERE photo_id = ?", parameters: [id])
            }
        } catch let error as PowerSyncAttachmentError {
            guard case .notFound = error else { throw error }
            return
        }
        deleted.insert(id)
        for (user, photo) in photos where photo == id { photos[user] = .some(nil) }
    }

    /// What is only here is not taken away, so that it is not lost.
    private mutating func takeAwayOrGiveBack(
        _ random: inout SeededRandom, in bench: AttachmentBench
    ) async throws {
        guard !photos.isEmpty else { return }
        let user = random.pick(photos.keys.sorted())
        if let photo = photos[user] ?? nil {
            guard storage.files[photo] != nil else { return }
            photos[user] = .some(nil)
            return try await bench.setPhoto(of: user, to: nil)
        }
        let free = known.subtracting(deleted).subtracting(photos.values.compactMap { $0 }).sorted()
        guard !free.isEmpty else { return }
        let photo = random.pick(free)
        photos[user] = photo
        try await bench.setPhoto(of: user, to: photo)
    }

    /// Has one kind of transfers fail, or none.
    private func fail(_ random: inout SeededRandom) {
        if random.once(in: 2) { return storage.failEach(nil) }
        let kind = random.pick([AttachmentSyncStatus.Kind.upload, .download, .delete])
        storage.failEach { $0.kind == kind ? TestError(text: "no network") : nil }
    }

    /// Removes all rows and files, once everything is in the storage, so that nothing is lost, and nothing has to be deleted
    /// there.
    private func clear(_ bench: AttachmentBench) async throws {
        guard photos.values.allSatisfy({ $0.map { storage.files[$0] != nil } ?? true }),
            try await bench.rows().allSatisfy({ $0.state != .queuedUpload && $0.state != .queuedDelete })
        else { return }
        // A download that writes at this moment may keep the folder from going.
        try await wait(for: "everything to be cleared") {
            do {
                try await bench.queue.clearQueue()
                return true
            } catch is PowerSyncAttachmentError {
                return false
            }
        }
    }
}
