import PowerSyncWire

/// The transactions of one upload, the oldest of the queue (backend 1.8, 1.9).
///
/// Only the first one may be larger than the bounds: no transaction is cut.
struct UploadBatch: Sendable {
    /// The most operations together.
    static let operationLimit = 1_000
    /// About how many bytes the operations may have together; a larger body has fewer places at the backend.
    static let byteLimit = 1 << 20

    /// The transactions, the oldest first.
    private(set) var transactions: [CrudTransaction] = []
    private let transactionLimit: Int
    private var operations = 0
    private var bytes = 0

    /// Makes an empty batch.
    ///
    /// - Parameter transactionLimit: how many transactions it may have, at least one.
    init(transactionLimit: Int) { self.transactionLimit = transactionLimit }

    /// Reads the oldest transactions of a queue, and at most one more than go together.
    ///
    /// - Parameters:
    ///   - database: the database.
    ///   - limit: how many transactions there may be.
    /// - Returns: the batch; without transactions if the queue is empty.
    /// - Throws: `PowerSyncError`.
    static func oldest(of database: any PowerSyncDatabaseProtocol, atMost limit: Int) async throws -> Self {
        var batch = UploadBatch(transactionLimit: limit)
        for try await transaction in database.getCrudTransactions() {
            guard batch.append(transaction), !batch.isFull else { break }
        }
        return batch
    }

    /// Whether nothing more goes in.
    var isFull: Bool {
        transactions.count >= transactionLimit || operations >= Self.operationLimit || bytes >= Self.byteLimit
    }

    /// Takes a transaction in if it goes together with those that are there.
    ///
    /// - Parameter transaction: the next one of the queue.
    /// - Returns: whether it was taken.
    mutating func append(_ transaction: CrudTransaction) -> Bool {
        let operations = operations + transaction.crud.count
        let bytes = bytes + transaction.crud.reduce(0) { $0 + $1.roughBytes }
        guard
            transactions.isEmpty
                || (!isFull && operations <= Self.operationLimit && bytes <= Self.byteLimit)
        else { return false }
        (self.operations, self.bytes) = (operations, bytes)
        transactions.append(transaction)
        return true
    }
}

/// How many transactions go into an upload: fewer for a while after the backend found one too large (413), and one alone
/// while it stays in the queue.
///
/// Half as many go at once, down to one. Each minute without another refusal twice as many go again.
struct UploadBatchSize: Sendable, Hashable {
    /// The most transactions of an upload (backend 1.8).
    static let most = 50
    /// How long a smaller number holds.
    static let patience = Duration.seconds(60)

    /// Whether the first transaction has stayed in the queue; until it is done, those behind it would go in vain.
    var isFirstAlone = false
    private var reduced = most
    /// When it was reduced, as `SyncEnvironment.uptime` tells.
    private var moment = Duration.zero

    /// Returns how many transactions may go now.
    func transactions(at now: Duration) -> Int {
        if isFirstAlone { return 1 }
        var (count, moment) = (reduced, moment)
        while count < Self.most, now - moment >= Self.patience {
            count *= 2
            moment += Self.patience
        }
        return min(count, Self.most)
    }

    /// Notes that an upload was too large.
    ///
    /// - Parameters:
    ///   - count: how many transactions it had.
    ///   - now: the time of now.
    /// - Returns: how many may go instead.
    mutating func refused(_ count: Int, at now: Duration) -> Int {
        (reduced, moment) = (max(count / 2, 1), now)
        return reduced
    }
}

extension CrudEntry {
    /// About how many bytes it has in an upload; found without writing it.
    fileprivate var roughBytes: Int {
        let names = table.utf8.count + id.utf8.count + (metadata?.utf8.count ?? 0) + 64
        let values = [opDataTyped, previousValuesTyped].compactMap(\.self)
        return values.reduce(names) { $0 + JsonValue.object($1).roughBytes }
    }
}

extension JsonValue {
    /// About how many bytes its text has; escapes are not counted.
    fileprivate var roughBytes: Int {
        switch self {
        case .null, .bool: 5
        case .int, .double: 12
        case .string(let text): text.utf8.count + 3
        case .array(let values): values.reduce(2) { $0 + $1.roughBytes }
        case .object(let values): values.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.roughBytes }
        }
    }
}

extension UploadTransaction {
    /// Takes a transaction of the queue over, its numbers as they are stored (backend 1.5).
    init(_ transaction: CrudTransaction) {
        self.init(id: transaction.transactionId, operations: transaction.crud.map(UploadOperation.init))
    }
}

extension UploadOperation {
    /// Takes an entry of the queue over.
    fileprivate init(_ entry: CrudEntry) {
        self.init(
            kind: UploadOperationKind(entry.op), table: entry.table, id: entry.id, opID: entry.clientId,
            data: entry.opDataTyped?.json.objectMembers, old: entry.previousValuesTyped?.json.objectMembers,
            metadata: entry.metadata)
    }
}

extension UploadOperationKind {
    fileprivate init(_ type: UpdateType) {
        switch type {
        case .put: self = .put
        case .patch: self = .patch
        case .delete: self = .delete
        }
    }
}
