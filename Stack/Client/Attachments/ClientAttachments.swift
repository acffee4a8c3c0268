import PowerSync
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The files of a client: a queue that keeps them in step with the rows that name them, and what the tool does with it.
///
/// They lie beside the database, in `DB-attachments`. What failed is tried again each second, as long as the client is
/// connected.
final class ClientAttachments: Sendable {
    /// How often what failed is tried again, in seconds.
    private static let interval = 1.0
    /// The least time between two passes, in seconds.
    private static let throttle = 0.1
    /// The table that says what has become of each file.
    private static let table = defaultAttachmentsTableName

    /// What transfers them.
    let queue: AttachmentQueue
    private let database: any PowerSyncDatabaseProtocol
    private let options: AttachmentOptions
    private let incoming: IncomingFolder
    private let logger: any LoggerProtocol
    private let blocking = BlockingCalls()
    private let isClosed = Lock(false)

    /// Makes the queue, which transfers nothing before it is started.
    ///
    /// - Parameters:
    ///   - options: which files there are to be.
    ///   - database: an open database with the table of attachments.
    ///   - path: the absolute path of its file.
    ///   - connector: knows the backend and the user.
    ///   - logger: where is logged, also by the queue.
    init(
        _ options: AttachmentOptions, of database: any PowerSyncDatabaseProtocol, at path: String,
        connector: BackendConnector, logger: any LoggerProtocol
    ) {
        self.options = options
        self.database = database
        self.logger = logger
        incoming = IncomingFolder(path: path + "-attachments.incoming")
        let watched = "SELECT * FROM \(options.subquery) WHERE id IS NOT NULL"
        queue = AttachmentQueue(
            db: database, remoteStorage: SignedURLStorage(connector: connector),
            attachmentsDirectory: path + "-attachments",
            watchAttachments: { try database.watch(watched) { try Self.item($0) } },
            attachmentsQueueTableName: Self.table, syncInterval: Self.interval,
            archivedCacheLimit: options.cacheLimit, syncThrottleDuration: Self.throttle, logger: logger)
    }

    /// Checks the query, removes what killed processes have left, and waits until the queue knows which files there are.
    ///
    /// - Throws: `ClientError` for a query without ids; what the queue throws.
    func prepare() async throws {
        do {
            _ = try await database.getAll("SELECT id FROM \(options.subquery) LIMIT 0") { _ in }
        } catch let error as PowerSyncError where error.code == .invalidStatement {
            throw ClientError("--attachments: no query with a column id: \(PromptFailure.text(of: error))")
        }
        if let error = incoming.clear() {
            logger.warning("Removing what killed clients have copied failed: \(error)", tag: "Client")
        }
        try await queue.waitForInit()
    }

    /// Ends the queue, the first time that it is called.
    ///
    /// - Throws: what the queue throws.
    func close() async throws {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        if isFirst { try await queue.close() }
    }

    private static func item(_ cursor: any SqlCursor) throws -> WatchedAttachmentItem {
        let columns = cursor.columnNames
        func text(_ name: String) -> String? {
            columns[name].flatMap { cursor.getStringOptional(index: $0) }
        }
        let (filename, fileExtension) = (text("filename"), text("file_extension"))
        return WatchedAttachmentItem(
            id: try cursor.getString(name: "id"),
            // Of the two there must be one; this is what the queue takes for a file without.
            fileExtension: filename == nil ? fileExtension ?? "attachment" : fileExtension,
            filename: filename, metaData: text("meta_data"), mediaType: text("media_type"))
    }

    // MARK: Files

    /// Saves a copy of a file as a new attachment.
    ///
    /// - Parameters:
    ///   - file: the file, which stays as it is.
    ///   - mediaType: its media type; nil for the one that its name tells.
    ///   - isUnwanted: asked again and again; true ends it.
    ///   - change: runs in the same transaction, with the id.
    /// - Returns: the id.
    /// - Throws: `ClientError` for a file that cannot be read; what the queue and `change` throw; `CancellationError`.
    func save(
        _ file: String, mediaType: String?, unless isUnwanted: @escaping @Sendable () -> Bool,
        _ change: @escaping @Sendable (_ id: String, any ConnectionContext) throws -> Void
    ) async throws -> String {
        let source = TextFile.absolutePath(file)
        let incoming = incoming
        let copied = try await inOwnThread { try incoming.copy(source, unless: isUnwanted) }
        defer { copied.lock.discard() }
        do {
            let attachment = try await queue.saveFileFromUri(
                localUri: copied.path, mediaType: mediaType ?? FileName.mediaType(of: source),
                fileExtension: FileName.fileExtension(of: source), metaData: nil, id: nil,
                updateHook: { connection, attachment in try change(attachment.id, connection) })
            return attachment.id
        } catch {
            // What the queue has taken it has removed itself; what lies here still is of no use.
            try? FileManager.default.removeItem(atPath: copied.path)
            throw error
        }
    }

