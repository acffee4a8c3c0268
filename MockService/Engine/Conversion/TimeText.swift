import PowerSyncSyncRules

/// Spells dates and times of Postgres as a configuration wants them: as ISO 8601, or as Postgres does (service 6.13).
struct TimeText: Sendable {
    /// Digits of a second's fraction; nil if times stay as the source spells them.
    private let fractionDigits: Int?

    init(options: CompatibilityOptions) { fractionDigits = options.timeDigits }

    /// `2023-03-06`; other eras as Postgres prints them.
    func date(_ text: String) -> String {
        switch text {
        case "infinity": "9999-12-31"
        case "-infinity": "0000-01-01"
        default: text
        }
    }

    /// `17:42:01.120000`, or as it came.
    func time(_ text: String) -> String {
        guard fractionDigits != nil else { return text }
        return text.prefix { $0 != "." } + fraction(of: text)
    }

    /// `2023-03-06T15:47:12.400000` or `2023-03-06 15:47:12.4`; nil for a year before 1.
    func timestamp(_ text: String) -> String? {
        let separator = fractionDigits == nil ? " " : "T"
        switch text {
        case "infinity": return "9999-12-31\(separator)23:59:59" + fraction(of: "")
        case "-infinity": return "0000-01-01\(separator)00:00:00" + fraction(of: "")
        default: break
        }
        guard !text.hasSuffix(" BC") else { return nil }
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return text }
        return "\(parts[0])\(separator)\(time(String(parts[1])))"
    }

    /// `2023-03-06T13:47:00.000000Z` or `2023-03-06 13:47:00Z`; nil for a year before 1 or behind 9999.
    func timestampWithZone(_ text: String) throws(ConversionError) -> String? {
        if text == "infinity" || text == "-infinity" { return timestamp(text).map { $0 + "Z" } }
        guard !text.hasSuffix(" BC"), text.prefix(while: { $0 != "-" }).count <= 4 else { return nil }
        guard text.hasSuffix("+00") else { throw .malformed("timestamp in UTC") }
        return timestamp(String(text.dropLast(3))).map { $0 + "Z" }
    }

    /// The fraction of a second, cut or padded with zeros to the configured digits, with its point.
    private func fraction(of text: String) -> String {
        guard let fractionDigits, fractionDigits > 0 else { return "" }
        let digits = text.drop { $0 != "." }.dropFirst().prefix(fractionDigits)
        return "." + digits + String(repeating: "0", count: fractionDigits - digits.count)
    }
}

extension CompatibilityOptions {
    /// Digits of a second's fraction, six unless the configuration says otherwise; nil if times stay as the source spells
    /// them (service 6.2).
    var timeDigits: Int? { timestampsISO8601 ? fractionDigits ?? 6 : nil }
}
