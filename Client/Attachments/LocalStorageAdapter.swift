#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The place on this device where files are kept.
///
/// ``FileManagerStorageAdapter`` is the one for files on disk.
public protocol LocalStorageAdapter: Sendable {
    /// Writes a file, in place of one that has the path; returns how many bytes there are.
    func saveFile(filePath: String, data: Data) async throws -> Int64

    /// Returns the bytes of a file; throws ``PowerSyncAttachmentError/fileNotFound(_:)`` if there is none.
    func readFile(filePath: String, mediaType: String?) async throws -> Data

    /// Removes a file; does nothing if there is none.
    func deleteFile(filePath: String) async throws

    /// Returns whether there is a file.
    func fileExists(filePath: String) async throws -> Bool

    /// Makes a folder and those above it; does nothing if it is there.
    func makeDir(path: String) async throws

    /// Removes a folder with all that is in it; does nothing if there is none.
    func rmDir(path: String) async throws

    /// Copies a file, in place of one that has the path; throws ``PowerSyncAttachmentError/fileNotFound(_:)`` if
    /// there is nothing to copy.
    func copyFile(sourcePath: String, targetPath: String) async throws
}

extension LocalStorageAdapter {
    /// Returns the bytes of a file whose media type does not matter.
    public func readFile(filePath: String) async throws -> Data {
        try await readFile(filePath: filePath, mediaType: nil)
    }
}
