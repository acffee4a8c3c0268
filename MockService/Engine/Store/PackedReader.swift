/// Reads what the state file packs into its blobs, from the front.
///
/// A length is compared with the end before it is believed, so a damaged file gives an error and never a trap. The
/// bytes are lent: the reader must not outlive them.
package struct PackedReader {
    private let bytes: UnsafeRawBufferPointer
    /// How many bytes have been read.
    package private(set) var position = 0

    /// Begins at the front.
    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether everything has been read.
    package var isAtEnd: Bool { position == bytes.count }

    /// Reads one byte.
    package mutating func byte() throws(StoreError) -> UInt8 {
        guard position < bytes.count else { throw .unreadableRow }
        let byte = bytes[position]
        position += 1
        return byte
    }

    /// Reads a number that `Varint` wrote.
    ///
    /// - Returns: The number.
    /// - Throws: `StoreError`, also if the number has a shorter spelling: what is packed is compared as bytes.
    package mutating func varint() throws(StoreError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            let bits = UInt64(next & 0x7F)
            // The tenth byte has room for the last of 64 bits.
            guard shift < 63 || (shift == 63 && bits <= 1) else { throw .unreadableRow }
            value |= bits << shift
            if next < 0x80 {
                guard next > 0 || shift == 0 else { throw .unreadableRow }
                return value
            }
            shift += 7
        }
    }

    /// Reads a varint of at most 63 bits.
    package mutating func number() throws(StoreError) -> Int64 {
        guard let number = Int64(exactly: try varint()) else { throw .unreadableRow }
        return number
    }

    /// Reads four bytes as a number, the lowest byte first.
    package mutating func littleEndian() throws(StoreError) -> UInt32 {
        let range = try take(4)
        return UInt32(
            littleEndian: bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt32.self))
    }

    /// Passes over so many bytes.
    ///
    /// - Parameter count: How many.
    /// - Returns: Where they are.
    /// - Throws: `StoreError` if there are fewer.
    package mutating func take(_ count: UInt64) throws(StoreError) -> Range<Int> {
        guard count <= UInt64(bytes.count - position) else { throw .unreadableRow }
        let start = position
        position += Int(count)
        return start..<position
    }

    /// Passes over a varint and as many bytes as it says; returns where they are.
    package mutating func counted() throws(StoreError) -> Range<Int> {
        let count = try varint()
        return try take(count)
    }
}

@available(*, unavailable)
extension PackedReader: Sendable {}
