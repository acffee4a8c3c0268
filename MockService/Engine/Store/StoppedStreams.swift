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
        for content in Self.contents where try remove(content, of: stream, connection) { return true }
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

    /// Removes rows of a table, each by its primary key: found by a list of keys, all others would be looked at as well.
    private func remove(
        _ content: Content, of stream: SQLiteValue, _ connection: SQLiteConnection
    ) throws -> Bool {
        let keys = try connection.withStatement(content.select) { statement -> [[SQLiteValue]] in
            try statement.bind([stream])
            var room = self.room
            var keys: [[SQLiteValue]] = []
            while try statement.step() {
                let row = try statement.row()
                guard room.take(row.int64(0)) else { break }
                keys.append(content.key.map { row[$0] })
            }
            return keys
        }
        if keys.isEmpty { return false }
        try connection.transaction {
            for key in keys { try connection.run(content.delete, key) }
        }
        return true
    }

    /// Rows of a table that go with a stream.
    private struct Content {
        /// Says of each how many bytes it has, and then its primary key; takes the stream.
        let select: String
        /// The columns of that which are the key.
        let key: ClosedRange<Int>
        /// Removes one of them.
        let delete: String

        init(_ table: String, _ key: [String], bytes: String = "0", where condition: String = "stream = ?") {
            let columns = ([bytes] + key).joined(separator: ", ")
            select = "SELECT \(columns) FROM \(table) WHERE \(condition)"
            self.key = 1...key.count
            delete = "DELETE FROM \(table) WHERE " + key.map { "\($0) = ?" }.joined(separator: " AND ")
        }
    }

    private static let ofTables = "source_table IN (SELECT id FROM source_table WHERE stream = ?)"

    /// What there is beside buckets, in the order in which it goes: the records that all the rest names are the last.
    private static let contents = [
        Content("source_row", ["source_table", "key"], bytes: "length(places)", where: ofTables),
        Content("large_value", ["id"], bytes: "length(cells)", where: ofTables),
        Content(
            "lookup", ["definition", "key", "source_table", "row", "op_id"],
            bytes: "length(key) + length(value)",
            where: "definition IN (SELECT id FROM lookup_definition WHERE stream = ?)"),
        Content("custom_write_checkpoint", ["stream", "key", "op_id"], bytes: "length(key)"),
        Content("lookup_definition", ["id"]),
        Content("source_table", ["id"]),
    ]
}
