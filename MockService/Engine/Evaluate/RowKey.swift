import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// What a source row is found by in its table: the values that identify it, so that keys are ordered as values are, and
/// rows that are read along the key are appended (DESIGN.md, 1).
///
/// For each column of the identity in order there is a tag and a value:
///
/// | value | tag | behind it |
/// |---|---|---|
/// | NULL | 05 | |
/// | integer with a magnitude of n bytes, 0 of none | 10 + n | the magnitude, highest byte first |
/// | the same below zero | 10 − n | the magnitude, each byte inverted |
/// | text | 30 | UTF-8, and 00 unless it is the last column |
///
/// All other rows have F0 and the sixteen bytes of the replica id: those with a REAL, a BLOB or a text that holds 00,
/// those whose key would be longer than 64 bytes, and those of a table without identity.
package struct RowKey: Sendable, Hashable {
    private enum Tag {
        static let null: UInt8 = 0x05
        static let zero: UInt8 = 0x10
        static let integers: ClosedRange<UInt8> = 0x08...0x18
        static let text: UInt8 = 0x30
        static let replicaID: UInt8 = 0xF0
    }

    /// How many bytes a key of values has at most; a part of the format, since a row has one key.
    private static let limit = 64

    /// The bytes, by whose order keys are ordered.
    package let bytes: [UInt8]

    /// Makes the key of a row.
    ///
    /// - Parameters:
    ///   - values: Those of the identity, in its order; none if the table has no identity.
    ///   - replicaID: The id that was made of them, or at random.
    package init(_ values: [SQLiteValue], of replicaID: ReplicaID) {
        bytes = Self.packed(values) ?? [Tag.replicaID] + replicaID.bytes
    }

    /// Takes a key that the state keeps, which is looked at when it is read.
    ///
    /// - Parameter stored: Its bytes.
    /// - Throws: `StoreError` if there are none.
    package init(stored: [UInt8]?) throws(StoreError) {
        guard let stored, !stored.isEmpty else { throw .unreadableRow }
        bytes = stored
    }

    /// Returns the values that the key was made of; nil for a key of the replica id.
    ///
    /// - Returns: One for each column of the identity.
    /// - Throws: `StoreError` if no values have this key.
    package func values() throws(StoreError) -> [SQLiteValue]? {
        if bytes.first == Tag.replicaID {
            guard bytes.count == 17 else { throw .unreadableRow }
            return nil
        }
        var values: [SQLiteValue] = []
        var rest = bytes[...]
        while let tag = rest.popFirst() {
            switch tag {
            case Tag.null: values.append(.null)
            case Tag.integers:
                let isNegative = tag < Tag.zero
                let count = Int(isNegative ? Tag.zero - tag : tag - Tag.zero)
                guard rest.count >= count else { throw .unreadableRow }
                values.append(.integer(try Self.integer(rest.prefix(count), isNegative)))
                rest = rest.dropFirst(count)
            case Tag.text:
                let end = rest.firstIndex(of: 0)
                guard let text = String(validating: rest[..<(end ?? rest.endIndex)], as: UTF8.self) else {
                    throw .unreadableRow
                }
                values.append(.text(text))
                rest = end.map { rest[($0 + 1)...] } ?? []
                // Only a text that another column follows has an end.
                guard end == nil || !rest.isEmpty else { throw .unreadableRow }
            default: throw .unreadableRow
            }
        }
        return values
    }

    /// Returns the replica id of the row.
    ///
    /// - Parameter names: The columns of the identity in order, of which the key was made.
    /// - Returns: The id that the row's PUTs have.
    /// - Throws: `StoreError` if the key has not as many values.
    package func replicaID(names: [String]) throws(StoreError) -> ReplicaID {
        guard let columns = try values() else { return ReplicaID(bytes: Array(bytes.dropFirst())) }
        guard columns.count == names.count else { throw .unreadableRow }
        return ReplicaID(columns: zip(names, columns).map { (name: $0, value: $1) })
    }

    /// Returns the text of the only column of the identity, which the client's id is as a rule.
    ///
    /// - Returns: The text, or the digits of an integer; nil if there are several columns, or another value.
    /// - Throws: `StoreError` if no values have this key.
    package func onlyText() throws(StoreError) -> ExactText? {
        guard let columns = try values(), columns.count == 1 else { return nil }
        switch columns[0] {
        case .text(let text): return ExactText(text)
        case .integer(let integer): return ExactText(String(integer))
        case .null, .real, .blob: return nil
        }
    }

    private static func packed(_ values: [SQLiteValue]) -> [UInt8]? {
        guard !values.isEmpty else { return nil }
        var bytes: [UInt8] = []
        for (index, value) in values.enumerated() {
            switch value {
            case .null: bytes.append(Tag.null)
            case .integer(let integer): append(integer, to: &bytes)
            case .text(let text):
                guard text.utf8.count < limit, !text.utf8.contains(0) else { return nil }
                bytes.append(Tag.text)
                bytes.append(contentsOf: text.utf8)
                if index < values.count - 1 { bytes.append(0) }
            case .real, .blob: return nil
            }
            if bytes.count > limit { return nil }
        }
        return bytes
    }

    /// Appends an integer with its tag.
    static func append(_ integer: Int64, to bytes: inout [UInt8]) {
        let magnitude = integer.magnitude
        let count = (71 - magnitude.leadingZeroBitCount) / 8
        bytes.append(integer < 0 ? Tag.zero - UInt8(count) : Tag.zero + UInt8(count))
        for index in (0..<count).reversed() {
            let byte = UInt8(truncatingIfNeeded: magnitude >> UInt64(8 * index))
            bytes.append(integer < 0 ? ~byte : byte)
        }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>, _ isNegative: Bool) throws(StoreError) -> Int64 {
        var magnitude: UInt64 = 0
        for byte in bytes { magnitude = magnitude << 8 | UInt64(isNegative ? ~byte : byte) }
        // A number has one key, the shortest.
        guard bytes.count == (71 - magnitude.leadingZeroBitCount) / 8 else { throw .unreadableRow }
        if isNegative, magnitude == Int64.min.magnitude { return .min }
        guard let integer = Int64(exactly: magnitude) else { throw .unreadableRow }
        return isNegative ? -integer : integer
    }
}

