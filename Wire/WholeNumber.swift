/// The whole numbers that JSON may spell with a point or an exponent.
enum WholeNumber {
    /// The digits of the largest signed number of 64 bits.
    private static let mostDigits = 19

    /// Returns the number that a lexeme of JSON spells exactly; nil for a fraction, and for what 64 bits do not hold.
    ///
    /// Digits are counted, never made a double of, which would round what lies beyond 2⁵³.
    static func value(of lexeme: String) -> Int64? {
        var mantissa = Array(lexeme.utf8)[...]
        let isNegative = mantissa.first == UInt8(ascii: "-")
        if isNegative { mantissa = mantissa.dropFirst() }
        var exponentText = "0"
        if let mark = mantissa.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
            exponentText = String(decoding: mantissa[(mark + 1)...], as: UTF8.self)
            mantissa = mantissa[..<mark]
        }
        let fraction = mantissa.firstIndex(of: UInt8(ascii: ".")).map { mantissa.endIndex - $0 - 1 } ?? 0
        var digits = mantissa.filter { $0 != UInt8(ascii: ".") }.drop { $0 == UInt8(ascii: "0") }
        guard !digits.isEmpty else { return 0 }
        // An exponent that is no number of 32 bits is beyond every length that a text can have.
        guard var zeros = Int32(exponentText).map({ Int($0) - fraction }) else { return nil }
        while digits.last == UInt8(ascii: "0") {
            digits = digits.dropLast()
            zeros += 1
        }
        guard zeros >= 0, digits.count + zeros <= mostDigits else { return nil }
        let whole = String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: zeros)
        return Int64(isNegative ? "-" + whole : whole)
    }
}
