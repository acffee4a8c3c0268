#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The storage that files are uploaded to and downloaded from.
///
/// ``SignedURLStorage`` is the one of a backend of this package. One of the app's own asks the app's backend for
/// signed addresses, since an app holds no credentials of a storage. Calls are cancelled when syncing stops, and when
/// a file is deleted that is on its way.
public protocol RemoteStorageAdapter: Sendable {
    /// Uploads a file; must succeed if the same file is there already.
    func uploadFile(fileData: Data, attachment: Attachment) async throws

    /// Downloads a file.
    func downloadFile(attachment: Attachment) async throws -> Data

    /// Deletes a file; must succeed if it is not there.
    func deleteFile(attachment: Attachment) async throws
}
