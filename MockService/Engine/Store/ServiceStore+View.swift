import PowerSyncSQLite

extension ServiceStore {
    /// Reads what a stream sees of the newest checkpoint on the disk.
    ///
    /// Everything that was committed before the call is in it.
    ///
    /// - Parameters:
    ///   - names: The stream's buckets, by whole name.
    ///   - stream: Whose they are.
    ///   - key: By what its client's write checkpoints are kept.
    /// - Returns: The view.
    /// - Throws: `SQLiteError`; `StoreError` if the stream is gone or a row cannot be read; `CancellationError`.
    package func view(of names: [String], stream: StreamNumber, key: String) async throws -> StoredView {
        try await pool.read { try StoreReading.view(of: names, stream: stream, key: key, $0) }
    }
}
