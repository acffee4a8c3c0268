import PowerSyncWire

/// Collects operations of one bucket for as long as they fit into one line.
package struct FrameBuilder: Sendable {
    private let request: FrameRequest
    private var segment = SegmentBuilder(limit: .max)
    private var dataBytes = 0
    /// How many operations there are.
    package private(set) var count = 0

    /// Begins without operations.
    ///
    /// - Parameter request: What fits into the line.
    package init(_ request: FrameRequest) { self.request = request }

    /// Whether there are as many operations as may be.
    package var isFull: Bool { count >= request.rows }

    /// Adds an operation if it fits.
    ///
    /// - Parameters:
    ///   - entry: The operation, with a larger id than all before.
    ///   - body: Lends its bytes, which are copied.
    /// - Returns: Whether it fitted; if not, the frame ends before it.
    package mutating func append(_ entry: SegmentBody.Entry, of body: SegmentBody) -> Bool {
        var size = dataBytes
        switch entry.record.content {
        case .put(_, let data): size += data.count
        // It has no data that its id would be a part of.
        case .remove(let row): size += row.objectID.count
        case .move, .clear: break
        }
        guard !isFull, count == 0 || size <= request.bytes else { return false }
        let full = segment.append(
            entry.kind, id: entry.id, record: body[entry.bytes], checksum: entry.record.checksum,
            target: entry.target)
        precondition(full == nil, "a segment without a limit is never full")
        dataBytes = size
        count += 1
        return true
    }

    /// Ends the frame.
    ///
    /// - Parameter names: The names of all its operations.
    /// - Returns: The frame; nil if there is no operation.
    package mutating func finish(_ names: FrameNames) -> Frame? {
        segment.finish().map { Frame($0, of: request.bucket, after: request.after, names) }
    }
}
