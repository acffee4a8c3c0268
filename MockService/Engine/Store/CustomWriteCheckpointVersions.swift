import PowerSyncSQLite
import PowerSyncWire

/// The write checkpoints that rows of the source set, a version for each change (service 7.9).
///
/// At a checkpoint a client is told the newest version that it covers: with the transaction that sets it, and as long as
/// that is not visible the one before. Whoever writes leaves these two, as of lookups. Ids do not go back, whatever
/// becomes of the rows: devices wait for what they were given.
struct CustomWriteCheckpointVersions {
    private let connection: SQLiteConnection

    /// Reads and writes through a connection.
    init(_ connection: SQLiteConnection) { self.connection = connection }

    /// Writes what a client is told from now on.
    ///
    /// - Parameters:
    ///   - named: Client and id.
    ///   - stream: The stream whose rows say so.
    ///   - checkpoint: The last operation that is published, or will be with the transaction by a commit before this.
    ///   - operation: Gives the id of the version, larger than all before; asked for one if there is something to write.
    /// - Returns: Whether it was written; not if the id is not larger than the one before.
    /// - Throws: `SQLiteError`.
    func write(
        _ named: CustomWriteCheckpoint, of stream: StreamNumber, checkpoint: OperationID,
        operation: () -> OperationID
    ) throws -> Bool {
        let key = named.key.text
        if let known = try newest(of: key, in: stream, upTo: .max), known >= named.id { return false }
        let covered = try connection.one(
            "SELECT op_id FROM custom_write_checkpoint WHERE stream = ? AND key = ? AND op_id <= ? "
                + "ORDER BY op_id DESC LIMIT 1",
            [.integer(stream), .text(key), .integer(checkpoint)]
        ) { $0.int64(0) }
        try connection.run(
            "DELETE FROM custom_write_checkpoint WHERE stream = ? AND key = ? AND op_id IS NOT ?",
            [.integer(stream), .text(key), SQLiteValue(covered)])
        try connection.run(
            "INSERT INTO custom_write_checkpoint(stream, key, op_id, id) VALUES (?, ?, ?, ?)",
            [.integer(stream), .text(key), .integer(operation()), .integer(named.id)])
        return true
    }

    /// The newest id of a client.
    ///
    /// - Parameters:
    ///   - key: User and client.
    ///   - stream: The stream.
    ///   - operation: The last operation of the checkpoint.
    /// - Returns: The id; nil if none is set up to there.
    /// - Throws: `SQLiteError`.
    func newest(of key: String, in stream: StreamNumber, upTo operation: OperationID) throws -> Int64? {
        try connection.one(
            "SELECT id FROM custom_write_checkpoint WHERE stream = ? AND key = ? AND op_id <= ? "
                + "ORDER BY op_id DESC LIMIT 1",
            [.integer(stream), .text(key), .integer(operation)]
        ) { $0.int64(0) }
    }
}
