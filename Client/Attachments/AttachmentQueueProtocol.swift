#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps files in step with the rows of an app that refer to them; ``AttachmentQueue`` is the one of this package.
public protocol AttachmentQueueProtocol: Sendable {
    /// The database.
    var db: any PowerSyncDatabaseProtocol { get }
    /// Gives access to the rows of the table of attachments.
    var attachmentsService: any AttachmentServiceProtocol { get }
    /// The place of the files on this device.
    var localStorage: any LocalStorageAdapter { get }
    /// Whether files are downloaded that rows of the app refer to.
    var downloadAttachments: Bool { get }

    /// Waits for the first look for the files of all rows; throws what that threw.
    func waitForInit() async throws

    /// Begins to watch rows of the app, and to transfer files.
    func startSync() async throws

    /// Stops what was begun with ``startSync()``.
    func stopSyncing() async throws

    /// Stops for good.
    func close() async throws

    /// Returns the filename of a new attachment.
    func resolveNewAttachmentFilename(attachmentId: String, fileExtension: String?) async -> String

    /// Brings the table of attachments in step with the files that rows of the app refer to.
    ///
    /// - Parameter items: all files that they refer to; what is missing is archived.
    /// - Throws: what the database throws; nothing is changed then.
    func processWatchedAttachments(items: [WatchedAttachmentItem]) async throws

    /// Saves a file, and what the app writes with it, in one transaction; the file is uploaded in the background.
    ///
    /// - Parameters:
    ///   - data: the bytes of the file.
    ///   - mediaType: its media type.
    ///   - fileExtension: what its name ends with behind a point.
    ///   - updateHook: writes what the app wants to, such as the id into the row that refers to it.
    /// - Returns: the attachment.
    /// - Throws: what the database, the storage on this device and the hook throw; nothing is saved then.
    @discardableResult
    func saveFile(
        data: Data, mediaType: String, fileExtension: String?,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment

    /// Has a file deleted, here and in the storage, and writes what the app writes with it, in one transaction.
    ///
    /// - Parameters:
    ///   - attachmentId: the id of the attachment.
    ///   - updateHook: writes what the app wants to, such as NULL into the row that refers to it.
    /// - Returns: the attachment.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)``, what the database and the hook throw; nothing has changed
    ///   then.
    @discardableResult
    func deleteFile(
        attachmentId: String,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment

    /// Returns the path of a file by its name.
    @Sendable func getLocalUri(_ filename: String) async -> String

    /// Removes all archived rows that are too many, and their files.
    func expireCache() async throws

    /// Removes all rows of the table, and the folder of the files.
    func clearQueue() async throws
}

extension AttachmentQueueProtocol {
    /// Returns `<id>.<extension>`; `<id>.attachment` without an extension.
    public func resolveNewAttachmentFilename(attachmentId: String, fileExtension: String?) -> String {
        WatchedAttachments.standardName(attachmentId, fileExtension)
    }

    /// Brings the table of attachments in step with the files that rows of the app refer to.
    ///
    /// All changes are one transaction. A file that has a row is left as it is, unless it was archived; one whose
    /// name is not allowed, or is that of another attachment's file, is left out, with a warning.
    ///
    /// - Parameter items: all files that they refer to; what is missing is archived.
    /// - Throws: what the database throws; nothing is changed then.
    public func processWatchedAttachments(items: [WatchedAttachmentItem]) async throws {
        try await WatchedAttachments(
            service: attachmentsService, downloads: downloadAttachments, subdirectories: subfolders,
            verification: AttachmentVerification(service: attachmentsService, local: localFiles),
            filename: { await self.resolveNewAttachmentFilename(attachmentId: $0, fileExtension: $1) },
            logger: log
        ).process(items)
    }

    /// Saves a file, and what the app writes with it, in one transaction; the file is uploaded in the background.
    ///
    /// - Parameters:
    ///   - data: the bytes of the file.
    ///   - mediaType: its media type.
    ///   - fileExtension: what its name ends with behind a point.
    ///   - updateHook: writes what the app wants to, such as the id into the row that refers to it.
    /// - Returns: the attachment.
    /// - Throws: what the database, the storage on this device and the hook throw; nothing is saved then.
    @discardableResult
    public func saveFile(
        data: Data, mediaType: String, fileExtension: String?,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        let names = try await newNames(nil, mediaType: mediaType, fileExtension: fileExtension, metaData: nil)
        return try await writer.save(names, data, updateHook)
    }

    /// Has a file deleted, here and in the storage, and writes what the app writes with it, in one transaction.
    ///
    /// What is under way with the file is cancelled.
    ///
    /// - Parameters:
    ///   - attachmentId: the id of the attachment.
    ///   - updateHook: writes what the app wants to, such as NULL into the row that refers to it.
    /// - Returns: the attachment.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)``, what the database and the hook throw; nothing has changed
    ///   then.
    @discardableResult
    public func deleteFile(
        attachmentId: String,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await writer.delete(attachmentId, updateHook)
    }
}

extension AttachmentQueueProtocol {
    /// What saves and deletes files.
    var writer: AttachmentWriter {
        AttachmentWriter(service: attachmentsService, local: localFiles, logger: log)
    }

    private var localFiles: LocalFiles {
        LocalFiles(storage: localStorage, subdirectories: subfolders, path: { await self.getLocalUri($0) })
    }

    /// Returns what a new file is called.
    ///
    /// - Parameters:
    ///   - id: its id; nil for a new one.
    ///   - mediaType: its media type.
    ///   - fileExtension: what its name ends with behind a point.
    ///   - metaData: what the app keeps with it.
    /// - Returns: the names.
    /// - Throws: what the database throws.
    func newNames(
        _ id: String?, mediaType: String, fileExtension: String?, metaData: String?
    ) async throws -> AttachmentWriter.Names {
        guard let id else {
            let new = try await attachmentsService.withContext { try await $0.rows.newID() }
            return try await newNames(
                new, mediaType: mediaType, fileExtension: fileExtension, metaData: metaData)
        }
        return AttachmentWriter.Names(
            id: id,
            filename: await resolveNewAttachmentFilename(attachmentId: id, fileExtension: fileExtension),
            mediaType: mediaType, metaData: metaData)
    }

    private var subfolders: [String] { (self as? AttachmentQueue)?.subdirectories ?? [] }

    private var log: any LoggerProtocol { (self as? AttachmentQueue)?.logger ?? db.logger }
}
