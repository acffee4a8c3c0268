/// The number at the beginning of a text, as SQLite reads it.
///
/// Which of integer and double it is depends on where it is read: of an operand, of a CAST, of a side of a comparison.
struct SQLiteNumber {
    /// The number before point and exponent; the nearest one that 64 bits hold.
    let integer: Int64
    /// The number.
    let real: Double
    /// Whether 64 bits hold `integer` as it is spelled.
    private let fits: Bool
    /// Whether nothing but the number is there, blanks aside.
    private let isAll: Bool
    /// Whether a point or an exponent belongs to it.
    private let hasFraction: Bool

    /// Reads the beginning of a text; without digits it is 0.
    init(_ text: String) {
        let bytes = Array(text.utf8)
        var index = Self.passBlanks(bytes, 0)
        var sign = ""
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
            if bytes[index] == UInt8(ascii: "-") { sign = "-" }
            index += 1
        }
        let whole = Self.passDigits(bytes, index)
        index = whole.upperBound
        var fraction = index..<index
        var hasPoint = false
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            hasPoint = true
            fraction = Self.passDigits(bytes, index + 1)
            index = fraction.upperBound
        }
        let hasDigits = !whole.isEmpty || !fraction.isEmpty
        var exponent = index..<index
        var isBroken = false
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            var digits = index + 1
            let sign = digits < bytes.count ? bytes[digits] : 0
            if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { digits += 1 }
            let found = Self.passDigits(bytes, digits)
            isBroken = found.isEmpty
            if !isBroken {
                exponent = index..<found.upperBound
                index = found.upperBound
            }
        }
        isAll = hasDigits && !isBroken && Self.passBlanks(bytes, index) == bytes.count
        hasFraction = hasDigits && (hasPoint || !exponent.isEmpty)
        let digits = String(decoding: bytes[whole], as: UTF8.self)
        let exact = Int64(sign + digits)
        fits = exact != nil || digits.isEmpty
        integer = exact ?? (digits.isEmpty ? 0 : sign.isEmpty ? .max : .min)
        let spelling =
            "\(sign)0\(digits).\(String(decoding: bytes[fraction], as: UTF8.self))0"
            + String(decoding: bytes[exponent], as: UTF8.self)
        real = Double(spelling) ?? 0
    }

    /// As an operand of arithmetic.
    var operand: ScalarValue { fits && !hasFraction ? .integer(integer) : .real(real) }

    /// As `CAST(… AS NUMERIC)`: whole doubles are integers.
    var numeric: ScalarValue {
        if fits, !hasFraction { return .integer(integer) }
        // Below 2⁵¹ all whole doubles are told from their neighbours.
        let limit: Int64 = 1 << 51
        guard let whole = Int64(exactly: real), whole >= -limit, whole < limit else { return .real(real) }
        return .integer(whole)
    }

    /// As a side of a comparison with a number; nil if the text is more, or less, than a number.
    var compared: ScalarValue? { isAll ? operand : nil }

    private static func passBlanks(_ bytes: [UInt8], _ start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] == 0x20 || (0x09...0x0D).contains(bytes[index]) { index += 1 }
        return index
    }

    private static func passDigits(_ bytes: [UInt8], _ start: Int) -> Range<Int> {
        var end = start
        while end < bytes.count, (0x30...0x39).contains(bytes[end]) { end += 1 }
        return start..<end
    }
}
