import PowerSyncCrypto

/// The SHA-256 of bytes that come one after the other, some of them on another thread.
final class RunningDigest: @unchecked Sendable {
    // Safe because one thread at a time adds bytes: a task waits for the thread that reads a file, or never comes back
    // to the digest.
    private var digest = Digest.SHA256()

    /// Adds bytes.
    func add(_ bytes: [UInt8]) { digest.update(bytes) }

    /// Returns the SHA-256 as messages spell it, and begins anew.
    func finish() -> String {
        var ended = Digest.SHA256()
        swap(&ended, &digest)
        return Hexadecimal.encode(ended.finish())
    }
}
