import PowerSync
import PowerSyncSystem

/// A transaction that the backend will never take, as it is told (backend 1.6): of its rows no more than which one failed.
struct RefusedUpload: Sendable {
    /// When the backend has said so, in microseconds since 1970.
    let time: Int64
    /// The number of the transaction.
    let transactionId: Int64?
    /// What failed, as a stable code.
    let code: String?
    /// What failed, in a sentence of the backend.
    let message: String?
    /// The table of the change that failed, where the backend says so.
    let table: String?
    /// The id of its row, where the backend says so.
    let rowID: String?
    /// The name under which the backend keeps the transaction.
    let rejectionID: String?
    /// Whether the backend leaves to the client what becomes of it, so that it stays in the queue.
    let isUndecided: Bool

    /// Takes a verdict over that is a refusal.
    init(_ verdict: UploadVerdict) {
        time = WallClock.microseconds()
        transactionId = verdict.transactionId
        code = verdict.code
        message = verdict.message
        table = Self.text("table", of: verdict)
        rowID = Self.text("id", of: verdict)
        rejectionID = verdict.rejectionId
        isUndecided = verdict.outcome == .needsDecision
    }

    private static func text(_ name: String, of verdict: UploadVerdict) -> String? {
        guard case .string(let text)? = verdict.details[name] else { return nil }
        return text
    }

    /// What a person reads of it, in one line once nothing in it acts on a terminal.
    var text: String {
        let row = [table, rowID].compactMap { $0 }.joined(separator: " ")
        let reason = [message, code.map { "(\($0))" }].compactMap { $0 }.joined(separator: " ")
        let parts = ["upload refused", row, reason].filter { !$0.isEmpty }
        let rest =
            isUndecided
            ? "its transaction stays in the queue until .discard" : "its transaction has left the queue"
        return "\(parts.joined(separator: ": ")); \(rest)"
    }
}

/// What the backend says of uploads, as far as somebody has to learn of it: each refusal once.
///
/// A transaction that the backend leaves to the client is refused anew with each attempt. It stays in the queue, and
/// everything behind it, until it is discarded.
final class RefusedUploads: Sendable {
    /// A transaction is known by its first entry of the queue, whose number comes once in the life of a file.
    private struct State {
        /// The one that waits for a decision.
        var undecided: Int64?
        /// The one that was told last as such.
        var told: Int64?
    }

    private let state = Lock(State())
    private let tell: @Sendable (RefusedUpload) -> Void

    /// Knows of nothing yet.
    ///
    /// - Parameter tell: gets each refusal; must be quick.
    init(_ tell: @escaping @Sendable (RefusedUpload) -> Void) { self.tell = tell }

    /// Takes what the backend says of a transaction.
    func take(_ verdict: UploadVerdict) {
        switch verdict.outcome {
        // That comes with its changes, to be decided.
        case .needsDecision: break
        // They decide nothing of the one that waits.
        case .notAttempted, .retryLater: break
        case .accepted: state.withLock { $0.undecided = nil }
        case .rejected:
            state.withLock { $0.undecided = nil }
            tell(RefusedUpload(verdict))
        }
    }

    /// Takes a transaction that the backend leaves to the client: it is kept until somebody discards it.
    func decide(_ verdict: UploadVerdict, _ transaction: CrudTransaction) -> UploadDecision {
        let entry = transaction.crud.first?.clientId
        let isNew = state.withLock { state in
            state.undecided = entry
            defer { state.told = entry }
            return state.told != entry
        }
        if isNew { tell(RefusedUpload(verdict)) }
        return .keep
    }

    /// Returns whether a transaction is the one that waits for a decision.
    func isUndecided(_ transaction: CrudTransaction) -> Bool {
        guard let undecided = state.withLock({ $0.undecided }) else { return false }
        return transaction.crud.first?.clientId == undecided
    }
}
