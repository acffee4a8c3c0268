import PowerSyncWire

/// `unixepoch` and `datetime` of the default engine (service 6.10).
enum TimeFunctions {
    /// What the arguments behind the first one ask for.
    private struct Modifiers {
        var isUnixTime = false
        var hasFraction = false
    }

    /// `unixepoch`: seconds since 1970, an integer; a double with `subsec`.
    static func unixTime(_ arguments: [ScalarValue]) -> ScalarValue {
        guard let (time, modifiers) = read(arguments) else { return .null }
        return modifiers.hasFraction
            ? .real(Double(time.milliseconds) / 1000) : .integer(Int64(time.seconds))
    }

    /// `datetime`: date and time of UTC, with milliseconds if `subsec` is there.
    static func dateAndTime(_ arguments: [ScalarValue]) -> ScalarValue {
        guard let (time, modifiers) = read(arguments) else { return .null }
        return ScalarValue(text: time.text(hasFraction: modifiers.hasFraction))
    }

    /// Nil if there is no time, or a modifier that is not known.
    private static func read(_ arguments: [ScalarValue]) -> (CalendarTime, Modifiers)? {
        guard let first = arguments.first else { return nil }
        var modifiers = Modifiers()
        for argument in arguments.dropFirst() {
            switch argument.textForm?.lowercased() {
            case "unixepoch": modifiers.isUnixTime = true
            case "subsec", "subsecond": modifiers.hasFraction = true
            default: return nil
            }
        }
        let time = number(first).map { number in
            modifiers.isUnixTime ? CalendarTime(unixTime: number) : CalendarTime(julianDay: number)
        }
        // Only a number counts seconds.
        if let time { return time.map { ($0, modifiers) } }
        guard !modifiers.isUnixTime, let text = first.textForm else { return nil }
        return CalendarTime(text: text).map { ($0, modifiers) }
    }

    /// A number, or the one that all of a text spells; nil for anything else.
    private static func number(_ value: ScalarValue) -> Double? {
        switch value {
        case .null: nil
        case .integer(let integer): Double(integer)
        case .wide(let integer): integer.real
        case .real(let real): real
        case .text, .blob: value.textForm.flatMap(spelledNumber)
        }
    }

    private static func spelledNumber(_ text: String) -> Double? {
        // `Double` reads words and hexadecimal digits too.
        let isDecimal = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte)
        }
        return isDecimal ? Double(text) : nil
    }
}
