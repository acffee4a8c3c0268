/// A second of the calendar that Postgres has: Gregorian at all times, without zones.
struct CalendarTime: Sendable, Hashable {
    /// The year as astronomers count: 0 is 1 BC.
    let year: Int
    /// From 1.
    let month: Int
    /// From 1.
    let day: Int
    /// Of the day, from 0.
    let second: Int

    private static let secondsOfDay = 86_400

    init(year: Int, month: Int, day: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.second = second
    }

    /// Makes the time so many seconds after the first one of 1970, which may be below zero.
    init(secondsSince1970 seconds: Int) {
        second = (seconds % Self.secondsOfDay + Self.secondsOfDay) % Self.secondsOfDay
        // Days from 1 March of the year 0, so that a leap day ends its year.
        let days = (seconds - second) / Self.secondsOfDay + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The seconds since the first one of 1970; nil where the calendar has no such day.
    var secondsSince1970: Int? {
        let year = month <= 2 ? self.year - 1 : self.year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let read = CalendarTime(secondsSince1970: days * Self.secondsOfDay)
        guard read.year == self.year, read.month == month, read.day == day else { return nil }
        return days * Self.secondsOfDay + second
    }

    /// Whether the year is one before Christ.
    var isBC: Bool { year <= 0 }

    /// `YYYY-MM-DD`, without the era.
    var date: String {
        "\(Self.padded(isBC ? 1 - year : year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
    }

    /// `hh:mm:ss`.
    var time: String {
        "\(Self.padded(second / 3_600, 2)):\(Self.padded(second / 60 % 60, 2)):\(Self.padded(second % 60, 2))"
    }

    static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
