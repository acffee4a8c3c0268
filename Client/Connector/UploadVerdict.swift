import PowerSyncWire

/// What a backend made of one transaction of the upload queue.
///
/// A ``BackendConnector`` tells it to the app. The texts come from the backend, and name constraints and tables.
public struct UploadVerdict: Sendable, Hashable {
    /// What became of the transaction.
    public enum Outcome: Sendable {
        /// The backend has committed it, or found nothing to change. It has left the queue.
        case accepted
        /// The backend will never take it, and keeps it for its operators. It has left the queue, and with the next
        /// checkpoint the rows are those of the backend again.
        case rejected
        /// The backend will never take it, and leaves it to the app what becomes of it (`requires_client_handling`). It
        /// is in the queue until the app decides.
        case needsDecision
        /// The backend cannot take it now. It is in the queue, and is sent again.
        case retryLater
        /// The backend has not looked at it, because of a transaction before it. It is in the queue, and is sent again.
        case notAttempted
    }

    /// What became of one change of the transaction.
    public struct Operation: Sendable, Hashable {
        /// The place in the transaction, from 0.
        public let index: Int
        /// The ``CrudEntry/clientId`` of the change, if the backend names it.
        public let clientId: Int64?
        /// What became of it.
        public let state: State
        /// Why, for other states than ``State/applied``; such as `ROW_MISSING`.
        public let code: String?

        /// The kinds of what can become of a change; the set is open.
        public struct State: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
            /// The backend's word for it.
            public let rawValue: String

            /// Creates a state of the backend's word.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The backend's word for it.
            public var description: String { rawValue }

            /// The row was written.
            public static let applied = State(rawValue: "applied")
            /// There was nothing to change, because the row is gone, for example.
            public static let noop = State(rawValue: "noop")
            /// The row was written with another value than that of the app.
            public static let adjusted = State(rawValue: "adjusted")
            /// A rule of the backend prefers the row that it has.
            public static let conflict = State(rawValue: "conflict")
            /// The change was refused.
            public static let rejected = State(rawValue: "rejected")
            /// Another change of the same transaction was refused, and this one with it.
            public static let skipped = State(rawValue: "skipped")
            /// The backend has had it before: nothing was done a second time.
            public static let replayed = State(rawValue: "replayed")
        }
    }

    /// What became of the transaction.
    public let outcome: Outcome
    /// The ``CrudTransaction/transactionId`` of the transaction.
    public let transactionId: Int64?
    /// Whether the backend repeats what it said of an earlier upload of the same transaction.
    public let isReplayed: Bool
    /// What failed, as a stable code such as `CHECK_VIOLATION`; nil if nothing did.
    public let code: String?
    /// What failed, in a sentence of the backend.
    public let message: String?
    /// The place of the change that failed in the transaction, from 0; nil if none did by itself.
    public let failedOperation: Int?
    /// Names that belong to the failure, such as `constraint` and `table`.
    public let details: JsonParam
    /// The name under which the backend keeps a transaction that it has rejected.
    public let rejectionId: String?
    /// What became of each change, where the backend says so.
    public let operations: [Operation]

    /// Whether the client's part is done: the transaction may leave the queue.
    var isSettled: Bool { outcome == .accepted || outcome == .rejected }

    /// Takes a result of an answer over (backend 1.6).
    ///
    /// - Parameters:
    ///   - result: the result.
    ///   - transactionId: the number of the transaction that it is for.
    init(_ result: UploadResult, transactionId: Int64?) {
        outcome =
            switch result.status {
            case .success: .accepted
            case .fatalError: result.requiresClientHandling ? .needsDecision : .rejected
            case .retryableError: .retryLater
            case .notAttempted: .notAttempted
            }
        self.transactionId = transactionId
        isReplayed = result.replayed
        code = result.failure?.errorCode
        message = result.failure.flatMap { $0.message.isEmpty ? nil : $0.message }
        failedOperation = result.failure?.operationIndex
        details = JsonParam(result.failure?.details ?? [])
        rejectionId = result.rejectionID
        operations = result.operations.map {
            Operation(
                index: $0.index, clientId: $0.opID, state: Operation.State(rawValue: $0.status), code: $0.code
            )
        }
    }
}

/// What becomes of a transaction that the backend will never take and that it leaves to the app.
public enum UploadDecision: Sendable, Hashable {
    /// The transaction leaves the queue, and the backend never gets it.
    case discard
    /// The transaction stays first in the queue, and everything behind it waits. The next attempt asks again.
    case keep
}
