import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// A database with users that have photos, and a queue whose storage is a script.
struct AttachmentBench {
    let folder: TemporaryDirectory
    let database: LocalDatabase
    let log: RecordingWriter
    let storage: ScriptedStorage
    let queue: AttachmentQueue

    /// What gives the queue access to its rows.
    func service() async throws -> AttachmentService {
        let service = await queue.attachmentsService
        return try #require(service as? AttachmentService)
    }

    static let schema = Schema(
        Table(name: "users", columns: [.text("name"), .text("photo_id")]),
        createAttachmentTable(name: defaultAttachmentsTableName), createAttachmentTable(name: "voices"))

    static let watched = "SELECT photo_id FROM users WHERE photo_id IS NOT NULL"

    /// A watch of an app that tells nothing.
    static func watchingNothing() -> AsyncThrowingStream<[WatchedAttachmentItem], any Error> {
        AsyncThrowingStream(unfolding: { nil })
    }

    /// What a queue is made with, where a test cares.
    struct Options {
        var table = defaultAttachmentsTableName
        var directory = "photos"
        var handler: (any SyncErrorHandler)?
        /// No passes but those that are asked for.
        var interval: TimeInterval = 0
        var cacheLimit: Int64 = 100
        var throttle: TimeInterval = 0
        var subdirectories: [String]?
        var downloads = true
        var mostAtOnce = 1
        var local: any LocalStorageAdapter = FileManagerStorageAdapter()
        /// Takes the place of watching the photos of users.
        var watch: (@Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>)?
    }

    /// - Parameters:
    ///   - options: what the queue is made with.
    ///   - folder: where the file and the photos are, a new one if nil.
    ///   - name: the file's name.
    ///   - groups: the databases of what is a process.
    ///   - environment: the clock.
    ///   - storage: the storage, one of its own if nil.
    /// - Throws: when there is no place for a folder.
    init(
        _ options: Options = Options(), folder: TemporaryDirectory? = nil, name: String = "test.db",
        groups: DatabaseGroups = DatabaseGroups(), environment: SyncEnvironment = .system(),
        storage: ScriptedStorage = ScriptedStorage()
    ) throws {
        let folder = try folder ?? TemporaryDirectory()
        let log = RecordingWriter(keeping: folder)
        let file = name == ":memory:" ? name : folder.file(name)
        database = LocalDatabase(
            schema: Self.schema, location: .success(try DatabaseLocation(named: file)),
            logger: DefaultLogger(writers: [log]), initialStatements: [], groups: groups,
            environment: environment)
        self.folder = folder
        self.log = log
        self.storage = storage
        queue = Self.queue(options, of: database, in: folder, storage)
    }

    /// Makes a queue of a database.
    static func queue(
        _ options: Options, of database: any PowerSyncDatabaseProtocol, in folder: TemporaryDirectory,
        _ storage: any RemoteStorageAdapter
    ) -> AttachmentQueue {
        let watch: @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error> =
            options.watch
            ?? {
                try database.watch(
                    options: WatchOptions(sql: Self.watched, throttle: 0) { cursor in
                        WatchedAttachmentItem(id: try cursor.getString(index: 0), fileExtension: "jpg")
                    })
            }
        return AttachmentQueue(
            db: database, remoteStorage: storage, attachmentsDirectory: folder.file(options.directory),
            watchAttachments: watch, localStorage: options.local,
            attachmentsQueueTableName: options.table, errorHandler: options.handler,
            syncInterval: options.interval, archivedCacheLimit: options.cacheLimit,
            syncThrottleDuration: options.throttle, subdirectories: options.subdirectories,
            downloadAttachments: options.downloads, maxConcurrentTransfers: options.mostAtOnce)
    }

    // MARK: Rows of the app

    /// Adds a user who has a photo.
    func addUser(_ id: String = "u1", photo: String?) async throws {
        try await database.execute(
            sql: "INSERT INTO users (id, name, photo_id) VALUES (?, 'A', ?)", parameters: [id, photo])
    }

