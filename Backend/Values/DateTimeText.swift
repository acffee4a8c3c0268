/// The shape of a date with or without a time, as ISO 8601, SQLite and the sync service write it (backend 2.4).
///
/// Only the shape is judged: that February has no 30th day is left to Postgres. What must not reach Postgres
/// are its words, since `now` or `tomorrow` would take the server's time.
package struct DateTimeText: Sendable, Hashable {
    /// `YYYY-MM-DD`, with ` BC` behind it for years before Christ.
    package var date: String { day + (isBC ? " BC" : "") }
    /// Whether a time other than midnight follows.
    package let hasTime: Bool
    private let day: String
    private let isBC: Bool
    /// `hh:mm[:ss]` as it was written, nil without a time.
    private let time: String?
    /// The point and the digits behind it, empty without.
    private let fraction: String
    /// Nil for a year 0, which Postgres refuses.
    private let calendar: CalendarTime?
    /// Seconds east of UTC.
    private let offset: Int

    /// Reads `YYYY-MM-DD`, optionally with `T` or a space, `hh:mm[:ss[.f…]]` and `Z` or an offset, and ` BC`.
    ///
    /// Years beyond 9999 have up to six digits.
    package init?(_ text: String) {
        guard var scan = DateTimeScan(text), let year = scan.number(4...6), scan.take("-"),
            let month = scan.number(2...2), scan.take("-"), let dayOfMonth = scan.number(2...2)
        else { return nil }
        day = scan.text(from: 0)
        var time: DateTimeScan.Time?
        if scan.take("T") || scan.take("t") || scan.takeSpace(beforeDigit: true) {
            guard let scanned = scan.time() else { return nil }
            time = scanned
            guard let offset = scan.offset() else { return nil }
            self.offset = offset
        } else {
            offset = 0
        }
        isBC = scan.takeEra()
        guard scan.isAtEnd else { return nil }
        self.time = time?.text
        fraction = time?.fraction ?? ""
        hasTime =
            time.map { $0.second != 0 || $0.fraction.utf8.contains { (0x31...0x39).contains($0) } } ?? false
        let era = isBC ? 1 - year : year
        calendar =
            year == 0
            ? nil : CalendarTime(year: era, month: month, day: dayOfMonth, second: time?.second ?? 0)
    }

    /// The same moment as wall time of UTC, for columns without a zone: Postgres would drop the offset and keep the time.
    package var inUTC: String {
        // A day that no calendar has is for Postgres to refuse.
        guard offset != 0, let seconds = calendar?.secondsSince1970 else {
            guard let time else { return date }
            return day + " " + time + fraction + (isBC ? " BC" : "")
        }
        let shifted = CalendarTime(secondsSince1970: seconds - offset)
        return shifted.date + " " + shifted.time + fraction + (shifted.isBC ? " BC" : "")
    }

    /// `infinity` or `-infinity` if this is what the sync service prints for them (service 6.13).
    ///
    /// - Parameter isDate: Whether the column has days without times.
    /// - Returns: The word, nil for other moments.
    package func infinity(isDate: Bool) -> String? {
        guard offset == 0, !fraction.utf8.contains(where: { (0x31...0x39).contains($0) }) else { return nil }
        switch (date, time) {
        case ("9999-12-31", nil) where isDate: return "infinity"
        case ("9999-12-31", "23:59:59"): return "infinity"
        case ("0000-01-01", nil) where isDate: return "-infinity"
        case ("0000-01-01", "00:00:00"): return "-infinity"
        default: return nil
        }
    }

    /// Whether the text is `hh:mm[:ss[.f…]]`, optionally with `Z` or an offset.
    package static func isTime(_ text: String) -> Bool {
        guard var scan = DateTimeScan(text), scan.time() != nil, scan.offset() != nil else { return false }
        return scan.isAtEnd
    }
}

/// Passes the parts of dates and times, which are ASCII.
private struct DateTimeScan {
    /// A time of day as it was written.
    struct Time {
        let text: String
        let fraction: String
        let second: Int
    }

    private let bytes: [UInt8]
    private(set) var position = 0

    /// Nil for texts that are longer than what Postgres reads of a date.
    init?(_ text: String) {
        guard text.utf8.count <= 128 else { return nil }
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }

    func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    /// Passes digits and returns their number; nil if they are not as many.
    mutating func number(_ count: ClosedRange<Int>) -> Int? {
        let start = position
        var number = 0
        while position < bytes.count, position - start < count.upperBound, isDigit(bytes[position]) {
            number = number * 10 + Int(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        return position - start >= count.lowerBound ? number : nil
    }

    mutating func take(_ character: Character) -> Bool {
        guard position < bytes.count, character.asciiValue == bytes[position] else { return false }
        position += 1
        return true
    }

    mutating func takeSpace(beforeDigit: Bool) -> Bool {
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: " "),
            isDigit(bytes[position + 1]) == beforeDigit
        else { return false }
        position += 1
        return true
    }

    mutating func takeEra() -> Bool {
        guard bytes[position...].elementsEqual(" BC".utf8) else { return false }
        position = bytes.count
        return true
    }

    mutating func time() -> Time? {
        let start = position
        guard let hours = number(2...2), take(":"), let minutes = number(2...2) else { return nil }
        guard hours <= 24, minutes <= 59 else { return nil }
        var second = hours * 3_600 + minutes * 60
        guard take(":") else { return Time(text: text(from: start), fraction: "", second: second) }
        guard let seconds = number(2...2), seconds <= 60 else { return nil }
        second += seconds
        let whole = text(from: start)
        let point = position
        guard take(".") else { return Time(text: whole, fraction: "", second: second) }
        guard number(1...1) != nil else { return nil }
        while number(1...1) != nil {}
        return Time(text: whole, fraction: text(from: point), second: second)
    }

    /// Passes `Z`, an offset or nothing, and returns the seconds east of UTC.
    mutating func offset() -> Int? {
        if isAtEnd || bytes[position...].elementsEqual(" BC".utf8) { return 0 }
        _ = takeSpace(beforeDigit: false)
        if isAtEnd || take("Z") || take("z") { return 0 }
        let isWest = take("-")
        // Postgres has none beyond.
        guard isWest || take("+"), let hours = number(2...2), hours <= 15 else { return nil }
        var seconds = hours * 3_600
        if take(":") || (position < bytes.count && isDigit(bytes[position])) {
            guard let minutes = number(2...2), minutes <= 59 else { return nil }
            seconds += minutes * 60
        }
        return isWest ? -seconds : seconds
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
