/// The shape of a date with or without a time, as ISO 8601 and SQLite write it (backend 2.4).
///
/// Only the shape is judged: that February has no 30th day is left to Postgres. What must not reach Postgres
/// are its words, since `now` or `tomorrow` would take the server's time.
package struct DateTimeText: Sendable, Hashable {
    /// `YYYY-MM-DD`.
    package let date: String
    /// Whether a time other than midnight follows.
    package let hasTime: Bool

    /// Reads `YYYY-MM-DD`, optionally with `T` or a space, `hh:mm[:ss[.f…]]` and `Z` or an offset.
    package init?(_ text: String) {
        var scan = Scan(text)
        guard scan.digits(4), scan.take("-"), scan.digits(2), scan.take("-"), scan.digits(2) else {
            return nil
        }
        date = String(decoding: text.utf8.prefix(10), as: UTF8.self)
        guard !scan.isAtEnd else {
            hasTime = false
            return
        }
        guard scan.take("T") || scan.take("t") || scan.take(" ") else { return nil }
        let start = scan.position
        guard scan.time() else { return nil }
        hasTime = scan.hasNonZeroDigit(since: start)
        guard scan.offset(), scan.isAtEnd else { return nil }
    }

    /// Whether the text is `hh:mm[:ss[.f…]]`, optionally with `Z` or an offset.
    package static func isTime(_ text: String) -> Bool {
        var scan = Scan(text)
        return scan.time() && scan.offset() && scan.isAtEnd
    }
}

private struct Scan {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ text: String) { bytes = Array(text.utf8.prefix(64)) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func digits(_ count: Int) -> Bool {
        for _ in 0..<count {
            guard position < bytes.count, isDigit(bytes[position]) else { return false }
            position += 1
        }
        return true
    }

    mutating func take(_ character: Character) -> Bool {
        guard position < bytes.count, character.asciiValue == bytes[position] else { return false }
        position += 1
        return true
    }

    mutating func time() -> Bool {
        guard digits(2), take(":"), digits(2) else { return false }
        guard take(":") else { return true }
        guard digits(2) else { return false }
        guard take(".") else { return true }
        guard digits(1) else { return false }
        while digits(1) {}
        return true
    }

    mutating func offset() -> Bool {
        _ = take(" ")
        if isAtEnd || take("Z") || take("z") { return true }
        guard take("+") || take("-"), digits(2) else { return false }
        guard !isAtEnd else { return true }
        _ = take(":")
        return digits(2)
    }

    func hasNonZeroDigit(since start: Int) -> Bool {
        bytes[start..<position].contains { isDigit($0) && $0 != UInt8(ascii: "0") }
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
