import PowerSyncWire

/// Values as the SQLite engine sees them: integers of 64 bits, NULL for what is not a number.
extension ScalarValue {
    /// The value as SQLite has it.
    var sqlite: ScalarValue {
        switch self {
        case .real(let real) where real.isNaN: .null
        case .wide(let integer): .real(integer.real)
        case .null, .integer, .real, .text, .blob: self
        }
    }

    /// Whether it counts as true, texts and blobs as the number that they begin with; nil for NULL.
    var sqliteTruth: Bool? { isNull ? nil : sqliteReal != 0 }

    /// The value as text, doubles with 15 digits and a point; nil for NULL.
    var sqliteText: String? {
        if case .real(let real) = self { return Self.sqliteText(real) }
        return textForm
    }

    /// The bytes of a blob or of the text; nil for NULL.
    var sqliteBytes: [UInt8]? {
        if case .blob(let bytes) = self { return bytes }
        return sqliteText.map { Array($0.utf8) }
    }

    /// The value as an integer: doubles without their fraction, what is beyond 64 bits at their end; 0 for NULL.
    var sqliteInteger: Int64 {
        switch self {
        case .null: 0
        case .integer(let integer): integer
        case .wide(let integer): integer.isNegative ? .min : .max
        case .real(let real): real <= -0x1p63 ? .min : real < 0x1p63 ? Int64(real) : .max
        case .text, .blob: SQLiteNumber(textForm ?? "").integer
        }
    }

    /// The value as a double; 0 for NULL.
    var sqliteReal: Double {
        switch self {
        case .null: 0
        case .integer(let integer): Double(integer)
        case .wide(let integer): integer.real
        case .real(let real): real
        case .text, .blob: SQLiteNumber(textForm ?? "").real
        }
    }

    /// The number of an operand of arithmetic; NULL stays NULL.
    var sqliteOperand: ScalarValue {
        switch self {
        case .text, .blob: SQLiteNumber(textForm ?? "").operand
        case .null, .integer, .wide, .real: self
        }
    }

    /// The value as another type; NULL stays NULL.
    func sqliteCast(to type: CastType) -> ScalarValue {
        guard let text = sqliteText else { return .null }
        switch type {
        case .text: return ScalarValue(text: text)
        case .blob: return .blob(sqliteBytes ?? [])
        case .integer: return .integer(sqliteInteger)
        case .real: return .real(sqliteReal)
        case .numeric:
            switch self {
            case .text, .blob: return SQLiteNumber(text).numeric
            case .null, .integer, .wide, .real: return self
            }
        }
    }

    /// How two values relate: numbers before texts before blobs, texts by their bytes; nil if one is NULL.
    static func sqliteOrder(
        _ left: ScalarValue, _ right: ScalarValue
    ) throws(EvaluationError) -> ScalarOrder? {
        switch (left, right) {
        case (.text(let left), .text(let right)):
            return left == right ? .same : left < right ? .before : .behind
        case (.blob(let left), .blob(let right)):
            return left == right ? .same : left.lexicographicallyPrecedes(right) ? .before : .behind
        default: return try ScalarOrder.compare(left, right)
        }
    }

    /// The text of a double as `%!.15g` prints it.
    private static func sqliteText(_ value: Double) -> String {
        if value.isInfinite { return value < 0 ? "-Inf" : "Inf" }
        if value == 0 { return "0.0" }
        var (digits, point) = rounded(NumberText.decimal(abs(value)), to: 15)
        let sign = value < 0 ? "-" : ""
        let exponent = point - 1
        if exponent < -4 || exponent > 14 {
            let fraction = digits.count > 1 ? String(digits.dropFirst()) : "0"
            let number = String(abs(exponent))
            return "\(sign)\(digits.prefix(1)).\(fraction)e\(exponent < 0 ? "-" : "+")"
                + (number.count < 2 ? "0" : "") + number
        }
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        if digits.count <= point { digits += String(repeating: "0", count: point + 1 - digits.count) }
        return sign + digits.prefix(point) + "." + digits.dropFirst(point)
    }

    /// Rounds significant digits.
    private static func rounded(
        _ number: (digits: String, point: Int), to count: Int
    ) -> (digits: String, point: Int) {
        var digits = Array(number.digits.utf8)
        guard digits.count > count else { return number }
        let isUp = digits[count] >= UInt8(ascii: "5")
        digits = Array(digits.prefix(count))
        var point = number.point
        if isUp {
            var index = count - 1
            while index >= 0, digits[index] == UInt8(ascii: "9") {
                digits[index] = UInt8(ascii: "0")
                index -= 1
            }
            if index >= 0 {
                digits[index] += 1
            } else {
                digits.insert(UInt8(ascii: "1"), at: 0)
                point += 1
            }
        }
        while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return (String(decoding: digits, as: UTF8.self), point)
    }
}
