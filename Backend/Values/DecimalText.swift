/// A decimal number read from its spelling without rounding: digits × 10^exponent.
///
/// Doubles would damage what clients send: 9007199254740993 and numerics of 25 digits (backend 2.4).
package struct DecimalText: Sendable, Hashable {
    /// The most characters of a number, and the largest size of its exponent (backend 7, number 10).
    package static let limit = 400

    private let isNegative: Bool
    /// The significant digits: no zero in front, none behind, empty for zero.
    private let digits: [UInt8]
    private let exponent: Int

    /// Reads `[+-]digits[.digits][e[+-]digits]`; nil for every other text and beyond the limits.
    package init?(_ text: some StringProtocol) {
        var bytes = Array(text.utf8)[...]
        guard bytes.count <= DecimalText.limit else { return nil }
        var isNegative = false
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            bytes.removeFirst()
        }
        let whole = bytes.prefix(while: DecimalText.isDigit)
        bytes = bytes.dropFirst(whole.count)
        var fraction: ArraySlice<UInt8> = []
        if bytes.first == UInt8(ascii: ".") {
            fraction = bytes.dropFirst().prefix(while: DecimalText.isDigit)
            bytes = bytes.dropFirst(1 + fraction.count)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var exponent = -fraction.count
        if let mark = bytes.first, mark | 0x20 == UInt8(ascii: "e") {
            guard let written = Int(String(decoding: bytes.dropFirst(), as: UTF8.self)),
                // Not by the absolute value: the smallest integer has none.
                (-DecimalText.limit...DecimalText.limit).contains(written)
            else { return nil }
            exponent += written
        } else if !bytes.isEmpty {
            return nil
        }
        var digits = Array((whole + fraction).drop { $0 == UInt8(ascii: "0") })
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        self.isNegative = isNegative && !digits.isEmpty
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent
    }

    /// The integer, if the number is whole and fits: `12`, `12.0` and `1.2e1` are the same.
    package var integer: Int64? {
        guard exponent >= 0, digits.count + exponent <= 19 else { return nil }
        let text = String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: exponent)
        return Int64((isNegative ? "-" : "") + (text.isEmpty ? "0" : text))
    }

    /// At least as many characters as Postgres prints of the number.
    package var printedLength: Int { digits.count + abs(exponent) + 3 }

    /// Whether the number has more places behind the point than these.
    package func exceeds(scale: Int) -> Bool { -exponent > scale }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
