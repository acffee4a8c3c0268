import PowerSyncCrypto
import PowerSyncSystem

/// A file that takes bytes and their digest, and gets its name when both are as announced.
///
/// Safe because one task has it, which waits for each call that it hands to another thread.
final class BlobSink: @unchecked Sendable {
    /// Writes bytes behind all that is in a file; tests have a disk that is full.
    typealias Write = @Sendable (StagedFile, [UInt8]) throws(SystemError) -> Void

    private let file: StagedFile
    private let writeBytes: Write
    private var digest = Digest.SHA256()

    /// Makes the file.
    ///
    /// - Parameters:
    ///   - path: The name under which it is written.
    ///   - write: Writes to it.
    /// - Throws: `SystemError` with `.file`.
    init(path: String, write: @escaping Write) throws(SystemError) {
        file = try StagedFile(path: path, resuming: false)
        writeBytes = write
    }

    /// How many bytes are in it.
    var size: Int64 { file.size }

    /// Takes more bytes.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: `SystemError` with `.file`.
    func write(_ bytes: [UInt8]) throws(SystemError) {
        try writeBytes(file, bytes)
        digest.update(bytes)
    }

    /// Returns the 32 bytes of SHA-256 of all of them; asked for once.
    func sha256() -> [UInt8] {
        var whole = Digest.SHA256()
        swap(&whole, &digest)
        return whole.finish()
    }

    /// Gives the file its name, on the disk as a whole.
    ///
    /// - Parameters:
    ///   - path: The name.
    ///   - replacing: Whether it takes the place of what has the name.
    /// - Throws: `SystemError` with `.file`; EEXIST where something has the name that may not be replaced.
    func commit(to path: String, replacing: Bool) throws(SystemError) {
        try file.commit(to: path, replacing: replacing)
    }

    /// Removes the file, unless it has its name.
    func discard() { file.discard() }
}
