import PowerSyncCrypto
import PowerSyncWire

/// What a backend is told of a file before its bytes go, found by reading it once.
struct FileDigest: Sendable, Hashable {
    /// Where the file is, no symbolic link.
    var path: String
    /// Which file it is.
    let identity: FileIdentity
    /// The number of its bytes.
    let size: Int64
    /// The SHA-256 of the file, 64 hexadecimal digits.
    let sha256: String
    /// The SHA-256 of each part that it can be uploaded in; one at least.
    let parts: [String]

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: its path.
    ///   - work: where it is read.
    ///   - onPiece: is told the size of each piece that is held, for tests.
    /// - Returns: what was found.
    /// - Throws: `PowerSyncAttachmentError`, `CancellationError`.
    static func of(
        _ path: String, _ work: FileWork, onPiece: (@Sendable (Int) -> Void)? = nil
    ) async throws -> FileDigest {
        let file = try LocalFile(path)
        return try await work.run(bytes: file.size) { isWanted in
            var whole = Digest.SHA256()
            var parts: [String] = []
            var offset: Int64 = 0
            repeat {
                var part = Digest.SHA256()
                let end = min(offset + AttachmentPart.size, file.size)
                while offset < end {
                    guard isWanted() else { throw CancellationError() }
                    let most = min(LocalFile.pieceSize, Int(end - offset))
                    let piece = try file.bytes(at: offset, atMost: most)
                    guard !piece.isEmpty else {
                        throw AttachmentStorageError(.disk, "\(path) became shorter while it was read")
                    }
                    onPiece?(piece.count)
                    whole.update(piece)
                    part.update(piece)
                    offset += Int64(piece.count)
                }
                parts.append(Hexadecimal.encode(part.finish()))
            } while offset < file.size
            return FileDigest(
                path: file.path, identity: file.identity, size: file.size,
                sha256: Hexadecimal.encode(whole.finish()), parts: parts)
        }
    }

    /// Returns where the bytes of a part begin and how many there are.
    ///
    /// - Parameter number: the number of the part, from 1.
    /// - Returns: offset and length.
    func region(ofPart number: Int) -> (offset: Int64, length: Int64) {
        let offset = Int64(number - 1) * AttachmentPart.size
        return (offset, min(AttachmentPart.size, size - offset))
    }
}
