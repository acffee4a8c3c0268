/// Decides what becomes of a file whose transfer failed.
///
/// A queue without one tries again for ever. It is not asked where the backend says that a file is not there yet, or
/// that a row still refers to it: such a transfer is tried again.
public protocol SyncErrorHandler: Sendable {
    /// Called when a download failed; returns whether to try it again, or to give it up.
    func onDownloadError(attachment: Attachment, error: any Error) async -> Bool

    /// Called when an upload failed; returns whether to try it again, or to give it up.
    ///
    /// The file of an upload that was given up goes with the cache, although it was never uploaded.
    func onUploadError(attachment: Attachment, error: any Error) async -> Bool

    /// Called when deleting a file failed; returns whether to try it again, or to give it up.
    func onDeleteError(attachment: Attachment, error: any Error) async -> Bool
}

/// Gives each transfer up that fails.
public final class DefaultSyncErrorHandler: SyncErrorHandler, Sendable {
    /// Creates a handler.
    public init() {}

    /// Returns false.
    public func onDownloadError(attachment: Attachment, error: any Error) async -> Bool { false }

    /// Returns false.
    public func onUploadError(attachment: Attachment, error: any Error) async -> Bool { false }

    /// Returns false.
    public func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { false }
}