    /// Takes the photo of a user away, or gives another one.
    func setPhoto(of id: String = "u1", to photo: String?) async throws {
        try await database.execute(
            sql: "UPDATE users SET photo_id = ? WHERE id = ?", parameters: [photo, id])
    }

    /// Saves a photo of a new user.
    @discardableResult
    func save(
        _ bytes: [UInt8] = [3, 4, 5], user: String = "u1", id: String? = nil
    ) async throws -> Attachment {
        try await queue.saveFile(
            data: Data(bytes), mediaType: "image/jpeg", fileExtension: "jpg", metaData: nil, id: id
        ) { connection, attachment in
            try connection.execute(
                sql: "INSERT INTO users (id, name, photo_id) VALUES (?, 'A', ?)",
                parameters: [user, attachment.id])
        }
    }

    /// Empties the upload queue, as a backend that has taken everything does.
    func upload() async throws {
        try await database.execute("DELETE FROM ps_crud")
    }

    // MARK: Rows and files of attachments

    /// Returns the row of an attachment.
    func row(_ id: String) async throws -> Attachment? {
        try await queue.withAttachmentContext { try await $0.getAttachment(id: id) }
    }

    /// Returns all rows.
    func rows() async throws -> [Attachment] {
        try await queue.withAttachmentContext { try await $0.getAttachments() }
    }

    /// Writes a row as it is, but for its time.
    func put(_ row: Attachment) async throws {
        try await queue.withAttachmentContext { try await $0.saveAttachments(attachments: [row]) }
    }

    /// Waits until an attachment has a state, and returns its row.
    @discardableResult
    func wait(for id: String, toBe state: AttachmentState) async throws -> Attachment {
        let found = try await PowerSyncTestSupport.wait(
            for: "\(id) to be \(state)", read: { try await row(id) }, until: { $0?.state == state })
        guard let found else { throw TestError(text: "there is no \(id)") }
        return found
    }

    /// Waits until there is no row of an attachment.
    func wait(forEndOf id: String) async throws {
        _ = try await PowerSyncTestSupport.wait(
            for: "\(id) to be gone", read: { try await row(id) }, until: { $0 == nil })
    }

    /// The path of a photo.
    func path(_ name: String) -> String { folder.file("photos/\(name)") }

    /// The files that lie where those of the rows do, folders below included, in their order.
    var fileNames: [String] {
        let found = FileManager.default.enumerator(atPath: folder.file("photos"))
        var isFolder: ObjCBool = false
        return (found?.allObjects ?? []).compactMap { $0 as? String }.filter {
            FileManager.default.fileExists(atPath: path($0), isDirectory: &isFolder) && !isFolder.boolValue
        }.sorted()
    }

    /// The bytes of a photo; nil if there is none.
    func bytes(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map { Array($0) }
    }

    /// Writes a photo.
    func write(_ bytes: [UInt8], to name: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder.file("photos"), withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    /// Stops the queue, and lets the waits for what hangs pass, which last no longer than they may.
    ///
    /// - Parameter clock: the clock of the database.
    /// - Returns: how many waits there were: one for transfers, one for all else.
    /// - Throws: what stopping throws.
    func stop(_ clock: SteppedClock) async throws -> Int {
        let isOver = Lock(false)
        let stopping = Task {
            defer { isOver.withLock { $0 = true } }
            try await queue.stopSyncing()
        }
        var waits = 0
        try await PowerSyncTestSupport.wait(for: "the end of stopping") {
            if clock.waiting.contains(AttachmentTasks.patience) {
                waits += 1
                clock.advance(by: AttachmentTasks.patience)
            }
            return isOver.withLock { $0 }
        }
        try await stopping.value
        return waits
    }

    /// Closes queue and database.
    func close() async throws {
        try await queue.close()
        try await database.close()
    }
}
