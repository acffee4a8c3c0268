import PowerSyncWire

/// Walks the operations of a segment: its body is a byte for the format, and one record behind the other (DESIGN.md, 1).
///
/// An id is the varint of how much larger it is than the one before, 0 before the first, above two bits for the kind.
/// So a body says everything of its operations but their bucket. The bytes are lent: the walk must not outlive them.
package struct SegmentBody {
    /// One operation of the body.
    package struct Entry: Sendable, Hashable {
        /// Its id.
        package let id: OperationID
        /// What it does.
        package let kind: Operation.Kind
        /// Its record, whose ranges are of the body.
        package let record: OperationRecord
        /// Where the record is in the body, behind id and kind.
        package let bytes: Range<Int>

        /// The operation that must be known before a checkpoint with this one is complete; 0 for none (service 3.5).
        package var target: OperationID { record.distance == 0 ? 0 : id + record.distance }
    }

    /// The first byte of a body.
    package static let format: UInt8 = 1

    /// The largest id that leaves two bits of 64 for the kind.
    package static let largestID: OperationID = (1 << 62) - 1

    private let bytes: UnsafeRawBufferPointer
    private var reader: PackedReader
    private var id: OperationID = 0

    /// Begins before the first operation.
    ///
    /// - Parameter bytes: The body.
    /// - Throws: `StoreError` if it is of another format.
    package init(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        self.bytes = bytes
        reader = PackedReader(bytes)
        guard try reader.byte() == Self.format else { throw .unreadableRow }
    }

    /// Returns the next operation; nil behind the last one.
    ///
    /// - Returns: The operation, whose id is larger than that of the one before.
    /// - Throws: `StoreError` if the bytes are none of an operation.
    package mutating func next() throws(StoreError) -> Entry? {
        if reader.isAtEnd { return nil }
        let head = try reader.varint()
        let step = Int64(head >> 2)
        // Neither is more than 62 bits long, so the sum fits.
        guard step > 0, id + step <= Self.largestID else { throw .unreadableRow }
        id += step
        let kind = Operation.Kind(packed: head)
        let start = reader.position
        let record = try OperationRecord(kind, from: &reader)
        guard record.distance <= Self.largestID - id else { throw .unreadableRow }
        return Entry(id: id, kind: kind, record: record, bytes: start..<reader.position)
    }

    /// Passes over all operations up to an id: `next` returns the first one behind it.
    ///
    /// - Parameter last: The id, which need not be in the body.
    /// - Throws: `StoreError`.
    package mutating func skip(through last: OperationID) throws(StoreError) {
        while true {
            let before = self
            guard let entry = try next() else { return }
            if entry.id > last {
                self = before
                return
            }
        }
    }

    /// Lends bytes of the body.
    package subscript(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[range])
    }

    /// Returns bytes of the body as text.
    package func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Walks a whole body.
    ///
    /// - Parameter bytes: The body.
    /// - Returns: What its row says of it; the count is 0 if it has no operation.
    /// - Throws: `StoreError` if one of its operations cannot be read.
    package static func summary(of bytes: UnsafeRawBufferPointer) throws(StoreError) -> SegmentSummary {
        var body = try SegmentBody(bytes)
        var summary = SegmentSummary()
        while let entry = try body.next() {
            summary.add(id: entry.id, checksum: entry.record.checksum, target: entry.target)
        }
        return summary
    }
}

@available(*, unavailable)
extension SegmentBody: Sendable {}

/// What the row of a segment says of its body.
package struct SegmentSummary: Sendable, Hashable {
    /// The first operation; 0 without one.
    package private(set) var firstOperation: OperationID = 0
    /// The last operation; 0 without one.
    package private(set) var lastOperation: OperationID = 0
    /// How many operations there are.
    package private(set) var count: Int64 = 0
    /// The sum of their checksums.
    package private(set) var checksum = Checksum.zero
    /// The largest target of its operations; 0 for none.
    package private(set) var maxTarget: OperationID = 0

    /// That of a body without operations.
    package init() {}

    /// Adds the next operation.
    ///
    /// - Parameters:
    ///   - id: The operation.
    ///   - checksum: Its share of the checksum.
    ///   - target: Its target; 0 for none.
    package mutating func add(id: OperationID, checksum: Checksum, target: OperationID) {
        if count == 0 { firstOperation = id }
        lastOperation = id
        count += 1
        self.checksum += checksum
        maxTarget = max(maxTarget, target)
    }
}
