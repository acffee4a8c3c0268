import PowerSyncWire

/// What to do with a text that is sent for a JSON column (backend 2.4).
package enum JSONStrings: String, Sendable, Hashable {
    /// Store what the text says; the default, since clients hold JSON as texts.
    case parse
    /// Store the text itself, as the demo backends do.
    case keep
}

/// The text form of a value as Postgres reads it.
package struct ConvertedValue: Sendable, Hashable {
    /// The text; nil is NULL.
    package let text: String?
    /// Whether the stored value will differ from the one sent.
    package let isAdjusted: Bool
    /// At least as many bytes as Postgres prints of the value, which can be far more than the text has: `1e400`.
    package let printedLength: Int

    /// Makes a value of its parts.
    package init(_ text: String?, isAdjusted: Bool = false, printedLength: Int? = nil) {
        self.text = text
        self.isAdjusted = isAdjusted
        self.printedLength = printedLength ?? text?.utf8.count ?? 0
    }
}

/// Why a value cannot be stored in its column; the reason holds no value.
package struct ValueRefusal: Error, Sendable, Hashable {
    /// `INVALID_DATA`, `NUL_CHARACTER` or `TOO_LARGE`.
    package let code: String
    /// What was expected.
    package let reason: String
}

/// Turns the JSON values of an upload into texts that Postgres casts to the column's type (backend 2.4).
package enum ValueConversion {
    /// The longest text (backend 1.8).
    package static let textLimit = 10 << 20
    /// The most bytes that Postgres may print of a row: beyond a gibibyte it prints nothing any more, and everybody who reads
    /// the row fails, replication too.
    package static let rowLimit = 15 << 20
    /// How deep a JSON column may nest; the sync service replicates no deeper (backend 1.8).
    package static let jsonDepth = 20

    /// Converts one value.
    ///
    /// - Parameters:
    ///   - value: as it came, numbers as spelled.
    ///   - kind: how the column's values are read.
    ///   - jsonStrings: for JSON columns.
    /// - Returns: the text for Postgres.
    /// - Throws: `ValueRefusal`, without the value.
    package static func convert(
        _ value: JSON, as kind: ColumnKind, jsonStrings: JSONStrings = .parse
    ) throws(ValueRefusal) -> ConvertedValue {
        if case .null = value { return ConvertedValue(nil) }
        if case .string(let text) = value { try check(text) }
        switch kind {
        case .boolean: return ConvertedValue(try boolean(value))
        case .integer(let bits): return ConvertedValue(try integer(value, bits: bits))
        case .numeric(let scale): return try numeric(value, scale: scale)
        case .real: return ConvertedValue(try real(value))
        case .text(let limit): return try text(value, limit: limit)
        case .json: return try json(value, jsonStrings)
        case .bytes: return ConvertedValue(try bytes(value))
        case .instant, .timestamp: return ConvertedValue(try dateTime(value).text)
        case .date:
            let (_, parsed) = try dateTime(value)
            return ConvertedValue(parsed.date, isAdjusted: parsed.hasTime)
        case .time:
            guard case .string(let text) = value, DateTimeText.isTime(text) else {
                throw .invalid("a time of day")
            }
            return ConvertedValue(text)
        case .interval: return ConvertedValue(try interval(value))
        case .uuid: return ConvertedValue(try uuid(value))
        case .label, .textForm, .unsupported: return ConvertedValue(try plainText(value))
        case .range:
            let text = try plainText(value)
            try checkNumbers(inText: text)
            return ConvertedValue(text)
        case .array(let element): return try array(value, of: element, jsonStrings)
        }
    }

    private static func check(_ text: String) throws(ValueRefusal) {
        guard text.utf8.count <= textLimit else {
            throw ValueRefusal(code: "TOO_LARGE", reason: "a text of at most \(textLimit) bytes")
        }
        // libpq passes texts that end at the first NUL: the rest would be lost without a word.
        guard !text.utf8.contains(0) else {
            throw ValueRefusal(code: "NUL_CHARACTER", reason: "a text without the character U+0000")
        }
    }

    private static func boolean(_ value: JSON) throws(ValueRefusal) -> String {
        switch value {
        case .bool(let value): return value ? "true" : "false"
        case .number(let lexeme):
            switch DecimalText(lexeme)?.integer {
            case 0: return "false"
            case 1: return "true"
            default: break
            }
        case .string(let text):
            switch trimmed(text).lowercased() {
            case "1", "t", "true", "y", "yes", "on": return "true"
            case "0", "f", "false", "n", "no", "off": return "false"
            default: break
            }
        default: break
        }
        throw .invalid("0, 1, true or false")
    }

    private static func integer(_ value: JSON, bits: Int) throws(ValueRefusal) -> String {
        guard let lexeme = lexeme(value), let number = DecimalText(lexeme)?.integer else {
            throw .invalid("a whole number")
        }
        let largest = Int64.max >> (64 - bits)
        guard number <= largest, number >= -largest - 1 else {
            throw .invalid("a whole number of \(bits) bits")
        }
        return String(number)
    }

    private static func numeric(_ value: JSON, scale: Int?) throws(ValueRefusal) -> ConvertedValue {
        guard let lexeme = lexeme(value), let number = DecimalText(lexeme) else { throw .invalid("a number") }
        return ConvertedValue(
            lexeme, isAdjusted: scale.map(number.exceeds(scale:)) ?? false,
            printedLength: number.printedLength)
    }

    private static func real(_ value: JSON) throws(ValueRefusal) -> String {
        guard let lexeme = lexeme(value), DecimalText(lexeme) != nil, let double = Double(lexeme),
            double.isFinite
        else { throw .invalid("a finite number") }
        return lexeme
    }

    private static func text(_ value: JSON, limit: Int?) throws(ValueRefusal) -> ConvertedValue {
        let text: String
        switch value {
        case .string(let string): text = string
        case .array, .object:
            text = value.text
            try check(text)
        default: text = try plainText(value)
        }
        guard let limit, text.unicodeScalars.count > limit else { return ConvertedValue(text) }
        // varchar(n) drops blanks beyond its length without an error, all else is refused.
        guard text.unicodeScalars.dropFirst(limit).allSatisfy({ $0 == " " }) else {
            throw .invalid("a text of at most \(limit) characters")
        }
        return ConvertedValue(text, isAdjusted: true)
    }

    private static func plainText(_ value: JSON) throws(ValueRefusal) -> String {
        switch value {
        case .string(let text): return text
        case .number(let lexeme): return lexeme
        case .bool(let value): return value ? "true" : "false"
        default: throw .invalid("a text")
        }
    }

    private static func dateTime(_ value: JSON) throws(ValueRefusal) -> (text: String, parsed: DateTimeText) {
        guard case .string(let text) = value, let parsed = DateTimeText(trimmed(text)) else {
            throw .invalid("a date in ISO 8601")
        }
        return (trimmed(text), parsed)
    }

    private static func interval(_ value: JSON) throws(ValueRefusal) -> String {
        switch value {
        case .string(let text) where text.utf8.count <= 100: return text
        case .number(let lexeme) where DecimalText(lexeme) != nil: return lexeme + " seconds"
        default: throw .invalid("a length of time")
        }
    }

    private static func uuid(_ value: JSON) throws(ValueRefusal) -> String {
        guard case .string(let text) = value else { throw .invalid("a UUID") }
        var digits = trimmed(text).lowercased()[...]
        if digits.hasPrefix("{"), digits.hasSuffix("}") { digits = digits.dropFirst().dropLast() }
        let groups = digits.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.count == 1 || groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else {
            throw .invalid("a UUID")
        }
        let hex = Array(groups.joined())
        guard hex.count == 32, hex.allSatisfy(\.isHexDigit) else { throw .invalid("a UUID") }
        return [hex[..<8], hex[8..<12], hex[12..<16], hex[16..<20], hex[20...]].map { String($0) }
            .joined(separator: "-")
    }

    /// The spelling of a number, whether it came as a number or as a text.
    private static func lexeme(_ value: JSON) -> String? {
        switch value {
        case .number(let lexeme): lexeme
        case .string(let text): trimmed(text)
        default: nil
        }
    }

    static func trimmed(_ text: String) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let utf8 = text.utf8
        guard let first = utf8.firstIndex(where: { !isBlank($0) }),
            let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(text[first...last])
    }
}

extension ValueRefusal {
    static func invalid(_ expected: String) -> ValueRefusal {
        ValueRefusal(code: "INVALID_DATA", reason: "expected " + expected)
    }

    /// Postgres prints every digit that the exponent stands for.
    static let tooLargeNumber = ValueRefusal(
        code: "TOO_LARGE",
        reason:
            "expected numbers of at most \(DecimalText.limit) characters and exponents of at most that size")
}
