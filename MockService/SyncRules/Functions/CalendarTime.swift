/// A moment of UTC in the years -4713 to 9999, to a millisecond, by the Gregorian calendar however early it is.
struct CalendarTime: Equatable {
    /// Milliseconds since 1970.
    let milliseconds: Int

    /// The moments that there are: Julian day 0 to the end of the year 9999.
    private static let range = -210_866_760_000_000...253_402_300_799_999

    private static let dayMilliseconds = 86_400_000

    /// Makes a moment; nil outside of what there is.
    init?(milliseconds: Int) {
        guard Self.range.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// Makes a moment of seconds since 1970; nil outside of what there is.
    init?(unixTime seconds: Double) {
        guard seconds.magnitude < 1e12 else { return nil }
        self.init(milliseconds: Int((seconds * 1000).rounded()))
    }

    /// Makes a moment of days since noon of -4713-11-24; nil outside of what there is.
    init?(julianDay days: Double) {
        guard days.magnitude < 1e8 else { return nil }
        self.init(milliseconds: Int((days * 86_400_000).rounded()) + Self.range.lowerBound)
    }

    /// Seconds since 1970, whole ones.
    var seconds: Int { Self.divide(milliseconds, by: 1000).quotient }

    /// The moment as `2024-02-29 12:34:56`, with `.123` behind it if asked for.
    func text(hasFraction: Bool) -> String {
        let (day, time) = Self.divide(milliseconds, by: Self.dayMilliseconds)
        let (year, month, dayOfMonth) = Self.date(ofDay: day)
        let sign = year < 0 ? "-" : ""
        let date = "\(sign)\(padded(abs(year), 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
        let seconds = time / 1000
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { padded($0, 2) }
        let fraction = hasFraction ? "." + padded(time % 1000, 3) : ""
        return "\(date) \(clock.joined(separator: ":"))\(fraction)"
    }

    private func padded(_ number: Int, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }

    private static func divide(_ number: Int, by divisor: Int) -> (quotient: Int, remainder: Int) {
        let remainder = (number % divisor + divisor) % divisor
        return ((number - remainder) / divisor, remainder)
    }

    /// Days from 1970-01-01 to a date; a day behind the month's end is one of the next month.
    private static func day(year: Int, month: Int, day: Int) -> Int {
        // Years begin in March, so that the leap day is the last one; 400 of them have always 146,097 days.
        let years = month > 2 ? year : year - 1
        let (era, yearOfEra) = divide(years, by: 400)
        let monthOfYear = (month + 9) % 12
        let dayOfYear = (153 * monthOfYear + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = divide(day + 719_468, by: 146_097)
        let leapDays = dayOfEra / 1460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = yearOfEra + era * 400 + (month < 10 ? 0 : 1)
        return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}

/// Texts such as `2024-02-29`, `2024-02-29 12:34`, `2024-02-29T12:34:56.123+02:00`.
extension CalendarTime {
    /// Reads a text, of which digits behind the milliseconds are cut; nil if it is none of these.
    init?(text: String) {
        var reader = TimeReader(text)
        guard let year = reader.number(4), reader.pass("-"), let month = reader.number(2, in: 1...12),
            reader.pass("-"), let day = reader.number(2, in: 1...31)
        else { return nil }
        var milliseconds = Self.day(year: year, month: month, day: day) * Self.dayMilliseconds
        if !reader.isAtEnd {
            guard reader.pass("T") || reader.passBlanks(), let time = reader.time() else { return nil }
            milliseconds += time
            if !reader.isAtEnd {
                guard let offset = reader.offset(), reader.isAtEnd else { return nil }
                milliseconds -= offset
            }
        }
        self.init(milliseconds: milliseconds)
    }
}

/// Reads the parts of a time one after the other.
private struct TimeReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = ArraySlice(text.utf8) }

    var isAtEnd: Bool { rest.isEmpty }

    /// Passes a character if it is next.
    mutating func pass(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Passes blanks; returns whether there was one.
    mutating func passBlanks() -> Bool {
        let count = rest.count
        rest = rest.drop { $0 == UInt8(ascii: " ") }
        return rest.count < count
    }

    /// Reads a number of so many digits.
    mutating func number(_ count: Int, in range: ClosedRange<Int> = 0...9999) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard range.contains(number) else { return nil }
        rest = rest.dropFirst(count)
        return number
    }

    /// Reads `12:34`, `12:34:56` or `12:34:56.789`, in milliseconds.
    mutating func time() -> Int? {
        guard let hour = number(2, in: 0...23), pass(":"), let minute = number(2, in: 0...59) else {
            return nil
        }
        var milliseconds = (hour * 60 + minute) * 60_000
        guard pass(":") else { return milliseconds }
        guard let second = number(2, in: 0...59) else { return nil }
        milliseconds += second * 1000
        guard pass(".") else { return milliseconds }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        var fraction = 0
        for place in 0..<3 {
            let digit = place < digits.count ? digits[digits.startIndex + place] : UInt8(ascii: "0")
            fraction = fraction * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return milliseconds + fraction
    }

    /// Reads `Z` or `+02:00`, in milliseconds.
    mutating func offset() -> Int? {
        _ = passBlanks()
        if pass("Z") || pass("z") { return 0 }
        let sign = pass("+") ? 1 : pass("-") ? -1 : 0
        guard sign != 0, let hours = number(2, in: 0...14), pass(":"), let minutes = number(2, in: 0...59)
        else { return nil }
        return sign * (hours * 60 + minutes) * 60_000
    }
}
