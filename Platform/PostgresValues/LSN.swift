/// A position in the write-ahead log of Postgres: a count of bytes since the cluster was made.
package struct LSN: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The count of bytes.
    package let rawValue: UInt64

    /// The position before everything, `0/0`.
    package static let zero = LSN(rawValue: 0)

    /// Makes a position of its count of bytes.
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Reads both spellings, `16/B374D848` as Postgres writes it and `00000016/B374D848`; nil for anything else.
    package init?(text: some StringProtocol) {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let high = Self.half(halves[0]), let low = Self.half(halves[1]) else {
            return nil
        }
        rawValue = UInt64(high) << 32 | UInt64(low)
    }

    /// Eight and eight upper-case digits, so that texts compare as the positions do (service 7.4).
    package var text: String {
        Self.padded(UInt32(truncatingIfNeeded: rawValue >> 32)) + "/"
            + Self.padded(UInt32(truncatingIfNeeded: rawValue))
    }

    /// The spelling of Postgres, without leading zeros: `16/B374D848`.
    package var postgresText: String {
        String(rawValue >> 32, radix: 16, uppercase: true) + "/"
            + String(UInt32(truncatingIfNeeded: rawValue), radix: 16, uppercase: true)
    }

    /// The spelling of Postgres.
    package var description: String { postgresText }

    /// Whether a position stands before another.
    package static func < (left: LSN, right: LSN) -> Bool {
        left.rawValue < right.rawValue
    }

    private static func half(_ digits: some StringProtocol) -> UInt32? {
        guard (1...8).contains(digits.utf8.count), digits.utf8.first != UInt8(ascii: "+") else { return nil }
        return UInt32(digits, radix: 16)
    }

    private static func padded(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
