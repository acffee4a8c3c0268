import PowerSyncCompression
import PowerSyncSystem
import PowerSyncWire

/// What a frame is in one form: what stands between prefix and suffix of a line.
package struct FrameContent: Sendable {
    /// The bytes, in pieces that are sent one after another.
    package let pieces: [LinePiece]
    /// How many bytes it has before compression.
    package let plainCount: Int
    /// What a gzip member has to know of it; nil if it is not compressed.
    package let sum: PlainSum?
}

/// The operations of one bucket that fit into one line, without what differs from stream to stream (DESIGN.md, 2).
///
/// It holds them as they lie in segments; their bytes are made once for each form that somebody sends. All of it counts
/// until the last reference is gone, and what is being sent until it is sent.
package final class Frame: Sendable {
    /// The bucket's id in the state file.
    package let bucket: Int64
    /// The operation of the bucket before the first one.
    package let after: OperationID
    /// The last operation.
    package let last: OperationID
    /// How many operations there are.
    package let count: Int
    /// The largest operation that must be known before a checkpoint with these is complete; 0 for none (service 3.5).
    package let maxTarget: OperationID

    private let body: [UInt8]
    private let names: FrameNames
    private let account = LineAccount()
    private let contents = Lock<[LineForm: FrameContent]>([:])

    /// Takes the operations of a segment.
    ///
    /// - Parameters:
    ///   - segment: The operations.
    ///   - bucket: Their bucket.
    ///   - after: The operation of the bucket before them.
    ///   - names: All their names.
    package init(_ segment: PackedSegment, of bucket: Int64, after: OperationID, _ names: FrameNames) {
        self.bucket = bucket
        self.after = after
        last = segment.summary.lastOperation
        count = Int(segment.summary.count)
        maxTarget = segment.summary.maxTarget
        body = segment.body.withoutSpareRoom
        self.names = names
        account.add(body.count)
    }

    deinit { account.add(-body.count) }

    /// How many bytes are held: operations, and each form that was made and is not sent yet.
    package var heldBytes: Int { account.bytes }

    /// Whether the bucket may go on behind it (`has_more`, service 3.4).
    ///
    /// - Parameter request: What it answers.
    /// - Returns: Whether there are more operations, or as many as were asked for.
    package func hasMore(_ request: FrameRequest) -> Bool { last < request.last || count >= request.rows }

    /// Whether a checkpoint whose line has these operations cannot be completed: one of them stands for a row whose newest
    /// operation lies behind the checkpoint (service 3.5).
    ///
    /// - Parameter checkpoint: The last operation of the checkpoint.
    /// - Returns: Whether its complete lines are left out; a later checkpoint will be complete.
    package func holdsBack(_ checkpoint: OperationID) -> Bool { maxTarget > checkpoint }

    /// Has a room of the budget count what is held, from now on.
    package func charge(to room: LineBudget.Room) { account.charge(to: room) }

    /// Has a sum count what is held, from now on.
    func charge(to total: Lock<Int>) { account.charge(to: total) }

    /// Returns the operations in a form; it is made the first time, and whoever else wants it then waits for that.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - compressors: Compress, if it is compressed.
    /// - Returns: The bytes.
    /// - Throws: `StoreError` if an operation cannot be read, or has no name.
    package func content(_ form: LineForm, _ compressors: BlockCompressors) throws -> FrameContent {
        try contents.withLock { contents in
            if let content = contents[form] { return content }
            let plain = try contents[LineForm(form.format)]?.pieces.map(\.bytes) ?? encoded(form.format)
            let content = made(form, of: plain, compressors)
            contents[form] = content
            return content
        }
    }

    private func made(
        _ form: LineForm, of plain: [[UInt8]], _ compressors: BlockCompressors
    ) -> FrameContent {
        let plainCount = plain.reduce(0) { $0 + $1.count }
        guard form.isGzipped else {
            return FrameContent(
                pieces: plain.map { LinePiece($0, account) }, plainCount: plainCount, sum: nil)
        }
        var sum = PlainSum.none
        let pieces = plain.map { plain in
            let block = compressors.compress(plain)
            sum = sum + block.sum
            return LinePiece(block.bytes, account)
        }
        return FrameContent(pieces: pieces, plainCount: plainCount, sum: sum)
    }

    private func encoded(_ format: LineForm.Format) throws -> [[UInt8]] {
        var encoder = OperationEncoder(format, names, bytes: body.count, operations: count)
        try forEachOperation { entry, segment in
            try encoder.append(entry, of: segment)
            return true
        }
        return encoder.finish()
    }

    /// Returns a frame of the first operations, for streams that may not send all.
    ///
    /// - Parameter rows: How many; at least one.
    /// - Returns: A frame of its own; this one if it has no more than that.
    /// - Throws: `StoreError` if an operation cannot be read.
    package func prefix(_ rows: Int) throws -> Frame {
        guard rows < count else { return self }
        var builder = FrameBuilder(
            FrameRequest(bucket: bucket, after: after, last: last, rows: rows, bytes: .max))
        try forEachOperation { entry, segment in builder.append(entry, of: segment) }
        guard let frame = builder.finish(names) else { throw StoreError.unreadableRow }
        return frame
    }

    private func forEachOperation(_ take: (SegmentBody.Entry, SegmentBody) throws -> Bool) throws {
        try body.withUnsafeBytes { bytes in
            var segment = try SegmentBody(bytes)
            while let entry = try segment.next() {
                guard try take(entry, segment) else { return }
            }
        }
    }
}
