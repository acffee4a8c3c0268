import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSystem

/// The number of a replication stream: one for each deployed configuration (service 7.2).
package typealias StreamNumber = Int64

/// Where a replication stream stands.
package struct StreamRecord: Sendable, Equatable {
    /// Its number.
    package let number: StreamNumber
    /// The configuration's text.
    package let config: String
    /// The digest of the text.
    package let configHash: String
    /// The replication slot on the source.
    package let slot: String
    /// The publication that the slot was made for, its id and version; 0 if that was not noted.
    package let publication: Int64
    /// Whether it is the one that clients are served from.
    package var isActive: Bool
    /// Whether another one has taken its place, and its data is being deleted.
    package var isStopped: Bool
    /// Whether every table has been read.
    package var isSnapshotDone: Bool
    /// No checkpoint is published before the log has passed this.
    package var noCheckpointBefore: LSN
    /// Whether rows are stored that are newer than the log, up to a position that is not known yet; none is published.
    package var isAhead: Bool
    /// The end of the last transaction that was applied.
    package var appliedLSN: LSN
    /// What is stored of the transaction behind that.
    package var partial = TransactionProgress()
    /// The last operation that was written, published or not.
    package var lastOperation: Int64
    /// The published checkpoint.
    package var checkpoint: StoredCheckpoint
    /// Up to where Postgres may forget its log, should that be further than what was applied; zero before the slot is made.
    package var reportedLSN: LSN

    /// Up to where Postgres may have been told that everything is stored here: if its slot is further, something is missing.
    package var storedLSN: LSN { max(appliedLSN, reportedLSN) }
}

/// A published checkpoint: all changes up to the position are in operations up to the id (service 0).
package struct StoredCheckpoint: Sendable, Hashable {
    /// The last operation that belongs to it.
    package let operation: Int64
    /// The position in the source's log.
    package let lsn: LSN

    /// Makes a checkpoint.
    package init(operation: Int64, lsn: LSN) {
        self.operation = operation
        self.lsn = lsn
    }
}

