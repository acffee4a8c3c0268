import PowerSyncSystem

/// The digests of the files that were read last, and whether there is anybody to be told of others.
///
/// A file that is tried again need not be read again; and while the backend is out of reach, no other one is read.
final class KnownDigests: Sendable {
    /// How many are kept.
    static let most = 8

    private struct State {
        /// The oldest first.
        var digests: [FileDigest] = []
        var isUnreachable = false
    }

    private let state = Lock(State())

    /// Makes it without a digest.
    init() {}

    /// Whether the backend did not answer when it was to be told of a file last.
    var isUnreachable: Bool { state.withLock { $0.isUnreachable } }

    /// Notes whether the backend answered.
    func note(isUnreachable: Bool) { state.withLock { $0.isUnreachable = isUnreachable } }

    /// Returns the digest of a file; nil where it is not known.
    func digest(of file: FileIdentity) -> FileDigest? {
        state.withLock { state in state.digests.first { $0.identity == file } }
    }

    /// Keeps a digest, in place of the oldest one where there are too many.
    func keep(_ digest: FileDigest) {
        state.withLock { state in
            state.digests.removeAll { $0.identity == digest.identity }
            state.digests.append(digest)
            if state.digests.count > Self.most { state.digests.removeFirst() }
        }
    }

    /// Drops a digest.
    func forget(_ digest: FileDigest) {
        state.withLock { state in state.digests.removeAll { $0.identity == digest.identity } }
    }
}
