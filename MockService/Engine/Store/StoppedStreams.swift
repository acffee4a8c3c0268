import PowerSyncSQLite
import PowerSyncSystem

/// Deletes what stopped streams hold, a piece in each transaction, so that others write in between (DESIGN.md, 1).
///
/// A bucket goes when its segments are gone, the record of a table when nothing names it any more: however the service
/// ends, what is left can be read.
package final class StoppedStreams: Sendable {
    /// How much may still go in a transaction.
    private struct Room {
        var rows: Int
        var bytes: Int

        /// Takes room for a row; false if there is none.
        mutating func take(_ count: Int64 = 0) -> Bool {
            guard rows > 0, bytes > 0 else { return false }
            rows -= 1
            bytes -= Int(count)
            return true
        }
    }

    private let limits: StoreLimits
    /// Those that have nothing left, and are not looked at again: their records stay for ever.
    ///
    /// What somebody may yet add who has not heard of the end, a record of a table, goes behind the next start.
    private let empty = Lock<Set<StreamNumber>>([])
    private var room: Room { Room(rows: limits.truncatedRows, bytes: limits.removedBytes) }

    /// Makes a remover.
    ///
    /// - Parameter limits: How much goes in one transaction.
    package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

    /// Removes a piece of what stopped streams hold.
    ///
    /// - Parameters:
    ///   - served: The stream that clients are still served from, of which nothing goes; asked for before the file is. Nil
    ///     if there is none.
    ///   - connection: The one that writes, without a transaction.
    /// - Returns: Whether there was something.
    /// - Throws: `SQLiteError`.
    package func removePiece(but served: StreamNumber?, _ connection: SQLiteConnection) throws -> Bool {
        let streams = try connection.query(
            "SELECT id FROM replication_stream WHERE state = 'stopped' AND id IS NOT ? ORDER BY id",
            [SQLiteValue(served)]
        ) { $0.int64(0) }
        let empty = empty.withLock { $0 }
        for stream in streams where !empty.contains(stream) {
            if try removePiece(of: .integer(stream), connection) { return true }
            self.empty.withLock { _ = $0.insert(stream) }
        }
        return false
    }

    private func removePiece(of stream: SQLiteValue, _ connection: SQLiteConnection) throws -> Bool {
        if try removeBuckets(of: stream, connection) { return true }
        if try removeRows(Self.rows, of: stream, connection) { return true }
        if try removeLargeValues(of: stream, connection) { return true }
        for sql in Self.names where try removeRows(sql, of: stream, connection) { return true }
        return false
    }

    /// Removes segments, and buckets that have none left.
    private func removeBuckets(of stream: SQLiteValue, _ connection: SQLiteConnection) throws -> Bool {
        var room = room
        let buckets = try connection.query(
            "SELECT id FROM bucket WHERE stream = ? LIMIT ?", [stream, .integer(Int64(room.rows))]
        ) { SQLiteValue.integer($0.int64(0)) }
        if buckets.isEmpty { return false }
        try connection.transaction {
            for bucket in buckets {
                guard try removeSegments(of: bucket, &room, connection), room.take() else { return }
                try connection.run("DELETE FROM bucket WHERE id = ?", [bucket])
            }
        }
        return true
    }

    /// Removes segments of a bucket; returns whether none is left.
    private func removeSegments(
        of bucket: SQLiteValue, _ room: inout Room, _ connection: SQLiteConnection
    ) throws -> Bool {
        let segments = try connection.query(
            "SELECT id, length(body) FROM segment WHERE bucket = ? LIMIT ?",
            [bucket, .integer(Int64(room.rows) + 1)]
        ) { (id: SQLiteValue.integer($0.int64(0)), bytes: $0.int64(1)) }
        for segment in segments {
            guard room.take(segment.bytes) else { return false }
            try connection.run("DELETE FROM segment WHERE id = ?", [segment.id])
        }
        return true
    }

    private func removeLargeValues(of stream: SQLiteValue, _ connection: SQLiteConnection) throws -> Bool {
        var room = room
        let values = try connection.query(
            "SELECT id, length(cells) FROM large_value WHERE source_table IN "
                + "(SELECT id FROM source_table WHERE stream = ?) LIMIT ?",
            [stream, .integer(Int64(room.rows))]
        ) { (id: SQLiteValue.integer($0.int64(0)), bytes: $0.int64(1)) }
        if values.isEmpty { return false }
        try connection.transaction {
            for value in values where room.take(value.bytes) {
                try connection.run("DELETE FROM large_value WHERE id = ?", [value.id])
            }
        }
        return true
    }

    /// Removes rows by a statement that takes the stream and how many.
    private func removeRows(
        _ sql: String, of stream: SQLiteValue, _ connection: SQLiteConnection
    ) throws -> Bool {
        try connection.run(sql, [stream, .integer(Int64(room.rows))])
        return connection.changes > 0
    }

    private static let rows = """
        DELETE FROM source_row WHERE (source_table, key) IN (SELECT source_table, key FROM source_row
            WHERE source_table IN (SELECT id FROM source_table WHERE stream = ?) LIMIT ?)
        """

    /// Lookups and write checkpoints, and then the records that all the rest names.
    private static let names = [
        """
        DELETE FROM lookup WHERE (definition, key, source_table, row, op_id) IN
            (SELECT definition, key, source_table, row, op_id FROM lookup
                WHERE definition IN (SELECT id FROM lookup_definition WHERE stream = ?) LIMIT ?)
        """,
        """
        DELETE FROM custom_write_checkpoint WHERE (stream, key, op_id) IN
            (SELECT stream, key, op_id FROM custom_write_checkpoint WHERE stream = ? LIMIT ?)
        """,
        """
        DELETE FROM lookup_definition WHERE id IN
            (SELECT id FROM lookup_definition WHERE stream = ? LIMIT ?)
        """,
        "DELETE FROM source_table WHERE id IN (SELECT id FROM source_table WHERE stream = ? LIMIT ?)",
    ]
}