/// The state of the service in one SQLite file; it survives the end of the process at any moment.
package final class ServiceStore: Sendable {
    /// The connections: those that read are for streams, which may keep all of them busy.
    ///
    /// Replication reads and writes on the one that writes, and so do requests for write checkpoints.
    package let pool: SQLitePool
    /// Streams that surely have no table with former writers, which is asked at each commit.
    let streamsWithoutWriters = Lock<Set<StreamNumber>>([])
    /// How much is written at once, and cached.
    package let limits: StoreLimits
    /// Whether somebody writes, which upkeep makes room for.
    package let activity: StoreActivity
    /// What streams have to be told of with the next checkpoint.
    let unpublished: UnpublishedChanges
    private let path: String

    /// Opens the file, which is made if it is missing, and which nobody else may read.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - readers: How many streams can read at once.
    ///   - former: What a file that is made has to know of the one whose place it takes.
    ///   - limits: How much is written at once, and cached.
    ///   - onCheckpointFailure: Gets why the log is not copied into the file, on a disk that is full as a rule, each time: what
    ///     is written goes on until the log has no room either. Must not block.
    /// - Returns: The store.
    /// - Throws: `SQLiteError`, or `StoreError` for the file of another version.
    package static func open(
        path: String, readers: Int = 4, after former: FormerState = FormerState(),
        limits: StoreLimits = StoreLimits(),
        onCheckpointFailure: @escaping @Sendable (WALFailure) -> Void = { _ in }
    ) async throws -> ServiceStore {
        StateFile.makePrivate(path)
        let activity = StoreActivity()
        let pool = try await SQLitePool.open(
            path: path, readers: readers, logLimit: limits.logBytes,
            setUp: { connection, isWriter in
                try StoreSchema6.configure(connection, isWriter: isWriter, limits: limits)
                if isWriter { try StoreSchema6.prepare(connection, after: former) }
            }, onChange: { _ in activity.noteWrite() }, onCheckpointFailure: onCheckpointFailure)
        return ServiceStore(pool: pool, path: path, limits: limits, activity: activity)
    }

    private init(pool: SQLitePool, path: String, limits: StoreLimits, activity: StoreActivity) {
        self.pool = pool
        self.path = path
        self.limits = limits
        self.activity = activity
        unpublished = UnpublishedChanges(limits: limits)
    }

    /// The size of the file with its log in bytes, for which no reader is waited for.
    package func size() -> Int64 { StateFile.size(path) }

    /// Closes the file once accepted work is done.
    package func close() async { await pool.close() }

    /// The newest stream of a configuration that has not been stopped.
    package func stream(configHash: String) async throws -> StreamRecord? {
        try await one(
            "WHERE state <> 'stopped' AND config_hash = ? ORDER BY id DESC LIMIT 1", [.text(configHash)])
    }

    /// The stream that clients are served from, of whatever configuration.
    package func activeStream() async throws -> StreamRecord? { try await one("WHERE state = 'active'") }

    /// The stream that is being built, to take the place of the one that clients are served from.
    package func buildingStream() async throws -> StreamRecord? {
        try await one("WHERE state = 'building' ORDER BY id DESC LIMIT 1")
    }

    /// Stops what was being built of other configurations.
    ///
    /// - Parameter configHash: The configuration that is wanted now.
    /// - Returns: The stream that clients are served from meanwhile, of this configuration or a former one.
    /// - Throws: `SQLiteError`.
    package func deploy(configHash: String) async throws -> StreamRecord? {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET state = 'stopped' WHERE state = 'building' AND config_hash <> ?",
                [.text(configHash)])
        }
        return try await activeStream()
    }

    private func one(_ condition: String, _ values: [SQLiteValue] = []) async throws -> StreamRecord? {
        try await pool.write { connection in
            try connection.one("SELECT \(Self.columns) FROM replication_stream \(condition)", values) {
                Self.record($0)
            }
        }
    }

    /// One stream, as it is now.
    package func stream(_ number: StreamNumber) async throws -> StreamRecord {
        let record = try await one("WHERE id = ?", [.integer(number)])
        guard let record else { throw StoreError.noStream }
        return record
    }

    /// Adds a stream under the next number.
    ///
    /// - Parameters:
    ///   - config: The configuration's text.
    ///   - configHash: The digest of the text.
    ///   - publication: The publication, its id and version.
    ///   - slot: Makes the slot's name of the number.
    /// - Returns: The stream.
    /// - Throws: `SQLiteError`.
    package func addStream(
        config: String, configHash: String, publication: Int64,
        slot: @escaping @Sendable (StreamNumber) -> String
    ) async throws -> StreamRecord {
        let number = try await pool.write { connection in
            try connection.transaction {
                try connection.run(
                    "INSERT INTO replication_stream(config_hash, config, publication, slot, state) "
                        + "VALUES (?, ?, ?, '', 'building')",
                    [.text(configHash), .text(config), .integer(publication)])
                let number = connection.lastInsertRowID
                try connection.run(
                    "UPDATE replication_stream SET slot = ? WHERE id = ?",
                    [.text(slot(number)), .integer(number)])
                return number
            }
        }
        return try await stream(number)
    }

    /// Notes that the slot of a stream is there.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - position: Where the slot begins: what lies before is in no stream.
    ///   - publication: What it was made for.
    /// - Returns: The stream as it is now.
    /// - Throws: `SQLiteError`.
    package func noteSlot(
        of stream: StreamRecord, at position: LSN, publication: Int64
    ) async throws -> StreamRecord {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET reported_lsn = ?, publication = ? WHERE id = ?",
                [Self.value(position), .integer(publication), .integer(stream.number)])
        }
        return try await self.stream(stream.number)
    }

    /// Makes a stream the one that clients are served from, and stops every other, within a transaction.
    static func activate(_ number: StreamNumber, _ connection: SQLiteConnection) throws {
        try connection.run(
            "UPDATE replication_stream SET state = 'stopped' WHERE id <> ?", [.integer(number)])
        try connection.run("UPDATE replication_stream SET state = 'active' WHERE id = ?", [.integer(number)])
    }

    /// The slots that the state knows of.
    package func slots() async throws -> [String] {
        try await pool.write { connection in
            try connection.query("SELECT slot FROM replication_stream WHERE slot <> ''") { $0.string(0) }
        }
    }

    /// The slots of stopped streams that may still be there.
    package func stoppedSlots() async throws -> [String] {
        try await pool.write { connection in
            try connection.query(
                "SELECT slot FROM replication_stream WHERE state = 'stopped' AND slot <> '' ORDER BY id"
            ) { $0.string(0) }
        }
    }

    /// Notes that a slot has been dropped.
    package func forgetSlot(_ slot: String) async throws {
        try await pool.write { connection in
            try connection.run("UPDATE replication_stream SET slot = '' WHERE slot = ?", [.text(slot)])
        }
    }

    /// Stops one stream.
    package func stop(_ number: StreamNumber) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET state = 'stopped' WHERE id = ?", [.integer(number)])
        }
    }

    static let columns =
        "id, config, config_hash, slot, publication, state, snapshot_done, no_checkpoint_before, is_ahead, applied_lsn, "
        + "last_op, checkpoint_op, checkpoint_lsn, partial_lsn, partial_position, partial_changes, reported_lsn"

    static func record(_ row: SQLiteRow) -> StreamRecord {
        StreamRecord(
            number: row.int64(0), config: row.string(1), configHash: row.string(2), slot: row.string(3),
            publication: row.int64(4), isActive: row.string(5) == "active",
            isStopped: row.string(5) == "stopped",
            isSnapshotDone: row.int64(6) != 0,
            noCheckpointBefore: lsn(row.int64(7)), isAhead: row.int64(8) != 0, appliedLSN: lsn(row.int64(9)),
            partial: TransactionProgress(
                finalLSN: lsn(row.int64(13)), position: lsn(row.int64(14)), changes: Int(row.int64(15))),
            lastOperation: row.int64(10),
            checkpoint: StoredCheckpoint(operation: row.int64(11), lsn: lsn(row.int64(12))),
            reportedLSN: lsn(row.int64(16)))
    }

    static func lsn(_ stored: Int64) -> LSN { LSN(rawValue: UInt64(bitPattern: stored)) }

    static func value(_ lsn: LSN) -> SQLiteValue { .integer(Int64(bitPattern: lsn.rawValue)) }
}
