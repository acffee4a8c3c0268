import PowerSyncWire

/// Days and moments: texts in ISO 8601, numbers and infinity where the table map says so (backend 2.4).
extension ValueConversion {
    /// At least as many bytes as Postgres prints of a moment: `294276-12-31 23:59:59.999999+00 BC` in quotes.
    private static let momentLength = 36

    static func moment(
        _ value: JSON, _ kind: ColumnKind, _ options: ValueOptions
    ) throws(ValueRefusal) -> ConvertedValue {
        if let unit = options.epoch, let number = lexeme(value).flatMap({ DecimalText($0) }) {
            return try moment(number, unit, kind)
        }
        guard case .string(let sent) = value else { throw .invalid("a date in ISO 8601") }
        let text = trimmed(sent)
        if options.hasInfinity {
            switch text.utf8.count <= 9 ? text.lowercased() : "" {
            case "infinity", "+infinity": return ConvertedValue("infinity")
            case "-infinity": return ConvertedValue("-infinity")
            default: break
            }
        }
        guard let parsed = DateTimeText(text) else { throw .invalid("a date in ISO 8601") }
        if options.hasInfinity, let word = parsed.infinity(isDate: kind == .date) {
            return ConvertedValue(word)
        }
        switch kind {
        case .date:
            return ConvertedValue(parsed.date, isAdjusted: parsed.hasTime, printedLength: momentLength)
        case .timestamp: return ConvertedValue(parsed.inUTC, printedLength: momentLength)
        default: return ConvertedValue(text, printedLength: momentLength)
        }
    }

    private static func moment(
        _ number: DecimalText, _ unit: EpochUnit, _ kind: ColumnKind
    ) throws(ValueRefusal) -> ConvertedValue {
        guard let microseconds = number.rounded(timesTenTo: unit.microsecondsExponent) else {
            throw .invalid("a moment that the calendar has")
        }
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let isBefore = remainder < 0
        let fraction = Int(isBefore ? remainder + 1_000_000 : remainder)
        let time = CalendarTime(secondsSince1970: Int(isBefore ? quotient - 1 : quotient))
        let era = time.isBC ? " BC" : ""
        guard kind != .date else {
            return ConvertedValue(
                time.date + era, isAdjusted: time.second != 0 || fraction != 0, printedLength: momentLength)
        }
        let zone = kind == .instant ? "+00" : ""
        return ConvertedValue(
            "\(time.date) \(time.time).\(CalendarTime.padded(fraction, 6))\(zone)\(era)",
            printedLength: momentLength)
    }
}
