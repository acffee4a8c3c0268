import PowerSyncSQLite
import PowerSyncSyncRules

/// Turns texts of Postgres into slots where they lie, with the values of `ValueConverter` (service 6.13).
///
/// The usual spellings of the usual types are read as bytes; for all others `ValueConverter` is asked.
package struct SlotConverter: Sendable {
    /// How a type is read, without the parts that only some have.
    enum Form: UInt8, Sendable {
        case text, boolean, integer, bytes, date, timestamp, timestampWithZone, other

        init(_ type: PostgresType) {
            switch type {
            case .text, .json: self = .text
            case .boolean: self = .boolean
            case .integer: self = .integer
            case .bytes: self = .bytes
            case .date: self = .date
            case .timestamp: self = .timestamp
            case .timestampWithZone: self = .timestampWithZone
            case .name, .real, .time, .logPosition, .array, .composite, .range, .multirange: self = .other
            }
        }
    }

    private let converter: ValueConverter
    /// Digits of a second's fraction; nil if times stay as the source spells them.
    private let fractionDigits: Int?

    /// Makes a converter for a configuration's options.
    package init(options: CompatibilityOptions = CompatibilityOptions(edition: 3)) {
        converter = ValueConverter(options: options)
        fractionDigits = options.timeDigits
    }

    /// Converts one value.
    ///
    /// - Parameters:
    ///   - range: Where its text lies.
    ///   - type: The type.
    ///   - arena: What the text lies in; gets the bytes of another text at its end.
    /// - Returns: The value.
    /// - Throws: `ConversionError` if the text does not fit the type.
    package func slot(
        _ range: Range<Int>, _ type: PostgresType, in arena: inout [UInt8]
    ) throws(ConversionError) -> Slot {
        if let slot = usual(range, Form(type), in: &arena) { return slot }
        return try converted(range, type, in: &arena)
    }

    /// Converts one value of a column of a table.
    func slot(
        _ range: Range<Int>, column: Int, of plan: TablePlan, in arena: inout [UInt8]
    ) throws(ConversionError) -> Slot {
        if let slot = usual(range, plan.forms[column], in: &arena) { return slot }
        return try converted(range, plan.conversions[column], in: &arena)
    }

    private func converted(
        _ range: Range<Int>, _ type: PostgresType, in arena: inout [UInt8]
    ) throws(ConversionError) -> Slot {
        let value = try converter.value(String(decoding: arena[range], as: UTF8.self), type)
        return Slot(value, in: &arena)
    }

    /// The value of a usual spelling; nil for any other one, also for a wrong one.
    private func usual(_ range: Range<Int>, _ form: Form, in arena: inout [UInt8]) -> Slot? {
        switch form {
        case .text: Slot(text: range)
        case .boolean:
            range.count == 1 ? Slot(arena[range.lowerBound] == UInt8(ascii: "t")) : nil
        case .integer: Self.integer(range, in: arena)
        case .bytes: Self.bytes(range, in: &arena)
        case .date: Self.isDate(range, in: arena) ? Slot(text: range) : nil
        case .timestamp: timestamp(range, zone: 0, in: &arena)
        case .timestampWithZone: timestamp(range, zone: "+00".utf8.count, in: &arena)
        case .other: nil
        }
    }

    private static func integer(_ range: Range<Int>, in arena: [UInt8]) -> Slot? {
        var index = range.lowerBound
        let isNegative = index < range.upperBound && arena[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        // 18 digits fit in any case.
        guard index < range.upperBound, range.upperBound - index <= 18 else { return nil }
        var value: Int64 = 0
        while index < range.upperBound {
            let digit = arena[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
            index += 1
        }
        return Slot(integer: isNegative ? -value : value)
    }

    /// Reads `\x` and pairs of hexadecimal digits.
    private static func bytes(_ range: Range<Int>, in arena: inout [UInt8]) -> Slot? {
        guard range.count >= 2, range.count % 2 == 0, arena[range.lowerBound] == UInt8(ascii: "\\"),
            arena[range.lowerBound + 1] == UInt8(ascii: "x")
        else { return nil }
        let start = arena.count
        for index in stride(from: range.lowerBound + 2, to: range.upperBound, by: 2) {
            guard let high = nibble(arena[index]), let low = nibble(arena[index + 1]) else {
                arena.removeLast(arena.count - start)
                return nil
            }
            arena.append(high << 4 | low)
        }
        return Slot(blob: start..<arena.count)
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    private static func isDate(_ range: Range<Int>, in arena: [UInt8]) -> Bool {
        range.count == "0000-00-00".utf8.count && isDateAndTime(range, in: arena)
    }

    /// Whether each byte of at most 19 is what `0000-00-00 00:00:00` has there, a digit for a digit.
    private static func isDateAndTime(_ range: Range<Int>, in arena: [UInt8]) -> Bool {
        for index in range {
            let byte = arena[index]
            switch index - range.lowerBound {
            case 4, 7: guard byte == UInt8(ascii: "-") else { return false }
            case 10: guard byte == UInt8(ascii: " ") else { return false }
            case 13, 16: guard byte == UInt8(ascii: ":") else { return false }
            default: guard isDigit(byte) else { return false }
            }
        }
        return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// Spells a time of a year with four digits as ISO 8601, its fraction cut or padded to the configured digits; or as it
    /// came, with `Z` for its zone.
    ///
    /// - Parameters:
    ///   - range: Where `2023-03-06 15:47:12.4` lies, and behind it the zone.
    ///   - zone: The bytes of the zone, which must be `+00`; 0 for a time without zone.
    ///   - arena: Gets `2023-03-06T15:47:12.400000`, and `Z` with a zone.
    /// - Returns: The text; nil for another spelling.
    private func timestamp(_ range: Range<Int>, zone: Int, in arena: inout [UInt8]) -> Slot? {
        let second = range.lowerBound + "0000-00-00 00:00:00".utf8.count
        let end = range.upperBound - zone
        guard second <= end, Self.isDateAndTime(range.lowerBound..<second, in: arena) else { return nil }
        if zone > 0 {
            guard arena[end] == UInt8(ascii: "+"), arena[end + 1] == UInt8(ascii: "0"),
                arena[end + 2] == UInt8(ascii: "0")
            else { return nil }
        }
        var digits = second..<second
        if second < end {
            guard arena[second] == UInt8(ascii: ".") else { return nil }
            digits = second + 1..<end
            for index in digits where !Self.isDigit(arena[index]) { return nil }
        }
        if fractionDigits == nil, zone == 0 { return Slot(text: range) }
        let start = arena.count
        // Byte by byte: a slice of the arena would keep it from growing in place.
        if let fractionDigits {
            for index in range.lowerBound..<second {
                arena.append(index == range.lowerBound + 10 ? UInt8(ascii: "T") : arena[index])
            }
            if fractionDigits > 0 { arena.append(UInt8(ascii: ".")) }
            for place in 0..<fractionDigits {
                arena.append(place < digits.count ? arena[digits.lowerBound + place] : UInt8(ascii: "0"))
            }
        } else {
            for index in range.lowerBound..<end { arena.append(arena[index]) }
        }
        if zone > 0 { arena.append(UInt8(ascii: "Z")) }
        return Slot(text: start..<arena.count)
    }
}
