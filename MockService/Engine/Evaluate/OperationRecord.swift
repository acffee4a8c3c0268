import PowerSyncWire

/// An operation as a segment holds it behind its id and kind (DESIGN.md, 1).
///
/// Its bytes do not depend on what stands beside it, so they are made where the row is evaluated, and copied where
/// segments are merged. Texts are ranges of the bytes that were read: walking copies nothing.
package struct OperationRecord: Sendable, Hashable {
    /// The source row of a PUT or REMOVE, and the row on the client.
    package struct Row: Sendable, Hashable {
        /// The record of the source table.
        package let sourceTable: Int64
        /// The client's table, by its id in `output_type`.
        package let outputType: Int64
        /// Where the sixteen bytes of the replica id are.
        package let replicaID: Range<Int>
        /// Where the client's id is.
        package let objectID: Range<Int>

        fileprivate init(_ reader: inout PackedReader) throws(StoreError) {
            sourceTable = try reader.number()
            outputType = try reader.number()
            replicaID = try reader.take(16)
            objectID = try reader.counted()
        }
    }

    /// What differs from kind to kind.
    package enum Content: Sendable, Hashable {
        /// The row as it is now; the data text is JSON, as it is hashed.
        case put(Row, data: Range<Int>)
        /// The row is no longer there.
        case remove(Row)
        /// Something was superseded by the operation that is so far behind; 0 for none (service 10.1).
        case move(distance: Int64)
        /// Everything before is gone, superseded by operations up to the one that is so far behind; 0 for none.
        case clear(distance: Int64)
    }

    /// Its share of the bucket's checksum.
    package let checksum: Checksum
    /// The rest.
    package let content: Content

    /// How far behind the operation its target is; 0 for none.
    package var distance: Int64 {
        switch content {
        case .put, .remove: 0
        case .move(let distance), .clear(let distance): distance
        }
    }

    /// Reads a record.
    ///
    /// - Parameters:
    ///   - kind: What the operation does.
    ///   - reader: Stands before the record, and then behind it.
    /// - Throws: `StoreError` if there is none.
    package init(_ kind: Operation.Kind, from reader: inout PackedReader) throws(StoreError) {
        checksum = Checksum(try reader.littleEndian())
        switch kind {
        case .put:
            let row = try Row(&reader)
            content = .put(row, data: try reader.counted())
        case .remove: content = .remove(try Row(&reader))
        case .move: content = .move(distance: try reader.number())
        case .clear: content = .clear(distance: try reader.number())
        }
    }
}

extension OperationRecord {
    /// A PUT whose data is being written where it stays.
    struct OpenPut {
        /// Where the record begins.
        let start: Int
        /// Where the client's id lies.
        let objectID: Range<Int>
        /// How many bytes are left for the length of the data.
        let room: Int

        /// Where the data begins, if its length takes the room that is left for it.
        var data: Int { objectID.upperBound + room }
    }

    /// Appends what stands before the data of a PUT, which the caller appends then, and ends with `endPut`.
    ///
    /// - Parameters:
    ///   - sourceTable: The record of the source table.
    ///   - outputType: The client's table.
    ///   - replicaID: The sixteen bytes of the source row's id.
    ///   - objectID: The client's id, as UTF-8.
    ///   - room: How many bytes the length of the data is likely to take; another length moves the data.
    ///   - bytes: What it is appended to.
    /// - Returns: What `endPut` needs.
    static func beginPut(
        sourceTable: Int64, outputType: Int64, replicaID: [UInt8], objectID: [UInt8], room: Int,
        to bytes: inout [UInt8]
    ) -> OpenPut {
        let start = bytes.count
        append(.zero, to: &bytes)
        Varint.append(sourceTable, to: &bytes)
        Varint.append(outputType, to: &bytes)
        bytes.append(contentsOf: replicaID)
        Varint.append(objectID.count, to: &bytes)
        let id = bytes.count
        bytes.append(contentsOf: objectID)
        let end = bytes.count
        for _ in 0..<room { bytes.append(0) }
        return OpenPut(start: start, objectID: id..<end, room: room)
    }

    /// Ends a PUT, all but its checksum.
    ///
    /// - Parameters:
    ///   - put: What `beginPut` has returned.
    ///   - bytes: What it was appended to, with the data at the end.
    /// - Returns: Where the data lies.
    static func endPut(_ put: OpenPut, in bytes: inout [UInt8]) -> Range<Int> {
        let count = bytes.count - put.data
        let room = Varint.count(count)
        if room > put.room {
            bytes.insert(contentsOf: repeatElement(0, count: room - put.room), at: put.data)
        } else if room < put.room {
            bytes.removeSubrange(put.objectID.upperBound + room..<put.data)
        }
        var rest = UInt64(count)
        for place in put.objectID.upperBound..<put.objectID.upperBound + room {
            bytes[place] = UInt8(truncatingIfNeeded: rest & 0x7F) | (rest > 0x7F ? 0x80 : 0)
            rest >>= 7
        }
        return put.objectID.upperBound + room..<bytes.count
    }

    /// Writes the checksum of a record into its place.
    ///
    /// - Parameters:
    ///   - checksum: The share of the bucket's checksum.
    ///   - start: Where the record begins.
    ///   - bytes: What it lies in.
    static func set(_ checksum: Checksum, at start: Int, in bytes: inout [UInt8]) {
        for place in 0..<4 {
            bytes[start + place] = UInt8(truncatingIfNeeded: checksum.value >> UInt32(8 * place))
        }
    }

    /// Appends the record of a REMOVE.
    ///
    /// - Parameters:
    ///   - checksum: The share of the bucket's checksum.
    ///   - sourceTable: The record of the source table.
    ///   - outputType: The client's table.
    ///   - replicaID: The source row.
    ///   - objectID: The client's id, as UTF-8.
    ///   - bytes: What it is appended to.
    package static func appendRemove(
        _ checksum: Checksum, sourceTable: Int64, outputType: Int64, replicaID: ReplicaID,
        objectID: some Collection<UInt8>, to bytes: inout [UInt8]
    ) {
        append(checksum, to: &bytes)
        Varint.append(sourceTable, to: &bytes)
        Varint.append(outputType, to: &bytes)
        bytes.append(contentsOf: replicaID.bytes)
        Varint.append(objectID.count, to: &bytes)
        bytes.append(contentsOf: objectID)
    }

    /// Appends the record of a MOVE or a CLEAR.
    ///
    /// - Parameters:
    ///   - checksum: The share of the bucket's checksum.
    ///   - distance: How far behind the operation its target is; 0 for none.
    ///   - bytes: What it is appended to.
    package static func appendPlaceholder(_ checksum: Checksum, distance: Int64, to bytes: inout [UInt8]) {
        append(checksum, to: &bytes)
        Varint.append(distance, to: &bytes)
    }

    private static func append(_ checksum: Checksum, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: checksum.value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

/// The two bits of a kind.
extension Operation.Kind {
    /// Makes a kind of two bits.
    init(packed bits: UInt64) {
        switch bits & 3 {
        case 0: self = .put
        case 1: self = .remove
        case 2: self = .move
        default: self = .clear
        }
    }

    /// The bits.
    var packed: UInt64 {
        switch self {
        case .put: 0
        case .remove: 1
        case .move: 2
        case .clear: 3
        }
    }
}
