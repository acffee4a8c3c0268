import PowerSyncSQLite
import PowerSyncWire

/// All that a bucket got behind one of its operations, as it lies in segments: streams that hold the bucket are going to
/// send it, and need not read it then.
package struct KeptOperations: Sendable {
    /// The bucket's id in the state file.
    package let bucket: Int64
    /// The bucket's operation before them; 0 without one.
    package private(set) var after: OperationID
    /// How many bytes the segments take.
    package private(set) var byteCount = 0
    /// About what a segment takes besides its bytes.
    private static let segmentCost = 128

    /// In the order of their operations; the first may begin before these.
    private var segments: [PackedSegment] = []

    /// Makes operations of which there are none.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id in the state file.
    ///   - after: Its last operation; 0 without one.
    package init(of bucket: Int64, after: OperationID) {
        self.bucket = bucket
        self.after = after
    }

    /// Adds a segment that was written behind all that are there.
    package mutating func append(_ segment: PackedSegment) {
        segments.append(segment)
        byteCount += Self.size(of: segment)
    }

    /// Adds what was written behind.
    package mutating func append(_ next: KeptOperations) {
        segments += next.segments
        byteCount += next.byteCount
    }

    /// Lets go of what streams have been told of.
    ///
    /// - Parameter last: The bucket's last operation of which they have been.
    package mutating func drop(through last: OperationID) {
        guard last > after else { return }
        after = last
        segments.removeAll { $0.summary.lastOperation <= last }
        byteCount = segments.reduce(0) { $0 + Self.size(of: $1) }
    }

    /// How many bytes a segment takes.
    static func size(of segment: PackedSegment) -> Int { segment.body.count + segmentCost }

    /// Makes frames, which end where lines do that are read from the disk: a stream sends the same either way.
    ///
    /// - Parameters:
    ///   - last: The bucket's last operation at the checkpoint that they are published with.
    ///   - connection: Reads the names that operations have by number.
    /// - Returns: The frames in order, each with all that the bucket got behind the one before.
    /// - Throws: `SQLiteError`; `StoreError` if an operation cannot be read, or has a number without a name.
    package func frames(upTo last: OperationID, _ connection: SQLiteConnection) throws -> [Frame] {
        var frames: [Frame] = []
        var builder = FrameBuilder(line(behind: after, upTo: last))
        var names = FrameNames()
        var position = after
        for segment in segments {
            try segment.body.withUnsafeBytes { bytes in
                var body = try SegmentBody(bytes)
                try body.skip(through: after)
                while let entry = try body.next(), entry.id <= last {
                    if !builder.append(entry, of: body) {
                        if let frame = builder.finish(names) { frames.append(frame) }
                        builder = FrameBuilder(line(behind: position, upTo: last))
                        names = FrameNames()
                        // The first operation fits, however long it is.
                        _ = builder.append(entry, of: body)
                    }
                    position = entry.id
                    try names.read(entry.record, connection)
                }
            }
        }
        if let frame = builder.finish(names) { frames.append(frame) }
        return frames
    }

    private func line(behind after: OperationID, upTo last: OperationID) -> FrameRequest {
        FrameRequest(
            bucket: bucket, after: after, last: last, rows: StreamSession.rowLimit,
            bytes: FrameRequest.lineBytes)
    }
}
