import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A storage that takes attachments from files and brings them into files, without holding one in memory.
///
/// Where the local storage of an ``AttachmentQueue`` is a ``FileManagerStorageAdapter`` the queue uses these calls
/// alone. Otherwise it uses those of ``RemoteStorageAdapter``, which have defaults here: they go through a temporary
/// file.
///
/// A transfer ends with `CancellationError` when its task is cancelled.
public protocol AttachmentTransportAdapter: RemoteStorageAdapter {
    /// Brings a file to the storage.
    ///
    /// The storage may have the bytes already, from an attempt whose answer was lost: that is success, too.
    ///
    /// - Parameters:
    ///   - attachment: the row of the attachment.
    ///   - localUri: the path of the file, which does not change meanwhile.
    ///   - progress: is told how far it is, by any thread, a few times a second; must not block.
    /// - Throws: why it failed.
    func upload(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws

    /// Brings a file from the storage.
    ///
    /// A file that is there is a part from an attempt that failed: go on behind it, or begin anew. Whatever fails may
    /// leave a part. The file becomes visible under its own name only after this has returned.
    ///
    /// - Parameters:
    ///   - attachment: the row of the attachment; its ``Attachment/localUri`` is where the file will be in the end.
    ///   - localUri: the path that is written; its folder may be missing.
    ///   - progress: is told how far it is, by any thread, a few times a second; must not block.
    /// - Throws: why it failed.
    func download(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws

    /// Deletes a file in the storage; one that is not there is deleted.
    ///
    /// - Parameter attachment: the row of the attachment.
    /// - Throws: why it failed.
    func delete(attachment: Attachment) async throws
}

extension AttachmentTransportAdapter {
    /// Writes the data into a temporary file and uploads that.
    ///
    /// - Parameters:
    ///   - fileData: the bytes of the file.
    ///   - attachment: the row of the attachment.
    /// - Throws: as ``upload(attachment:localUri:progress:)``; ``PowerSyncAttachmentError``.
    public func uploadFile(fileData: Data, attachment: Attachment) async throws {
        let folder = try Self.temporaryFolder()
        defer { folder.remove() }
        let path = "\(folder.path)/file"
        _ = try await FileManagerStorageAdapter().saveFile(filePath: path, data: fileData)
        try await upload(attachment: attachment, localUri: path, progress: { _ in })
    }

    /// Downloads into a temporary file and reads that.
    ///
    /// - Parameter attachment: the row of the attachment.
    /// - Returns: the bytes of the file.
    /// - Throws: as ``download(attachment:localUri:progress:)``; ``PowerSyncAttachmentError``.
    public func downloadFile(attachment: Attachment) async throws -> Data {
        let folder = try Self.temporaryFolder()
        defer { folder.remove() }
        let path = "\(folder.path)/file"
        try await download(attachment: attachment, localUri: path, progress: { _ in })
        return try await FileManagerStorageAdapter().readFile(filePath: path, mediaType: nil)
    }

    /// Deletes as ``delete(attachment:)`` does.
    ///
    /// - Parameter attachment: the row of the attachment.
    /// - Throws: as ``delete(attachment:)``.
    public func deleteFile(attachment: Attachment) async throws { try await delete(attachment: attachment) }

    private static func temporaryFolder() throws -> TemporaryDirectory {
        do {
            return try TemporaryDirectory(prefix: "powersync-attachment-")
        } catch {
            throw PowerSyncAttachmentError.ioError(error)
        }
    }
}
