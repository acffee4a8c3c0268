import PowerSyncWire

/// An integer that does not fit 64 bits.
package struct WideInteger: Sendable, Hashable {
    /// Its decimal digits without leading zeros, a minus before them if it is negative.
    package let digits: ExactText

    /// Makes an integer of its digits; nil if the text is no integer, or one of 64 bits.
    ///
    /// - Parameter digits: Decimal digits, a minus before them if it is negative.
    package init?(digits: String) {
        let isNegative = digits.utf8.first == UInt8(ascii: "-")
        let magnitude = digits.utf8.dropFirst(isNegative ? 1 : 0)
        guard !magnitude.isEmpty, magnitude.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let significant = String(decoding: magnitude.drop { $0 == 0x30 }, as: UTF8.self)
        let text = (isNegative ? "-" : "") + (significant.isEmpty ? "0" : significant)
        guard Int64(text) == nil else { return nil }
        self.digits = ExactText(text)
    }

    /// Makes an integer of a double that is beyond 64 bits, and so whole; nil if it fits 64 bits, or is no number.
    ///
    /// - Parameter value: The double; all of its digits count.
    package init?(wholeNumber value: Double) {
        guard value.isFinite, value.magnitude >= 0x1p63 else { return nil }
        // Parts of nine digits each, the lowest one first: the significand, doubled as often as its exponent says.
        let base: UInt64 = 1_000_000_000
        let significand = value.significandBitPattern | 1 << 52
        var parts = [significand % base, significand / base]
        var doublings = Int(value.exponent) - 52
        while doublings > 0 {
            // A part has thirty bits.
            let bits = min(doublings, 32)
            doublings -= bits
            var carry: UInt64 = 0
            for index in parts.indices {
                let shifted = parts[index] << UInt64(bits) + carry
                parts[index] = shifted % base
                carry = shifted / base
            }
            while carry > 0 {
                parts.append(carry % base)
                carry /= base
            }
        }
        let digits = parts.reversed().map { part in
            let text = String(part)
            return String(repeating: "0", count: 9 - text.utf8.count) + text
        }
        self.init(digits: (value < 0 ? "-" : "") + digits.joined())
    }

    /// Whether it is below 0.
    package var isNegative: Bool { digits.text.utf8.first == UInt8(ascii: "-") }

    /// The nearest double; infinite if there is none.
    package var real: Double { Double(digits.text) ?? (isNegative ? -.infinity : .infinity) }
}

extension WideInteger: Comparable {
    /// Whether one integer is below the other.
    package static func < (left: WideInteger, right: WideInteger) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        let (one, other) = left.isNegative ? (right, left) : (left, right)
        // Both have their sign, so the longer one has the larger magnitude.
        let counts = (one.digits.text.utf8.count, other.digits.text.utf8.count)
        return counts.0 == counts.1 ? one.digits < other.digits : counts.0 < counts.1
    }
}
