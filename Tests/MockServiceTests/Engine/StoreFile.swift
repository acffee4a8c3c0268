import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// A file of version 6 with one stream, in which segments, sums and checkpoint are stored in one transaction.
final class StoreFile {
    /// What is written in one transaction.
    struct Write {
        /// The bucket, without prefix.
        let bucket: String
        /// The operation; the file gives its id.
        let operation: SampleOperation
    }

    static let stream: StreamNumber = 1
    static let uuid = "11111111-1111-4111-8111-111111111111"

    /// The connection that writes.
    let connection: SQLiteConnection
    /// Another one, which reads.
    let reader: SQLiteConnection
    /// The last operation id that was given.
    private(set) var last: OperationID = 0
    private let folder: TemporaryDirectory
    private var buckets: [ExactText: BucketSums] = [:]

    init() throws {
        let folder = try TemporaryDirectory(prefix: "segments-")
        let path = "\(folder.path)/state.db"
        let connection = try SQLiteConnection(path: path)
        try StoreSchema6.configure(connection, isWriter: true)
        try StoreSchema6.prepare(connection, after: FormerState())
        let reader = try SQLiteConnection(path: path, flags: .readOnly)
        try StoreSchema6.configure(reader, isWriter: false)
        self.folder = folder
        self.connection = connection
        self.reader = reader
        try connection.execute(
            """
            INSERT INTO replication_stream(config_hash, config, publication, slot, state)
                VALUES ('', '', 1, '', 'active');
            INSERT INTO source_table(stream, uuid, oid, schema_name, name, identity, identity_names)
                VALUES (1, '\(Self.uuid)', 7, 'public', 't', '25 id', '["id"]');
            INSERT INTO output_type VALUES (1, 't'), (2, 'u');
            """)
    }

    /// Closes the file and removes it.
    func close() {
        reader.close()
        connection.close()
        folder.remove()
    }

    /// Stores a group.
    ///
    /// - Parameters:
    ///   - writes: The operations, in order.
    ///   - visible: How many of them a commit covers that becomes visible; nil if none does.
    ///   - limit: How long segments are.
    /// - Returns: The operations with their ids.
    /// - Throws: `SQLiteError`.
    @discardableResult
    func store(
        _ writes: [Write], visible: Int? = nil, limit: Int = StoreLimits().segmentBytes
    ) throws -> [SampleOperation] {
        try connection.transaction {
            let published = "SELECT checkpoint_op FROM replication_stream WHERE id = 1"
            var checkpoint = try connection.one(published) { $0.int64(0) } ?? 0
            var builders: [ExactText: SegmentBuilder] = [:]
            var operations: [SampleOperation] = []
            for (index, write) in writes.enumerated() {
                if let visible, index == visible { checkpoint = last }
                last += 1 + OperationID(index % 2)
                var operation = write.operation
                if operation.target > 0 { operation.target += last - operation.id }
                operation.id = last
                operations.append(operation)
                let bucket = ExactText(write.bucket)
                var sums = try buckets[bucket] ?? added(write.bucket)
                sums.add(operation.checksum, id: operation.id, checkpoint: checkpoint)
                buckets[bucket] = sums
                let full = operation.append(to: &builders[bucket, default: SegmentBuilder(limit: limit)])
                if let full { try insert(full, sums.id) }
            }
            if let visible, visible >= writes.count { checkpoint = last }
            for name in builders.keys.sorted() {
                guard let sums = buckets[name], let rest = builders[name]?.finish() else { continue }
                try insert(rest, sums.id)
                try update(sums)
            }
            if visible != nil {
                try connection.run(
                    "UPDATE replication_stream SET checkpoint_op = ?, checkpoint_lsn = ? WHERE id = 1",
                    [.integer(checkpoint), .integer(checkpoint)])
            }
            return operations
        }
    }

    private func added(_ name: String) throws -> BucketSums {
        try connection.run(
            "INSERT INTO bucket(stream, name) VALUES (?, ?)", [.integer(Self.stream), .text(name)])
        return BucketSums(id: connection.lastInsertRowID)
    }

    private func insert(_ segment: PackedSegment, _ bucket: Int64) throws {
        try connection.run(
            "INSERT INTO segment(bucket, first_op, last_op, count, checksum, max_target, body) "
                + "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                .integer(bucket), .integer(segment.summary.firstOperation),
                .integer(segment.summary.lastOperation), .integer(segment.summary.count),
                .integer(Int64(segment.summary.checksum.value)), .integer(segment.summary.maxTarget),
                .blob(segment.body),
            ])
    }

    private func update(_ sums: BucketSums) throws {
        try connection.run(
            "UPDATE bucket SET checksum = ?, count = ?, last_op = ?, "
                + "tail_checksum = ?, tail_count = ?, tail_op = ? WHERE id = ?",
            [
                .integer(Int64(sums.covered.checksum.value)), .integer(sums.covered.count),
                .integer(sums.covered.lastOperation), .integer(Int64(sums.tail.checksum.value)),
                .integer(sums.tail.count), .integer(sums.tail.lastOperation), .integer(sums.id),
            ])
    }
}
