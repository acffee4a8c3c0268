import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// What a request comes to at a checkpoint, and what its stream sees of that: all of one moment.
package struct FoundView: Sendable {
    /// The checkpoint with the totals of the buckets.
    package let view: StoredView
    /// The buckets.
    package let found: SessionBuckets
    /// What finds them again at another checkpoint.
    package let lookups: SessionLookups
}

extension ServiceStore {
    /// Reads what a stream sees of the newest checkpoint on the disk.
    ///
    /// Everything that was committed before the call is in it.
    ///
    /// - Parameters:
    ///   - names: The stream's buckets, by whole name.
    ///   - stream: Whose they are.
    ///   - key: By what its client's write checkpoints are kept.
    ///   - isCustom: Whether rows of the source set these.
    /// - Returns: The view.
    /// - Throws: `SQLiteError`; `StoreError` if the stream is gone or a row cannot be read; `CancellationError`.
    package func view(
        of names: [String], stream: StreamNumber, key: String, isCustom: Bool = false
    ) async throws -> StoredView {
        try await pool.read {
            try StoreReading.view(of: names, stream: stream, key: key, isCustom: isCustom, $0)
        }
    }

    /// Finds the buckets of a request at the newest checkpoint on the disk, and reads what its stream sees of them.
    ///
    /// Lookups, buckets and write checkpoint are those of one moment, so a checkpoint is what a commit of the source was.
    ///
    /// - Parameters:
    ///   - lookups: The request.
    ///   - changed: The keys that find something else at `operation` than at the last evaluation; nil if any may.
    ///   - operation: The checkpoint up to which that is known; nil for none. If a newer one is on the disk already, nobody
    ///     knows what else it changes, so everything is evaluated.
    ///   - key: By what the client's write checkpoints are kept.
    /// - Returns: Buckets and view.
    /// - Throws: `RequestError` if the request is over a limit; `SQLiteError`; `StoreError` if the stream is gone or
    ///   something cannot be read; `CancellationError`.
    package func view(
        of lookups: SessionLookups, changed: Set<LookupKey>?, at operation: OperationID?, key: String
    ) async throws -> FoundView {
        try await pool.read { connection in
            try StoreSnapshot.read(of: lookups.served.stream, connection) { snapshot in
                var next = lookups
                let isKnown = snapshot.checkpoint.operation == operation
                let found = try next.evaluate(changed: isKnown ? changed : nil, in: snapshot)
                let view = StoredView(
                    checkpoint: snapshot.checkpoint,
                    buckets: try snapshot.totals(of: found.buckets.map(\.name)),
                    writeCheckpoint: try ServiceStore.writeCheckpoint(
                        key: key, isCustom: lookups.served.plan.hasCustomWriteCheckpoints,
                        of: snapshot.stream, at: snapshot.checkpoint.operation, connection))
                return FoundView(view: view, found: found, lookups: next)
            }
        }
    }
}
