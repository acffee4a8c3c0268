import PowerSyncPostgresValues

/// Reads the fields of one replication message in order; integers are big-endian, strings end with NUL.
///
/// Each read says what it is reading, for the error.
struct MessageReader {
    /// Where the message lies, and perhaps others around it.
    private let message: [UInt8]
    private let start: Int
    private let end: Int
    private var position: Int

    init(_ message: [UInt8]) { self.init(message, in: 0..<message.count) }

    /// Reads a message where it lies in a buffer.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= bytes.count, "a message outside of its buffer")
        message = bytes
        start = range.lowerBound
        end = range.upperBound
        position = range.lowerBound
    }

    var remaining: Int { end - position }

    mutating func byte(_ field: StaticString) throws(PostgresError) -> UInt8 {
        guard position < end else { throw malformed("\(field)") }
        defer { position += 1 }
        return message[position]
    }

    mutating func expect(_ byte: UInt8, _ field: StaticString) throws(PostgresError) {
        guard try self.byte(field) == byte else { throw malformed("\(field)") }
    }

    mutating func integer<Number: FixedWidthInteger>(_ field: StaticString) throws(PostgresError) -> Number {
        let size = Number.bitWidth / 8
        guard remaining >= size else { throw malformed("\(field)") }
        var bits: UInt64 = 0
        for byte in message[position..<position + size] { bits = bits << 8 | UInt64(byte) }
        position += size
        return Number(truncatingIfNeeded: bits)
    }

    mutating func lsn(_ field: StaticString) throws(PostgresError) -> LSN {
        LSN(rawValue: try integer(field))
    }

    /// A count of items, refused if the items, each of at least `itemSize` bytes, could not all be there.
    mutating func count<Number: FixedWidthInteger & UnsignedInteger>(
        _ field: StaticString, _ type: Number.Type, itemSize: Int
    ) throws(PostgresError) -> Int {
        let number: Number = try integer(field)
        let count = Int(number)
        guard count <= remaining / itemSize else { throw malformed("\(field)") }
        return count
    }

    mutating func bytes(_ field: StaticString, _ count: Int) throws(PostgresError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remaining else { throw malformed("\(field)") }
        defer { position += count }
        return message[position..<position + count]
    }

    mutating func string(_ field: StaticString) throws(PostgresError) -> String {
        guard let mark = message[position..<end].firstIndex(of: 0) else { throw malformed("\(field)") }
        defer { position = mark + 1 }
        return String(decoding: message[position..<mark], as: UTF8.self)
    }

    func finish() throws(PostgresError) {
        guard remaining == 0 else { throw malformed("end of message") }
    }

    func malformed(_ field: String) -> PostgresError {
        PostgresError(
            .malformedMessage, "malformed replication message: \(field) at byte \(position - start)")
    }
}
