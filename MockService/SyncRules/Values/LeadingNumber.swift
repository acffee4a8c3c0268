/// The number that a text begins with, behind blanks (service 6.12).
struct LeadingNumber {
    /// The number as it is spelled: a sign, digits, a fraction and an exponent.
    private let spelling: String
    /// The sign and the digits before fraction and exponent.
    private let whole: String
    /// Whether it has neither fraction nor exponent.
    private let isWhole: Bool

    /// Reads the beginning of a text; nil if there is no number.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count, bytes[index] == 0x20 || (0x09...0x0D).contains(bytes[index]) { index += 1 }
        var sign = ""
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
            if bytes[index] == UInt8(ascii: "-") { sign = "-" }
            index += 1
        }
        let digits = Self.digits(bytes, from: index)
        index = digits.upperBound
        var fraction = index..<index
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            fraction = Self.digits(bytes, from: index + 1)
        }
        guard !digits.isEmpty || !fraction.isEmpty else { return nil }
        if !fraction.isEmpty { index = fraction.upperBound }
        let exponent = Self.exponent(bytes, from: index)
        whole = sign + (digits.isEmpty ? "0" : String(decoding: bytes[digits], as: UTF8.self))
        isWhole = fraction.isEmpty && exponent.isEmpty
        spelling =
            whole + (fraction.isEmpty ? "" : "." + String(decoding: bytes[fraction], as: UTF8.self))
            + String(decoding: bytes[exponent], as: UTF8.self)
    }

    /// The whole number before fraction and exponent.
    ///
    /// - Throws: `EvaluationError` if it has too many digits.
    var integer: ScalarValue {
        get throws(EvaluationError) {
            guard whole.utf8.count <= LongInteger.digitLimit else { throw LongInteger.tooLarge }
            // Nothing but a sign and digits was read.
            return ScalarValue(digits: whole) ?? .integer(0)
        }
    }

    /// An integer if it is spelled as one, else a double.
    ///
    /// - Throws: `EvaluationError` if the integer has too many digits.
    var number: ScalarValue {
        get throws(EvaluationError) { try isWhole ? integer : .real(real) }
    }

    /// The nearest double; infinite if there is none.
    var real: Double { Double(spelling) ?? (whole.hasPrefix("-") ? -.infinity : .infinity) }

    private static func digits(_ bytes: [UInt8], from start: Int) -> Range<Int> {
        var end = start
        while end < bytes.count, (0x30...0x39).contains(bytes[end]) { end += 1 }
        return start..<end
    }

    /// An `e`, a sign and digits; empty if a digit is missing.
    private static func exponent(_ bytes: [UInt8], from start: Int) -> Range<Int> {
        guard start < bytes.count, bytes[start] | 0x20 == UInt8(ascii: "e") else { return start..<start }
        var index = start + 1
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
            index += 1
        }
        let digits = digits(bytes, from: index)
        return digits.isEmpty ? start..<start : start..<digits.upperBound
    }
}
