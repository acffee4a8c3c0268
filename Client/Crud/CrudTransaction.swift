/// All changes of one local transaction.
public struct CrudTransaction: Sendable {
    /// The transaction's number; nil for a single change made outside of one.
    public let transactionId: Int64?
    /// The changes in their order; never empty.
    public let crud: [CrudEntry]

    let database: any PowerSyncDatabaseProtocol
    /// The call of the connector that has read it.
    private let reader = ConnectorCall.current

    /// Removes this transaction and all earlier ones from the queue; call it once the backend has them.
    ///
    /// Nothing happens if they are gone already: completed before, or cleared.
    ///
    /// - Parameter writeCheckpoint: the checkpoint that the backend made for this write, if it makes its own.
    /// - Throws: `PowerSyncError`.
    public func complete(writeCheckpoint: String?) async throws {
        guard let last = crud.last?.clientId else { return }
        let calls = [reader, ConnectorCall.current]
        try await database.writeTransaction {
            // Here, where nothing can come in between.
            try ConnectorCall.refuseIfCutOff(calls)
            try CrudQueue.complete(through: last, writeCheckpoint: writeCheckpoint, in: $0)
        }
    }

    /// Removes this transaction and all earlier ones from the queue; call it once the backend has them.
    ///
    /// Nothing happens if they are gone already: completed before, or cleared.
    ///
    /// - Throws: `PowerSyncError`.
    public func complete() async throws {
        try await complete(writeCheckpoint: nil)
    }
}

/// All queued transactions, the oldest first; going through them removes none.
public struct CrudTransactions: AsyncSequence {
    /// A queued transaction.
    public typealias Element = CrudTransaction
    /// The iterator.
    public typealias AsyncIterator = CrudTransactionsIterator

    let database: any PowerSyncDatabaseProtocol

    /// Starts at the oldest transaction.
    public func makeAsyncIterator() -> CrudTransactionsIterator {
        CrudTransactionsIterator(database: database)
    }
}

/// Goes through the queued transactions.
public struct CrudTransactionsIterator: AsyncIteratorProtocol {
    private let database: any PowerSyncDatabaseProtocol
    private var lastId: Int64 = -1

    init(database: any PowerSyncDatabaseProtocol) {
        self.database = database
    }

    /// Returns the next transaction, nil after the last one in the queue.
    ///
    /// - Throws: `PowerSyncError`, with the code `unreadableQueueEntry` for an entry of the queue that cannot be read.
    public mutating func next() async throws -> CrudTransaction? {
        let entries = try await database.getAll(
            sql: CrudQueue.nextTransaction, parameters: [lastId], mapper: CrudEntry.init(cursor:))
        guard let last = entries.last else { return nil }
        lastId = last.clientId
        return CrudTransaction(transactionId: last.transactionId, crud: entries, database: database)
    }
}
