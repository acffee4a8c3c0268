import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// Packs small segments of a bucket into few that are not, one transaction at a time (DESIGN.md, 1).
///
/// What streams see does not change: ids of operations are final, and none of them is left out or moved. So checkpoints
/// play no part, and whoever reads meanwhile has the segments as they were.
package final class SegmentMerger: Sendable {
    private struct Bucket {
        let id: Int64
        /// How many of its segments are small, as the file says.
        let small: Int64
    }

    private let limits: StoreLimits
    /// Up to how many small segments buckets are left alone in which no two could be merged; each of these has nearly as
    /// many that are not small, a megabyte on the disk at least.
    private let left = Lock<[Int64: Int64]>([:])

    /// Makes a merger.
    ///
    /// - Parameter limits: How large segments are, and how much one transaction writes.
    package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

    /// Looks at the bucket that has the most small segments, and merges some of them.
    ///
    /// A bucket in which no two small ones are neighbours is left alone until it has as many more as made it be looked at.
    ///
    /// - Parameter connection: The one that writes, without a transaction.
    /// - Returns: How many segments became fewer, 0 if nothing of that bucket could be merged; nil if no bucket has enough
    ///   of them.
    /// - Throws: `SQLiteError`; `StoreError` if a segment cannot be read, or is not what its row says. That bucket is then
    ///   left alone for good.
    package func merge(_ connection: SQLiteConnection) throws -> Int? {
        guard let bucket = try next(connection) else { return nil }
        do {
            let fewer = try connection.transaction { try merge(bucket, connection) }
            leave(bucket, upTo: fewer > 0 ? nil : bucket.small + limits.smallSegments - 1)
            return fewer
        } catch let error as StoreError {
            leave(bucket, upTo: .max)
            throw error
        }
    }

    private func leave(_ bucket: Bucket, upTo small: Int64?) {
        left.withLock { $0[bucket.id] = small }
    }

    /// The bucket with the most small segments that is not left alone.
    private func next(_ connection: SQLiteConnection) throws -> Bucket? {
        try connection.withStatement(Self.buckets(with: limits.smallSegments)) { statement in
            while try statement.step() {
                let row = try statement.row()
                let bucket = Bucket(id: row.int64(0), small: row.int64(1))
                if left.withLock({ bucket.small > $0[bucket.id] ?? 0 }) { return bucket }
            }
            return nil
        }
    }

    /// The number stands in the text: the index holds but those that have as many.
    static func buckets(with small: Int64) -> String {
        """
        SELECT id, small FROM bucket WHERE small >= \(small)
            AND stream NOT IN (SELECT id FROM replication_stream WHERE state = 'stopped') ORDER BY small DESC
        """
    }

    private func merge(_ bucket: Bucket, _ connection: SQLiteConnection) throws -> Int {
        let chosen = MergeRule(limits: limits).choice(among: try segments(of: bucket, connection))
        var said = SaidOfSegments()
        var bodies: [[UInt8]] = []
        for segment in chosen {
            bodies += try connection.query(Self.segment, [.integer(segment.id)]) { said.read($0) }
        }
        let merged = try SegmentBuilder.merge(bodies, limit: limits.segmentBytes)
        guard merged.count < chosen.count else { return 0 }
        // A body that is not what its row says must be found by whoever reads it, and not become right by being copied.
        guard said == SaidOfSegments(merged) else { throw StoreError.unreadableRow }
        for segment in chosen {
            try connection.run("DELETE FROM segment WHERE id = ?", [.integer(segment.id)])
        }
        for segment in merged { try segment.store(in: bucket.id, connection) }
        let small = merged.count { $0.body.count < limits.smallSegmentBytes }
        try connection.run(
            "UPDATE bucket SET small = small + ? WHERE id = ?",
            [.integer(Int64(small - chosen.count)), .integer(bucket.id)])
        return chosen.count - merged.count
    }

    private static let segment =
        "SELECT body, first_op, last_op, count, checksum, max_target FROM segment WHERE id = ?"

    /// The newest segments of a bucket, the oldest of them first, as far back as there are small ones.
    private func segments(of bucket: Bucket, _ connection: SQLiteConnection) throws -> [MergeRule.Segment] {
        var segments: [MergeRule.Segment] = []
        var small: Int64 = 0
        try connection.withStatement(Self.segments) { statement in
            try statement.bind([.integer(bucket.id)])
            while small < bucket.small, segments.count < limits.lookedSegments, try statement.step() {
                let row = try statement.row()
                let segment = MergeRule.Segment(id: row.int64(0), byteCount: Int(row.int64(1)))
                if segment.byteCount < limits.smallSegmentBytes { small += 1 }
                segments.append(segment)
            }
        }
        return segments.reversed()
    }

    /// SQLite knows the length of a blob without reading it.
    static let segments = "SELECT id, length(body) FROM segment WHERE bucket = ? ORDER BY last_op DESC"
}

/// What the rows of neighbouring segments say of their bodies, all together.
private struct SaidOfSegments: Equatable {
    private var first: OperationID?
    private var last: OperationID = 0
    private var count: Int64 = 0
    private var checksum = Checksum.zero
    private var maxTarget: OperationID = 0

    /// That of none.
    init() {}

    /// That of segments that are about to be stored.
    init(_ segments: [PackedSegment]) {
        for summary in segments.map(\.summary) {
            add(
                first: summary.firstOperation, last: summary.lastOperation, count: summary.count,
                summary.checksum, maxTarget: summary.maxTarget)
        }
    }

    /// Adds what a row says, and returns its body.
    mutating func read(_ row: SQLiteRow) -> [UInt8] {
        add(
            first: row.int64(1), last: row.int64(2), count: row.int64(3),
            Checksum(truncating: row.int64(4)), maxTarget: row.int64(5))
        return row.blob(0) ?? []
    }

    private mutating func add(
        first: OperationID, last: OperationID, count: Int64, _ checksum: Checksum, maxTarget: OperationID
    ) {
        self.first = self.first ?? first
        self.last = last
        self.count &+= count
        self.checksum += checksum
        self.maxTarget = max(self.maxTarget, maxTarget)
    }
}
