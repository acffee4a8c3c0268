/// Spells doubles as JavaScript does, which is what the real service's data text holds (service 4.4).
package enum NumberText {
    /// The text of a REAL in data: with `.0` behind what looks like an integer; bare words for what is no
    /// number.
    package static func real(_ value: Double) -> String {
        let text = javaScript(value)
        return text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || ($0 >= 0x30 && $0 <= 0x39) }
            ? text + ".0" : text
    }

    /// The text of a REAL in a bucket name or as text: 314 and not 314.0 (service 5).
    package static func normalized(_ value: Double) -> String {
        if let integer = Int64(exactly: value) { return String(integer) }
        return javaScript(value)
    }

    /// The shortest decimal that reads back as the same double, laid out as JavaScript's `String(number)`.
    package static func javaScript(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        if value == 0 { return "0" }
        let (digits, point) = decimal(abs(value))
        let sign = value < 0 ? "-" : ""
        if point > 21 || point < -5 {
            let exponent = point - 1
            let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
            return sign + String(digits.prefix(1)) + fraction + "e" + (exponent < 0 ? "-" : "+")
                + String(abs(exponent))
        }
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        if point >= digits.count {
            return sign + digits + String(repeating: "0", count: point - digits.count)
        }
        return sign + digits.prefix(point) + "." + digits.dropFirst(point)
    }

    /// The significant digits of a positive number and where its point is: 0.0123 is ("123", -1).
    static func decimal(_ value: Double) -> (digits: String, point: Int) {
        let parts = value.description.split(separator: "e", maxSplits: 1)
        let mantissa = parts[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let whole = mantissa[0]
        var digits = whole + (mantissa.count > 1 ? mantissa[1] : "")
        var point = whole.count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        let zeros = digits.prefix { $0 == "0" }.count
        digits = digits.dropFirst(zeros)
        point -= zeros
        while digits.last == "0" { digits.removeLast() }
        return (String(digits), point)
    }
}
