import PowerSyncWire

/// The new operations of one bucket up to a CLEAR or the end, in the order of their keys.
///
/// A value without I/O: what is in the order of the stream comes out in the order in which index pages are touched.
struct OperationSegment {
    /// An operation on a row, with its place in `keys` and in the lists.
    struct Keyed {
        fileprivate var start: Int
        fileprivate var length: Int
        fileprivate var typeLength: Int
        fileprivate var idLength: Int
        /// The index of its list.
        let list: Int
        /// Its index within the list.
        let entry: Int

        /// Where its supersede key lies (client-core 5.5).
        var key: Range<Int> { start..<start + length }
        /// Where the type lies, the first part of the key.
        var type: Range<Int> { start..<start + typeLength }
        /// Where the id lies, the second part of the key.
        var id: Range<Int> { start + typeLength + 1..<start + typeLength + 1 + idLength }
    }

    /// The operations on rows by key; those of one key in the order of the stream.
    private(set) var keyed: [Keyed] = []
    /// The keys of `keyed`, one behind the other in the order of the stream.
    private(set) var keys: [UInt8] = []
    /// The sum of the operations that change no row.
    fileprivate(set) var loose = Checksum.zero
    /// The number of operations, a CLEAR at the end included.
    fileprivate(set) var count = 0
    /// The position behind it.
    fileprivate(set) var lastOp: OperationID
    /// The checksum of the CLEAR that ends it; nil if it ends with the lines.
    fileprivate(set) var clear: Checksum?

    fileprivate init(lastOp: OperationID) { self.lastOp = lastOp }

    /// Whether two of its operations have the same key.
    static func haveSameKey(_ left: Keyed, _ right: Keyed, in keys: UnsafeBufferPointer<UInt8>) -> Bool {
        left.length == right.length && order(left, right, keys) == 0
    }

    /// Below 0 if the left key comes first, 0 if they are equal.
    private static func order(_ left: Keyed, _ right: Keyed, _ keys: UnsafeBufferPointer<UInt8>) -> Int {
        for index in 0..<min(left.length, right.length) {
            let (one, other) = (keys[left.start + index], keys[right.start + index])
            if one != other { return one < other ? -1 : 1 }
        }
        return left.length - right.length
    }

    /// Sorts by the bytes of the keys, which is the order of both indexes that hold a row's name.
    fileprivate mutating func arrange(_ size: Int, _ lists: [OperationList]) {
        keys.reserveCapacity(size)
        for index in keyed.indices {
            let list = lists[keyed[index].list]
            let entry = list.entries[keyed[index].entry]
            keyed[index].start = keys.count
            list.bytes.withUnsafeBufferPointer { bytes in
                keys.append(contentsOf: bytes[entry.objectType.range])
                keys.append(UInt8(ascii: "/"))
                keys.append(contentsOf: bytes[entry.objectID.range])
                keys.append(UInt8(ascii: "/"))
                if entry.subkey.isAbsent {
                    keys.append(contentsOf: "null".utf8)
                } else {
                    keys.append(contentsOf: bytes[entry.subkey.range])
                }
            }
            keyed[index].length = keys.count - keyed[index].start
        }
        keys.withUnsafeBufferPointer { keys in
            keyed.sort { left, right in
                let order = Self.order(left, right, keys)
                // Keys lie in the order of the stream.
                return order == 0 ? left.start < right.start : order < 0
            }
        }
    }
}

/// The lines of one bucket, cut into segments.
struct OperationSegments: Sequence, IteratorProtocol {
    private let lists: [OperationList]
    private var list = 0
    private var entry = 0
    private var lastOp: OperationID

    /// Takes lines.
    ///
    /// - Parameters:
    ///   - lists: the operations of each line.
    ///   - position: what is not above it was stored before, and is left out.
    init(_ lists: [OperationList], after position: OperationID) {
        self.lists = lists
        lastOp = position
    }

    /// Returns the next segment; nil at the end.
    ///
    /// A PUT without type or id must have been refused before.
    mutating func next() -> OperationSegment? {
        guard list < lists.count else { return nil }
        var segment = OperationSegment(lastOp: lastOp)
        var size = 0
        defer { lastOp = segment.lastOp }
        while list < lists.count {
            let entries = lists[list].entries
            while entry < entries.count {
                let operation = entries[entry]
                defer { entry += 1 }
                guard operation.id > segment.lastOp else { continue }
                segment.take(operation, list, entry, &size)
                if segment.clear != nil {
                    segment.arrange(size, lists)
                    return segment
                }
            }
            list += 1
            entry = 0
        }
        segment.arrange(size, lists)
        return segment
    }
}

extension OperationSegment {
    fileprivate mutating func take(
        _ operation: OperationList.Entry, _ list: Int, _ entry: Int, _ size: inout Int
    ) {
        lastOp = operation.id
        count += 1
        switch operation.kind {
        case .put, .remove:
            guard !operation.objectType.isAbsent, !operation.objectID.isAbsent else {
                loose += operation.checksum
                return
            }
            keyed.append(
                Keyed(
                    start: 0, length: 0, typeLength: operation.objectType.count,
                    idLength: operation.objectID.count, list: list, entry: entry))
            size += operation.objectType.count + operation.objectID.count + 2
            size += operation.subkey.isAbsent ? 4 : operation.subkey.count
        case .move: loose += operation.checksum
        case .clear: clear = operation.checksum
        }
    }
}