    /// Deletes an attachment.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - change: runs in the same transaction.
    /// - Throws: `PowerSyncAttachmentError` for an id that is not known; what `change` throws.
    func delete(
        _ id: String, _ change: @escaping @Sendable (any ConnectionContext) throws -> Void
    ) async throws {
        try await queue.deleteFile(attachmentId: id) { connection, _ in try change(connection) }
    }

    /// Copies an attachment into a file, which is replaced as a whole.
    ///
    /// - Parameters:
    ///   - id: the attachment's id.
    ///   - file: the file.
    ///   - isUnwanted: asked again and again; true ends it.
    /// - Throws: `PowerSyncAttachmentError` for an id that is not known; that or `ClientError` for a file that is not here;
    ///   `ClientError` or `SystemError` for one that cannot be read or written; `CancellationError`.
    func export(
        _ id: String, to file: String, unless isUnwanted: @escaping @Sendable () -> Bool
    ) async throws {
        var source = try await path(of: id)
        if !FileManager.default.fileExists(atPath: source) {
            // A process that was killed may have left it where only the queue looks for it.
            try await queue.verifyAttachments()
            source = try await path(of: id)
        }
        guard FileManager.default.fileExists(atPath: source) else {
            throw PowerSyncAttachmentError.fileNotFound(source)
        }
        let (found, target) = (source, TextFile.absolutePath(file))
        try await inOwnThread {
            try CopiedFile.replace(target, with: found, unless: isUnwanted)
        }
    }

    private func path(of id: String) async throws -> String {
        let paths = try await database.getAll(
            sql: "SELECT local_uri FROM \(Self.table) WHERE id = ?", parameters: [id]
        ) { $0.getStringOptional(index: 0) }
        guard let row = paths.first else {
            throw PowerSyncAttachmentError.notFound("Attachment record with id \(id) was not found.")
        }
        guard let path = row else {
            throw ClientError("the file of \(id) is not here yet", code: .fileNotFound)
        }
        return path
    }

    /// Runs what blocks on a thread of its own.
    private func inOwnThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await blocking.value(of: { () -> Result<Value, any Error> in Result { try body() } }).get()
    }

    // MARK: Queries

    /// The query of all attachments: `id`, `state` as the word of the SDK, `filename`, `size`, and `error`, why the last
    /// transfer failed.
    ///
    /// - Parameter errors: why transfers failed, by id.
    /// - Returns: the query.
    static func listing(_ errors: [String: String]) -> ClientStatement {
        let states: [(AttachmentState, String)] = [
            (.queuedDownload, "queuedDownload"), (.queuedUpload, "queuedUpload"),
            (.queuedDelete, "queuedDelete"), (.synced, "synced"), (.archived, "archived"),
        ]
        let words = states.map { "WHEN \($0.rawValue) THEN '\($1)'" }.joined(separator: " ")
        let members = errors.sorted { $0.key < $1.key }.map { JSONMember($0.key, .string($0.value)) }
        return ClientStatement(
            """
            WITH failed(id, error) AS MATERIALIZED (SELECT key, value FROM json_each(?))
            SELECT item.id, CASE item.state \(words) ELSE item.state END AS state, item.filename, item.size,
                failed.error
            FROM \(table) AS item LEFT JOIN failed ON failed.id = item.id ORDER BY item.timestamp, item.id
            """, [JSON.object(members).text])
    }

    /// The query of one truth value: whether every attachment that is named is here and in the storage, nothing is to be
    /// transferred, and what nothing names is archived.
    var isSettled: String {
        let named = "SELECT id FROM \(options.subquery) WHERE id IS NOT NULL"
        let synced = "SELECT id FROM \(Self.table) WHERE state = \(AttachmentState.synced.rawValue)"
        let queued = [AttachmentState.queuedDownload, .queuedUpload, .queuedDelete]
            .map { String($0.rawValue) }.joined(separator: ", ")
        return """
            SELECT NOT EXISTS (SELECT 1 FROM \(Self.table) WHERE state IN (\(queued)))
                AND NOT EXISTS (SELECT 1 FROM (\(named)) WHERE id NOT IN (\(synced)))
                AND NOT EXISTS (SELECT 1 FROM (\(synced)) WHERE id NOT IN (\(named)))
            """
    }
}
