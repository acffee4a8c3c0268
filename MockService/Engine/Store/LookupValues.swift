import PowerSyncSyncRules
import PowerSyncWire

/// Keys and values of lookups as bytes (DESIGN.md, 1; LANGUAGE.md, 6).
///
/// A key has a tag and a value for each of its values, so that equal keys, and no others, have the same bytes:
///
/// | value | tag | behind it |
/// |---|---|---|
/// | integer with a magnitude of n bytes, 0 of none | 10 ± n | the magnitude as in a `RowKey` |
/// | REAL that is no integer of 64 bits | 20 | its eight bytes, highest first, in the order of the numbers |
/// | integer beyond 64 bits | 1F | its digits, and 00 at the end; of one that a REAL equals what this has |
/// | text | 30 | UTF-8, each 00 as 00 FF, and 00 00 at the end |
///
/// A value is a varint of how many rows there are + 1, and the outputs of each row, as many as the definition has. An
/// output is a tag, and behind it:
///
/// | output | tag | behind it |
/// |---|---|---|
/// | NULL | 0 | |
/// | integer | 1 | a varint: 0, −1, 1, −2 are 0, 1, 2, 3 |
/// | REAL | 2 | its eight bytes, lowest first |
/// | text, BLOB | 3, 4 | a varint of the length, and the bytes |
/// | integer beyond 64 bits | 5 | as of a text, its digits |
///
/// No bytes at all are a tombstone: the key finds nothing of the row any more.
package enum LookupValues {
    private enum KeyTag {
        static let wide: UInt8 = 0x1F
        static let real: UInt8 = 0x20
        static let text: UInt8 = 0x30
    }

    fileprivate enum Tag {
        static let null: UInt8 = 0
        static let integer: UInt8 = 1
        static let real: UInt8 = 2
        static let text: UInt8 = 3
        static let blob: UInt8 = 4
        static let wide: UInt8 = 5
    }

    /// Appends a key.
    ///
    /// - Parameters:
    ///   - values: The values of the key, of which none is missing; none are the key by which every row is found.
    ///   - arena: What texts lie in.
    ///   - bytes: What it is appended to.
    /// - Returns: False if a value is NULL, a BLOB or no number: such a row is not found, and nothing was appended.
    package static func appendKey(
        _ values: [Slot], in arena: [UInt8], to bytes: inout [UInt8]
    ) -> Bool {
        let start = bytes.count
        for value in values {
            guard append(keyPart: value, in: arena, to: &bytes) else {
                bytes.removeLast(bytes.count - start)
                return false
            }
        }
        return true
    }

    private static func append(
        keyPart value: Slot, in arena: [UInt8], to bytes: inout [UInt8]
    ) -> Bool {
        switch value.kind {
        case .null, .blob: return false
        case .missing: preconditionFailure("a row with a missing value waits")
        case .integer: RowKey.append(value.integer, to: &bytes)
        case .real:
            if value.real.isNaN { return false }
            if let integer = Int64(exactly: value.real) {
                RowKey.append(integer, to: &bytes)
            } else {
                append(keyPart: value.real, to: &bytes)
            }
        case .wide:
            guard case .wide(let integer) = value.scalar(in: arena) else { return false }
            if WideInteger(wholeNumber: integer.real) == integer {
                append(keyPart: integer.real, to: &bytes)
            } else {
                bytes.append(KeyTag.wide)
                bytes.append(contentsOf: integer.digits.text.utf8)
                bytes.append(0)
            }
        case .text:
            bytes.append(KeyTag.text)
            for byte in arena[value.range] {
                bytes.append(byte)
                if byte == 0 { bytes.append(0xFF) }
            }
            bytes.append(0)
            bytes.append(0)
        }
        return true
    }

    private static func append(keyPart real: Double, to bytes: inout [UInt8]) {
        bytes.append(KeyTag.real)
        let bits = real.bitPattern
        let ordered = real.sign == .minus ? ~bits : bits | 1 << 63
        withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends the value of a key.
    ///
    /// - Parameters:
    ///   - rows: What the key finds of a source row, at least one row; each has the outputs of the definition, of which
    ///     none is missing.
    ///   - arena: What texts and BLOBs lie in.
    ///   - bytes: What it is appended to.
    package static func append(rows: [[Slot]], in arena: [UInt8], to bytes: inout [UInt8]) {
        precondition(!rows.isEmpty, "a key that finds nothing has no entry")
        Varint.append(rows.count + 1, to: &bytes)
        for row in rows {
            for value in row { append(output: value, in: arena, to: &bytes) }
        }
    }

    private static func append(output value: Slot, in arena: [UInt8], to bytes: inout [UInt8]) {
        switch value.kind {
        case .null: bytes.append(Tag.null)
        case .missing: preconditionFailure("a row with a missing value waits")
        case .integer:
            bytes.append(Tag.integer)
            // Small magnitudes are short, whatever their sign.
            let integer = value.integer
            Varint.append(UInt64(bitPattern: (integer << 1) ^ (integer >> 63)), to: &bytes)
        case .real:
            bytes.append(Tag.real)
            withUnsafeBytes(of: value.real.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        case .text, .blob, .wide:
            bytes.append(value.kind == .text ? Tag.text : value.kind == .blob ? Tag.blob : Tag.wide)
            Varint.append(value.range.count, to: &bytes)
            bytes.append(contentsOf: arena[value.range])
        }
    }
}

/// Rows that a key finds, read from the values of one or more source rows.
package struct LookupRows: Sendable, Hashable {
    /// What texts and BLOBs of the rows lie in.
    package private(set) var arena: [UInt8] = []
    /// The outputs of each row.
    package private(set) var rows: [[Slot]] = []

    /// No rows.
    package init() {}

    /// Adds the rows of a value.
    ///
    /// - Parameters:
    ///   - stored: What `LookupValues` has packed, not empty.
    ///   - width: How many outputs each row has.
    ///   - most: How many rows are added at most, the first ones.
    /// - Returns: Whether these were all.
    /// - Throws: `StoreError` if they cannot be read; what was there before is of no more use.
    package mutating func append(
        _ stored: UnsafeRawBufferPointer, width: Int, most: Int
    ) throws(StoreError) -> Bool {
        let start = arena.count
        arena.append(contentsOf: stored)
        var reader = PackedReader(stored)
        let head = try reader.varint()
        guard head > 1 else { throw .unreadableRow }
        let count = Int(clamping: head - 1)
        for _ in 0..<min(count, most) {
            var row: [Slot] = []
            for _ in 0..<width { row.append(try Self.value(&reader, stored).moved(by: start)) }
            rows.append(row)
        }
        guard count <= most else { return false }
        guard reader.isAtEnd else { throw .unreadableRow }
        return true
    }

    private static func value(
        _ reader: inout PackedReader, _ bytes: UnsafeRawBufferPointer
    ) throws(StoreError) -> Slot {
        switch try reader.byte() {
        case LookupValues.Tag.null: return .null
        case LookupValues.Tag.integer:
            let bits = try reader.varint()
            return Slot(integer: Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1))
        case LookupValues.Tag.real:
            let place = try reader.take(8).lowerBound
            let bits = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            return Slot(real: Double(bitPattern: bits))
        case LookupValues.Tag.text: return Slot(text: try reader.counted())
        case LookupValues.Tag.blob: return Slot(blob: try reader.counted())
        case LookupValues.Tag.wide:
            let range = try reader.counted()
            let digits = String(decoding: bytes[range], as: UTF8.self)
            guard WideInteger(digits: digits)?.digits == ExactText(digits) else { throw .unreadableRow }
            return Slot(wide: range)
        default: throw .unreadableRow
        }
    }
}
