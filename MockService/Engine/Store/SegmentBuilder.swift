import PowerSyncWire

/// A segment that can be stored: one row of `segment`, for a bucket that the caller knows.
package struct PackedSegment: Sendable, Hashable {
    /// What the row says of the body.
    package let summary: SegmentSummary
    /// The body, which `SegmentBody` walks.
    package let body: [UInt8]
}

/// Packs operations of one bucket into segments of a bounded length (DESIGN.md, 1).
package struct SegmentBuilder: Sendable {
    private let limit: Int
    private var body = [SegmentBody.format]
    private var summary = SegmentSummary()
    private var last: OperationID = 0

    /// Begins without operations.
    ///
    /// - Parameter limit: How many bytes a body has at most, unless one operation alone is longer.
    package init(limit: Int = StoreLimits().segmentBytes) { self.limit = limit }

    /// How many bytes the body has that is being made.
    package var byteCount: Int { body.count }

    /// Adds an operation.
    ///
    /// - Parameters:
    ///   - kind: What it does.
    ///   - id: Its id, larger than all before and at most `SegmentBody.largestID`.
    ///   - record: What `OperationRecord` has written for it.
    ///   - checksum: Its share of the checksum, as the record says.
    ///   - target: Its target, as the record says; 0 for none.
    /// - Returns: The segment of the operations before, if this one does not fit into it any more; the next one has
    ///   begun.
    package mutating func append(
        _ kind: Operation.Kind, id: OperationID, record: some Collection<UInt8>, checksum: Checksum,
        target: OperationID = 0
    ) -> PackedSegment? {
        precondition(id > last && id <= SegmentBody.largestID, "ids of operations ascend, in 62 bits")
        var head = UInt64(id - summary.lastOperation) << 2 | kind.packed
        var full: PackedSegment?
        if summary.count > 0, body.count + Varint.count(head) + record.count > limit {
            full = finish()
            head = UInt64(id) << 2 | kind.packed
        }
        Varint.append(head, to: &body)
        body.append(contentsOf: record)
        summary.add(id: id, checksum: checksum, target: target)
        last = id
        return full
    }

    /// Ends the segment that is being made; the next one begins.
    ///
    /// - Returns: The segment; nil if it has no operation.
    package mutating func finish() -> PackedSegment? {
        guard summary.count > 0 else { return nil }
        defer {
            body = [SegmentBody.format]
            summary = SegmentSummary()
        }
        return PackedSegment(summary: summary, body: body)
    }

    /// Packs the operations of neighbouring segments anew; each record is copied as it is.
    ///
    /// - Parameters:
    ///   - bodies: The segments of one bucket, in the order of their ids.
    ///   - limit: How many bytes a body has at most, unless one operation alone is longer.
    /// - Returns: The same operations in as few segments as that order allows.
    /// - Throws: `StoreError` if a body cannot be read, or an id is not larger than the one before.
    package static func merge(
        _ bodies: [[UInt8]], limit: Int = StoreLimits().segmentBytes
    ) throws -> [PackedSegment] {
        var builder = SegmentBuilder(limit: limit)
        var merged: [PackedSegment] = []
        for bytes in bodies {
            try bytes.withUnsafeBytes { buffer in
                var body = try SegmentBody(buffer)
                while let entry = try body.next() {
                    guard entry.id > builder.last else { throw StoreError.unreadableRow }
                    let full = builder.append(
                        entry.kind, id: entry.id, record: body[entry.bytes],
                        checksum: entry.record.checksum, target: entry.target)
                    if let full { merged.append(full) }
                }
            }
        }
        if let rest = builder.finish() { merged.append(rest) }
        return merged
    }
}
