import PowerSyncWire

/// Turns the JSON values of an upload into texts that Postgres casts to the column's type (backend 2.4).
package enum ValueConversion {
    /// The longest text, as it is sent and as Postgres prints it (backend 1.8).
    package static let textLimit = 10 << 20
    /// The most bytes that Postgres may print of a row: beyond a gibibyte it prints nothing any more, and everybody who reads
    /// the row fails, replication too.
    package static let rowLimit = 15 << 20
    /// The most bytes of a value of the type `name`.
    private static let nameLimit = 63
    /// How deep a JSON column may nest; the sync service replicates no deeper (backend 1.8).
    package static let jsonDepth = 20

    /// Converts one value.
    ///
    /// - Parameters:
    ///   - value: as it came, numbers as spelled.
    ///   - kind: how the column's values are read.
    ///   - options: what the table map says about the column.
    /// - Returns: the text for Postgres.
    /// - Throws: `ValueRefusal`, without the value.
    package static func convert(
        _ value: JSON, as kind: ColumnKind, options: ValueOptions = ValueOptions()
    ) throws(ValueRefusal) -> ConvertedValue {
        switch value {
        case .null: return ConvertedValue(nil)
        case .string("") where options.emptyIsNull: return ConvertedValue(nil, isAdjusted: true)
        case .string(let text): try check(text)
        default: break
        }
        let converted = try converted(value, kind, options)
        guard converted.printedLength <= textLimit else { throw .tooLong }
        return converted
    }

    private static func converted(
        _ value: JSON, _ kind: ColumnKind, _ options: ValueOptions
    ) throws(ValueRefusal) -> ConvertedValue {
        switch kind {
        case .boolean: return ConvertedValue(try boolean(value))
        case .integer(let bits): return ConvertedValue(try integer(value, bits: bits))
        case .numeric(let scale): return try numeric(value, scale: scale, options)
        case .real: return ConvertedValue(try real(value, options), printedLength: PrintedLength.real)
        case .text(let limit): return try text(value, limit: limit)
        case .name:
            let converted = try text(value, limit: nil)
            guard (converted.text?.utf8.count ?? 0) <= nameLimit else {
                throw .invalid("a text of at most \(nameLimit) bytes")
            }
            return converted
        case .paddedText(let length):
            let converted = try text(value, limit: length)
            // A character has up to four bytes, a blank has one.
            return ConvertedValue(
                converted.text, isAdjusted: converted.isAdjusted,
                printedLength: converted.printedLength + (length ?? 0))
        case .json: return try json(value, options.jsonStrings)
        case .bytes: return ConvertedValue(try bytes(value, options.encoding))
        case .instant, .timestamp, .date: return try moment(value, kind, options)
        case .time:
            guard case .string(let text) = value, DateTimeText.isTime(text) else {
                throw .invalid("a time of day")
            }
            return ConvertedValue(text, printedLength: PrintedLength.time)
        case .interval: return ConvertedValue(try interval(value), printedLength: PrintedLength.interval)
        case .uuid: return ConvertedValue(try uuid(value), printedLength: PrintedLength.uuid)
        case .bits: return try bits(value)
        case .address:
            return ConvertedValue(try plainText(value), printedLength: PrintedLength.address)
        case .label, .textForm: return ConvertedValue(try plainText(value))
        case .unsupported:
            let text = try plainText(value)
            return ConvertedValue(text, printedLength: text.utf8.count * PrintedLength.unknownFactor)
        case .range(let bound): return try range(value, of: bound, options)
        case .array(let element): return try array(value, of: element, options)
        }
    }

    static func check(_ text: String) throws(ValueRefusal) {
        guard text.utf8.count <= textLimit else { throw .tooLong }
        // A view of a text asks for each byte where it lies; its buffer does not.
        let hasNUL = text.utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? text.utf8.contains(0)
        guard !hasNUL else { throw .nulCharacter }
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
        case .string(let text) where text.utf8.count <= DecimalText.limit:
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
        guard let lexeme = lexeme(value), let number = DecimalText.integer(of: lexeme) else {
            throw .invalid("a whole number")
        }
        let largest = Int64.max >> (64 - bits)
        guard number <= largest, number >= -largest - 1 else {
            throw .invalid("a whole number of \(bits) bits")
        }
        return String(number)
    }

    private static func numeric(
        _ value: JSON, scale: Int?, _ options: ValueOptions
    ) throws(ValueRefusal) -> ConvertedValue {
        guard let lexeme = lexeme(value) else { throw .invalid("a number") }
        if options.hasInfinity, let word = notFinite(lexeme) { return ConvertedValue(word) }
        guard let number = DecimalText(lexeme) else {
            throw DecimalText.isBeyondLimits(lexeme) ? .tooLargeNumber : .invalid("a number")
        }
        return ConvertedValue(
            lexeme, isAdjusted: scale.map(number.exceeds(scale:)) ?? false,
            // A scale fills up with zeros.
            printedLength: number.printedLength + max(0, scale ?? 0) + 1)
    }

    private static func real(_ value: JSON, _ options: ValueOptions) throws(ValueRefusal) -> String {
        guard let lexeme = lexeme(value) else { throw .invalid("a finite number") }
        if DecimalText.isShort(lexeme) { return lexeme }
        if options.hasInfinity, let word = notFinite(lexeme) { return word }
        guard DecimalText.isNumber(lexeme), let double = Double(lexeme), double.isFinite else {
            throw .invalid("a finite number")
        }
        return lexeme
    }

    private static func notFinite(_ text: String) -> String? {
        guard text.utf8.count <= 9 else { return nil }
        switch text.lowercased() {
        case "nan": return "NaN"
        case "infinity", "+infinity": return "Infinity"
        case "-infinity": return "-Infinity"
        default: return nil
        }
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
        guard let limit, text.utf8.count > limit, text.unicodeScalars.count > limit else {
            return ConvertedValue(text)
        }
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

    private static func interval(_ value: JSON) throws(ValueRefusal) -> String {
        switch value {
        // Endless ones came with Postgres 17.
        case .string(let text) where text.utf8.count <= 100 && !text.lowercased().contains("inf"): return text
        case .number(let lexeme) where DecimalText(lexeme) != nil: return lexeme + " seconds"
        default: throw .invalid("a length of time")
        }
    }

    private static func bits(_ value: JSON) throws(ValueRefusal) -> ConvertedValue {
        let text = try plainText(value)
        // A digit after x stands for four bits.
        return ConvertedValue(
            text, printedLength: text.utf8.count * (text.lowercased().hasPrefix("x") ? 4 : 1))
    }

    private static func uuid(_ value: JSON) throws(ValueRefusal) -> String {
        guard case .string(let text) = value, text.utf8.count <= 100 else { throw .invalid("a UUID") }
        if isPrintedUUID(text) { return text }
        var digits = trimmed(text).lowercased()[...]
        if digits.hasPrefix("{"), digits.hasSuffix("}") { digits = digits.dropFirst().dropLast() }
        let groups = digits.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.count == 1 || groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else {
            throw .invalid("a UUID")
        }
        let hex = Array(groups.joined())
        guard hex.count == 32, hex.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw .invalid("a UUID")
        }
        return [hex[..<8], hex[8..<12], hex[12..<16], hex[16..<20], hex[20...]].map { String($0) }
            .joined(separator: "-")
    }

    /// Whether a text is a UUID as Postgres prints it, which most are.
    private static func isPrintedUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        var text = text
        return text.withUTF8 { bytes in
            bytes.indices.allSatisfy { index in
                let byte = bytes[index]
                switch index {
                case 8, 13, 18, 23: return byte == UInt8(ascii: "-")
                default: return (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
                }
            }
        }
    }

    /// The spelling of a number, whether it came as a number or as a text.
    static func lexeme(_ value: JSON) -> String? {
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

/// At least as many bytes as Postgres prints of values whose texts may be shorter.
private enum PrintedLength {
    /// `-2.2250738585072014e-308`.
    static let real = 24
    /// `10:20:30.123456-15:59:59`.
    static let time = 24
    /// `@ 178000000 years 11 mons 31 days 23 hours 59 mins 59.999999 secs ago`, and more.
    static let interval = 100
    /// With dashes.
    static let uuid = 36
    /// An address of IPv6 that ends in one of IPv4, with its network.
    static let address = 50
    /// A guess at types whose texts only they know, such as quoted lexemes.
    static let unknownFactor = 4
}
