import PowerSyncSQLite

extension ServiceStore {
    /// Reads operations for one line from the disk, as `FrameStore` asks for them.
    ///
    /// - Parameter request: Which operations, and how many.
    /// - Returns: The operations; nil if there are none.
    /// - Throws: `SQLiteError`; `StoreError` if they cannot be read; `CancellationError`.
    package func frame(_ request: FrameRequest) async throws -> Frame? {
        try await pool.read { try StoreReading.frame(request, $0) }
    }
}
