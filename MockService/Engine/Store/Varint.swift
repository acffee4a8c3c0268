/// Writes whole numbers without a sign as LEB128: seven bits a byte, the lowest first, each byte but the last with its
/// top bit set.
package enum Varint {
    /// Appends a number.
    ///
    /// - Parameters:
    ///   - value: The number; not below zero.
    ///   - bytes: What it is appended to: at most ten bytes.
    package static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        var rest = unsigned(value)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Returns how many bytes a number takes.
    ///
    /// - Parameter value: The number; not below zero.
    /// - Returns: 1 to 10.
    package static func count(_ value: some FixedWidthInteger) -> Int {
        (70 - (unsigned(value) | 1).leadingZeroBitCount) / 7
    }

    private static func unsigned(_ value: some FixedWidthInteger) -> UInt64 {
        precondition(value >= 0, "a varint has no sign")
        return UInt64(truncatingIfNeeded: value)
    }
}