/// Keys of very many rows, which are made and read where they lie.
extension RowKey {
    /// Appends the key of values that lie in slots, as `init(_:of:)` makes it of values.
    ///
    /// - Parameters:
    ///   - columns: Those of the identity, in its order.
    ///   - slots: The row.
    ///   - arena: What texts lie in.
    ///   - bytes: What it is appended to.
    /// - Returns: False if the key has to be that of the replica id; then nothing was appended.
    static func append(
        _ columns: [Int], of slots: [Slot], in arena: [UInt8], to bytes: inout [UInt8]
    ) -> Bool {
        guard !columns.isEmpty else { return false }
        let start = bytes.count
        for index in columns.indices {
            let slot = slots[columns[index]]
            var isPacked = true
            switch slot.kind {
            case .null, .missing: bytes.append(Tag.null)
            case .integer: append(slot.integer, to: &bytes)
            // A wide integer is the text of its digits, as it is stored.
            case .text, .wide:
                let text = arena[slot.range]
                isPacked = text.count < limit && !text.contains(0)
                guard isPacked else { break }
                bytes.append(Tag.text)
                bytes.append(contentsOf: text)
                if index < columns.count - 1 { bytes.append(0) }
            case .real, .blob: isPacked = false
            }
            guard isPacked, bytes.count - start <= limit else {
                bytes.removeLast(bytes.count - start)
                return false
            }
        }
        return true
    }

    /// Appends the key of a replica id.
    ///
    /// - Parameters:
    ///   - replicaID: Its sixteen bytes.
    ///   - bytes: What it is appended to.
    static func append(replicaID: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(Tag.replicaID)
        bytes.append(contentsOf: replicaID)
    }

    /// Whether a text is that of the only column of the identity, as `onlyText` says it.
    ///
    /// - Parameters:
    ///   - text: Where the text lies.
    ///   - key: Where the key lies, one that was made by this process.
    ///   - bytes: What both lie in.
    /// - Returns: False also for a key of another kind.
    static func isOnlyText(_ text: Range<Int>, of key: Range<Int>, in bytes: [UInt8]) -> Bool {
        guard let first = key.first else { return false }
        let rest = bytes[(first + 1)..<key.upperBound]
        switch bytes[first] {
        case Tag.text:
            // An end stands only before another column.
            return rest.count == text.count && rest.elementsEqual(bytes[text]) && !rest.contains(0)
        case Tag.integers:
            let isNegative = bytes[first] < Tag.zero
            guard rest.count == Int(isNegative ? Tag.zero - bytes[first] : bytes[first] - Tag.zero) else {
                return false
            }
            var magnitude: UInt64 = 0
            for byte in rest { magnitude = magnitude << 8 | UInt64(isNegative ? ~byte : byte) }
            let integer = Int64(bitPattern: isNegative ? 0 &- magnitude : magnitude)
            return String(integer).utf8.elementsEqual(bytes[text])
        default: return false
        }
    }
}

/// The order of the bytes, which is that of SQLite and of the values: NULL, integers, texts.
extension RowKey: Comparable {
    /// Whether the bytes of one come before those of the other.
    package static func < (left: RowKey, right: RowKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
