import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// A bucket as the file says it is.
struct StoredBucket {
    /// Whose it is.
    let stream: StreamNumber
    /// The whole name, with the stream's number before it.
    let name: String
    /// The sums over its operations.
    let sums: BucketSums
    /// How many of its segments are small.
    let small: Int64
}

/// A segment as the file says it is, and what its body says.
struct StoredSegment {
    /// Its id in the file.
    let id: Int64
    /// Whose operations these are; perhaps a bucket that is not there.
    let bucket: Int64
    /// Whether its row says of the body what that says.
    let isRight: Bool
    /// How many bytes the body has.
    let byteCount: Int
    /// The operations in the order of the body.
    let operations: [Operation]
}

/// A source row as the file says it is.
struct StoredRow {
    /// The record of its table.
    let table: Int64
    /// What it is found by.
    let key: RowKey
    /// What the subkeys of its operations are.
    let subkey: String
    /// Where it is.
    let places: RowPlaces
}

/// Reads all of a file of version 6.
struct StoredOperations {
    private let connection: SQLiteConnection

    /// Reads through a connection, all in its transaction.
    init(_ connection: SQLiteConnection) { self.connection = connection }

    /// The buckets of all streams, by id.
    func buckets() throws -> [Int64: StoredBucket] {
        var buckets: [Int64: StoredBucket] = [:]
        try connection.forEach("SELECT \(StoreReading.sumColumns), small, stream, name FROM bucket") { row in
            let sums = try StoreReading.sums(row, from: 0)
            buckets[sums.id] = StoredBucket(
                stream: row.int64(8), name: "\(row.int64(8))#\(row.string(9))", sums: sums,
                small: row.int64(7))
        }
        return buckets
    }

    /// Reads the segments, those of one bucket in the order in which streams read them.
    func forEachSegment(_ body: (StoredSegment) throws -> Void) throws {
        var names = OperationNames()
        try connection.forEach(
            "SELECT id, bucket, first_op, last_op, count, checksum, max_target, body FROM segment "
                + "ORDER BY bucket, last_op"
        ) { row in
            let numbers = (2...6).map { row.int64($0) }
            let segment = try row.withBlob(7) { bytes in
                let found = try SegmentBody.summary(of: bytes)
                var walk = try SegmentBody(bytes)
                var operations: [Operation] = []
                while let entry = try walk.next() {
                    operations.append(try names.operation(entry, walk, connection))
                }
                return StoredSegment(
                    id: row.int64(0), bucket: row.int64(1),
                    isRight: numbers == [
                        found.firstOperation, found.lastOperation, found.count, Int64(found.checksum.value),
                        found.maxTarget,
                    ], byteCount: bytes.count, operations: operations)
            }
            try body(segment)
        }
    }

    /// The source rows of all streams.
    func rows() throws -> [StoredRow] {
        var identities: [Int64: (uuid: String, names: [String])] = [:]
        try connection.forEach("SELECT id, uuid, identity_names FROM source_table") { row in
            let names = try JSON.parse(row.string(2)).arrayValue ?? []
            identities[row.int64(0)] = (row.string(1), names.compactMap(\.stringValue))
        }
        return try connection.query("SELECT source_table, key, places FROM source_row") { row in
            let key = try RowKey(stored: row.blob(1))
            guard let table = identities[row.int64(0)] else { throw StoreError.unreadableRow }
            return StoredRow(
                table: row.int64(0), key: key,
                subkey: "\(table.uuid)/\(try key.replicaID(names: table.names).text)",
                places: try RowPlaces(stored: row.blob(2) ?? [], of: key))
        }
    }

    /// The names of the clients' tables, by id.
    func outputTypes() throws -> [Int64: String] {
        var types: [Int64: String] = [:]
        try connection.forEach("SELECT id, name FROM output_type") { types[$0.int64(0)] = $0.string(1) }
        return types
    }

    /// The rows of which large values are kept, as a table's record and a key.
    func largeRows() throws -> Set<[SQLiteValue]> {
        Set(try connection.query("SELECT source_table, key FROM large_value") { [$0[0], $0[1]] })
    }
}
