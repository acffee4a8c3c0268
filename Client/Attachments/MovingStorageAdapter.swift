/// A local storage that can move files, so that one which is there already need not be read and written.
///
/// ``AttachmentQueue`` needs it to take in a file by its path.
public protocol MovingStorageAdapter: LocalStorageAdapter {
    /// Moves a file; what was there before under the new name goes.
    ///
    /// - Parameters:
    ///   - sourcePath: where it is.
    ///   - targetPath: where it shall be; the folders above it are made.
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` where there is no such file.
    func moveFile(sourcePath: String, targetPath: String) async throws
}
