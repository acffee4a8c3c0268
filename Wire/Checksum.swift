/// A sum of operation checksums modulo 2^32 (client-core 5.4, service 4.3).
package struct Checksum: Sendable, Hashable, CustomStringConvertible {
    /// The sum as an unsigned number.
    package let value: UInt32

    /// Takes an unsigned number.
    package init(_ value: UInt32) { self.value = value }

    /// Takes the signed spelling in which the service sends bucket checksums.
    package init(signed: Int32) { value = UInt32(bitPattern: signed) }

    /// Takes any number and keeps its low 32 bits, as SQLite columns hold them.
    package init(truncating number: Int64) { value = UInt32(truncatingIfNeeded: number) }

    /// Takes a number from −2^31 to 2^32−1; nil outside.
    package init?(exactly number: Int64) {
        guard number >= Int64(Int32.min), number <= Int64(UInt32.max) else { return nil }
        value = UInt32(truncatingIfNeeded: number)
    }

    /// The sum of nothing.
    package static let zero = Checksum(0)

    /// The number as a signed one.
    package var signed: Int32 { Int32(bitPattern: value) }

    /// Adds modulo 2^32.
    package static func + (left: Checksum, right: Checksum) -> Checksum {
        Checksum(left.value &+ right.value)
    }

    /// Subtracts modulo 2^32.
    package static func - (left: Checksum, right: Checksum) -> Checksum {
        Checksum(left.value &- right.value)
    }

    /// Adds modulo 2^32.
    package static func += (left: inout Checksum, right: Checksum) { left = left + right }

    /// Subtracts modulo 2^32.
    package static func -= (left: inout Checksum, right: Checksum) { left = left - right }

    /// `0x` and eight hexadecimal digits, as the official core's log shows it.
    package var description: String {
        let digits = String(value, radix: 16)
        return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}
