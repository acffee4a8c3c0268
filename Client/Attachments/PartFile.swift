import PowerSyncSystem

/// A file that is being downloaded, and the SHA-256 of what is there of it.
final class PartFile {
    private let file: StagedFile
    private let digest = RunningDigest()
    /// How many bytes are there.
    private(set) var size: Int64
    /// Whether some of them were there when it was opened.
    private(set) var hasOlderBytes: Bool

    /// Opens what is there of a file, or makes an empty one.
    ///
    /// - Parameter path: its path.
    /// - Throws: `PowerSyncAttachmentError` with `invalidPath`; `SystemError`, also while somebody else downloads it.
    init(_ path: String) throws {
        try LocalFile.check(path)
        try AttachmentFiles.check(folderOf: path)
        file = try StagedFile(path: path, resuming: true)
        size = file.size
        hasOlderBytes = size > 0
    }

    /// Takes the bytes that are there into the digest.
    ///
    /// - Parameters:
    ///   - work: where they are read.
    ///   - onPiece: is told the size of each piece that is held.
    /// - Throws: `PowerSyncAttachmentError`, `CancellationError`.
    func digestWhatIsThere(_ work: FileWork, onPiece: (@Sendable (Int) -> Void)?) async throws {
        let (file, digest, size) = (file, digest, size)
        try await work.run(bytes: size) { isWanted in
            var offset: Int64 = 0
            while offset < size {
                guard isWanted() else { throw CancellationError() }
                let piece = try file.read(at: offset, count: LocalFile.pieceSize)
                guard !piece.isEmpty else { throw SystemError(.file, "\(file.path) became shorter") }
                onPiece?(piece.count)
                digest.add(piece)
                offset += Int64(piece.count)
            }
        }
    }

    /// Drops all that is there.
    func beginAnew() throws {
        try file.truncate(to: 0)
        _ = digest.finish()
        size = 0
        hasOlderBytes = false
    }

    /// Adds bytes.
    func append(_ bytes: [UInt8]) throws {
        try file.write(bytes)
        digest.add(bytes)
        size = file.size
    }

    /// Returns the SHA-256 of all bytes; none can be added before it is begun anew.
    func finish() -> String { digest.finish() }

    /// Closes the file and leaves it, to be gone on with.
    func close() { file.close() }

    /// Removes the file.
    func discard() { file.discard() }
}
