import PowerSyncSystem

@testable import PowerSyncSourceCompatibility

/// A backend that keeps what it is sent.
final class RecordingBackend: TodoBackend {
    private let user: SignedInUser?
    private let refuses: Bool
    private let kept = Lock<[[Change]]>([])

    init(user: SignedInUser? = nil, refuses: Bool = false) {
        self.user = user
        self.refuses = refuses
    }

    /// The changes of each upload.
    var uploads: [[Change]] { kept.withLock { $0 } }

    func signedInUser() async throws -> SignedInUser? { user }

    func apply(_ changes: [Change]) async throws {
        kept.withLock { $0.append(changes) }
        if refuses { throw TodoError.refused }
    }
}
