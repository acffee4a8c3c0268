import PowerSyncSQLite

/// The local write gate and write checkpoints (client-core 8).
extension SyncStore {
    /// The target while local writes wait for a write checkpoint.
    package static let pendingTarget = Int64.max

    enum Key: String {
        case target = "target_checkpoint_request_id"
        case lastSeen = "last_seen_checkpoint_request_id"
        case lastApplied = "last_applied_checkpoint_request_id"
        case lastRequested = "last_requested_checkpoint_request_id"
    }

    func key(_ key: Key) throws -> Int64? {
        // Official SDKs may have stored numbers as text.
        try connection.one(
            "SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = ?1", [.text(key.rawValue)]
        ) { $0.integer(0) } ?? nil
    }

    func setKey(_ key: Key, to value: Int64) throws {
        try connection.run(
            """
            INSERT INTO ps_kv(key, value) VALUES (?1, ?2)
            ON CONFLICT(key) DO UPDATE SET value = excluded.value
            """, [.text(key.rawValue), .integer(value)])
    }

    /// Returns the write checkpoint that must be seen before rows are applied; nil when none is awaited.
    package func target() throws -> Int64? { try key(.target) }

    /// Sets the target.
    ///
    /// - Parameter id: the write checkpoint; 0 removes the target.
    /// - Returns: the target before.
    /// - Throws: `SyncError` for a negative id.
    package func setTarget(_ id: Int64) throws -> Int64? {
        guard id >= 0 else {
            throw SyncError(
                .invalidArgument, "target checkpoint request id must be a non-negative integer")
        }
        let previous = try target()
        if id == 0 {
            try connection.run("DELETE FROM ps_kv WHERE key = ?1", [.text(Key.target.rawValue)])
        } else {
            try setKey(.target, to: id)
        }
        try CoreExtension.of(connection).crud.forgetGate()
        return previous
    }

    /// Whether the upload queue holds anything.
    package func hasPendingUploads() throws -> Bool { try frontOfUploadQueue() != nil }

    /// Returns the id of the oldest entry of the upload queue.
    package func frontOfUploadQueue() throws -> Int64? {
        try connection.one("SELECT id FROM ps_crud ORDER BY id LIMIT 1") { $0.int64(0) }
    }

    /// Returns the number of the last local write if a write checkpoint must be obtained for it (client-core 8.2).
    package func writeAwaitingCheckpoint() throws -> Int64? {
        guard try target() == Self.pendingTarget, try !hasPendingUploads() else { return nil }
        return try lastWrite()
    }

    /// Sets the target to a write checkpoint obtained for a local write.
    ///
    /// - Returns: false if there were other writes meanwhile, so that a later write checkpoint is needed.
    package func setTarget(_ id: Int64, ifLastWriteIs write: Int64) throws -> Bool {
        guard try !hasPendingUploads(), try lastWrite() == write else { return false }
        _ = try setTarget(id)
        return true
    }

    private func lastWrite() throws -> Int64? {
        try connection.one("SELECT seq FROM sqlite_sequence WHERE name = 'ps_crud'") { $0.int64(0) }
    }

    // MARK: Checkpoint requests (client-core 8.4)

    /// Returns the id with which a new stream begins its checkpoint requests.
    package func firstCheckpointRequest() throws -> Int64 {
        let target = try target() ?? 0
        return max(try key(.lastRequested) ?? 0, target < Self.pendingTarget ? target : 0, 1)
    }

    /// Stores the id that the service answered; it may be lower than before.
    package func seedCheckpointRequest(_ id: Int64) throws {
        guard id > 0 else {
            throw SyncError(
                .invalidArgument,
                "checkpoint request id must be a \(id < 0 ? "non-negative" : "positive") integer")
        }
        try setKey(.lastRequested, to: id)
    }

    /// Allocates the next id.
    package func nextCheckpointRequest() throws -> Int64 {
        guard let last = try key(.lastRequested) else {
            throw SyncError(.invalidState, "Checkpoint request state has not been seeded")
        }
        guard last < .max else { throw SyncError(.invalidState, "No checkpoint request id is left") }
        try setKey(.lastRequested, to: last + 1)
        return last + 1
    }

    /// Returns the id that was allocated last.
    package func currentCheckpointRequest() throws -> Int64? { try key(.lastRequested) }
}
