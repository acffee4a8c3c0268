/// The oldest entries of the upload queue, regardless of transactions.
public struct CrudBatch: Sendable {
    /// Whether the queue holds more than this batch.
    public let hasMore: Bool
    /// The entries, the oldest first; never empty.
    public let crud: [CrudEntry]

    let database: any PowerSyncDatabaseProtocol
    /// The call of the connector that has read it.
    private let reader = ConnectorCall.current

    /// Removes the entries from the queue; call it once the backend has them.
    ///
    /// Nothing happens if they are gone already: completed before, or cleared.
    ///
    /// - Parameter writeCheckpoint: the checkpoint that the backend made for this write, if it makes its own.
    /// - Throws: `PowerSyncError`.
    public func complete(writeCheckpoint: String? = nil) async throws {
        guard let last = crud.last?.clientId else { return }
        let calls = [reader, ConnectorCall.current]
        try await database.writeTransaction {
            // Here, where nothing can come in between.
            try ConnectorCall.refuseIfCutOff(calls)
            try CrudQueue.complete(through: last, writeCheckpoint: writeCheckpoint, in: $0)
        }
    }
}
