/// Dates as HTTP writes them (RFC 9110 5.6.7).
package enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the date of a moment, given in seconds since 1970-01-01T00:00:00Z, not negative.
    package static func text(_ seconds: Int) -> String {
        let (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = civil(days)
        let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits).joined(separator: ":")
        return "\(weekdays[days % 7]), \(twoDigits(day)) \(months[month - 1]) \(year) \(clock) GMT"
    }

    /// Reads a date in any form that a recipient must know: `Sun, 06 Nov 1994 08:49:37 GMT`, which alone is sent, and
    /// the obsolete `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameters:
    ///   - text: the date.
    ///   - now: the time in seconds since 1970-01-01T00:00:00Z, which tells the century of a year of two digits.
    /// - Returns: seconds since 1970-01-01T00:00:00Z; nil for an earlier date and for any other text.
    package static func seconds(_ text: some StringProtocol, now: Int) -> Int? {
        let words = text.split(separator: " ").map { String($0) }
        switch words.count {
        case 6 where words[5] == "GMT":
            return seconds(day: words[1], month: words[2], year: Int(words[3]), time: words[4])
        case 5: return seconds(day: words[2], month: words[1], year: Int(words[4]), time: words[3])
        case 4 where words[3] == "GMT":
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 3, parts[2].utf8.count == 2, let digits = Int(parts[2]), digits >= 0 else {
                return nil
            }
            return seconds(day: parts[0], month: parts[1], year: year(digits, now: now), time: words[2])
        default: return nil
        }
    }

    private static func seconds(day: String, month: String, year: Int?, time: String) -> Int? {
        guard let month = months.firstIndex(of: month) else { return nil }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        let numbers = [Int(day), year] + clock
        let ranges = [1...31, 1970...9999, 0...23, 0...59, 0...60]
        guard numbers.count == ranges.count else { return nil }
        var values: [Int] = []
        for (number, range) in zip(numbers, ranges) {
            guard let number, range.contains(number) else { return nil }
            values.append(number)
        }
        return days(values[1], month + 1, values[0]) * 86_400
            + values[2] * 3600 + values[3] * 60 + values[4]
    }

    /// The year that two digits mean: none that is more than fifty years ahead.
    private static func year(_ digits: Int, now: Int) -> Int {
        let thisYear = civil(max(0, now) / 86_400).year
        let year = thisYear / 100 * 100 + digits
        if year > thisYear + 50 { return year - 100 }
        return year + 50 <= thisYear ? year + 100 : year
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Counts years from March, so that the leap day is the last of its year.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    /// The days since 1970-01-01 of a date; the inverse of `civil`.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
