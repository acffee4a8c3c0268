/// Makes statements of the lines that somebody types: a statement ends with a semicolon, on whichever line.
///
/// A statement in which something cannot be used fails as a whole. It is read to its end all the same, though nothing of
/// it is kept: what stands in its texts and comments is no statement.
package struct StatementCollector: Sendable {
    /// One statement, and the line on which it begins.
    package struct Statement: Sendable, Equatable {
        /// Its text, from its first word on; empty for one that cannot be run.
        package let sql: String
        /// The number of its first line.
        package let line: Int
        /// Why it cannot be run; nil for one that can.
        package let failure: String?

        /// Makes a statement of its parts.
        package init(sql: String, line: Int, failure: String? = nil) {
            self.sql = sql
            self.line = line
            self.failure = failure
        }

        /// Its first word, in capital letters.
        package var firstWord: String { sql.prefix { $0.isLetter }.uppercased() }

        /// Whether it may be one that only reads.
        var mayRead: Bool { ["SELECT", "VALUES", "WITH", "EXPLAIN"].contains(firstWord) }

        /// Whether it is for the connection that writes, outside of a transaction: in one it has no effect, or fails.
        var standsAlone: Bool { ["PRAGMA", "VACUUM"].contains(firstWord) }

        /// Why it is refused where each statement is a transaction and queries have connections of their own; nil for any
        /// other.
        var refusal: String? {
            let unseen = "queries have connections of their own here, which would not see it"
            switch firstWord {
            case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
                return "\(firstWord): each statement is a transaction of its own here; "
                    + "client --json has transactions of several"
            case "ATTACH", "DETACH": return "\(firstWord): \(unseen)"
            case "CREATE":
                let rest = sql.dropFirst(firstWord.count).drop { $0.isWhitespace }
                let isTemporary = ["TEMP", "TEMPORARY"].contains(rest.prefix { $0.isLetter }.uppercased())
                return isTemporary ? "CREATE TEMP: \(unseen)" : nil
            default: return nil
            }
        }
    }

    /// Where in a statement the text has come to.
    private enum Place: Equatable {
        case plain
        /// In a text or a name, which ends with this byte.
        case quoted(UInt8)
        case lineComment
        case blockComment
    }

    /// What a semicolon means to a statement, by its words so far (as for `sqlite3_complete`).
    private enum Kind {
        /// Nothing has come, or EXPLAIN with what belongs to it.
        case beginning, explain
        /// CREATE has come, and nothing behind it but TEMP.
        case create
        /// The next semicolon ends it.
        case usual
        /// It is a trigger, which ends with the semicolon behind an END that follows one.
        case trigger, triggerStep, triggerEnd

        /// Takes a word in capital letters, or what is none as an empty one.
        mutating func take(_ word: String) {
            switch (self, word) {
            case (.beginning, "EXPLAIN"): self = .explain
            case (.beginning, "CREATE"), (.explain, "CREATE"): self = .create
            case (.create, "TEMP"), (.create, "TEMPORARY"), (.explain, _): break
            case (.create, "TRIGGER"): self = .trigger
            case (.triggerStep, "END"): self = .triggerEnd
            case (.trigger, _), (.triggerStep, _), (.triggerEnd, _): self = .trigger
            case (.beginning, _), (.create, _), (.usual, _): self = .usual
            }
        }

        /// Takes a semicolon; returns whether it ends the statement.
        mutating func takeSemicolon() -> Bool {
            guard self == .trigger || self == .triggerStep else { return true }
            self = .triggerStep
            return false
        }
    }

    /// How many letters of a word are kept: more than any has that matters.
    private static let wordLimit = 16

    /// The largest statement in bytes.
    private let limit: Int
    /// What has come of the statement, from its first word on; nothing of one that fails.
    private var bytes: [UInt8] = []
    private var place = Place.plain
    private var kind = Kind.beginning
    /// The word that has not ended yet, in capital letters.
    private var word: [UInt8] = []
    /// The line of the statement's first word; nil before that.
    private var firstLine: Int?
    /// Why the statement cannot be run.
    private var failure: String?

    /// Begins with nothing.
    ///
    /// - Parameter limit: the largest statement in bytes.
    package init(limit: Int = 64 << 20) { self.limit = limit }

    /// Whether a statement or a comment has begun and not ended.
    package var isOpen: Bool { firstLine != nil || place == .blockComment }

    /// Takes the next line.
    ///
    /// - Parameters:
    ///   - line: the bytes of the line, without its end.
    ///   - number: its number.
    ///   - unusable: why the line cannot be used; every statement fails then that has a part on it.
    /// - Returns: the statements that end on it, and one that stands for a line that cannot be used and has none.
    package mutating func append(_ line: [UInt8], number: Int, unusable: String? = nil) -> [Statement] {
        var unusable = unusable
        if unusable == nil, line.contains(0) {
            unusable = "what stands on line \(number) has a NUL, behind which SQLite reads nothing"
        }
        if let unusable { fail(unusable) }
        var statements: [Statement] = []
        let text = line + [UInt8(ascii: "\n")]
        var index = 0
        while index < text.count {
            let next = index + 1 < text.count ? text[index + 1] : 0
            let (count, isEnd) = take(text[index], next, number)
            keep(text[index..<index + count])
            index += count
            guard isEnd, let statement = finish() else { continue }
            statements.append(statement)
            if let unusable { fail(unusable) }
        }
        if let unusable, firstLine == nil {
            failure = nil
            if statements.isEmpty { statements.append(Statement(sql: "", line: number, failure: unusable)) }
        }
        return statements
    }

    /// Returns what is left as a statement, which has no semicolon; what comes then is another one.
    package mutating func finish() -> Statement? {
        defer { reset() }
        guard let firstLine else { return nil }
        return Statement(sql: String(decoding: bytes, as: UTF8.self), line: firstLine, failure: failure)
    }

    /// Forgets what has come of a statement.
    package mutating func reset() { self = StatementCollector(limit: limit) }

    private mutating func fail(_ reason: String) {
        failure = failure ?? reason
        bytes = []
    }

    private mutating func keep(_ piece: ArraySlice<UInt8>) {
        guard firstLine != nil, failure == nil else { return }
        bytes += piece
        if bytes.count > limit { fail("the statement is longer than a statement may be") }
    }

    /// Goes on behind a byte, or behind two that belong together.
    ///
    /// - Returns: how many, and whether the statement ends with them.
    private mutating func take(_ byte: UInt8, _ next: UInt8, _ number: Int) -> (count: Int, isEnd: Bool) {
        switch place {
        case .quoted(let end):
            if byte == end { place = .plain }
            return (1, false)
        case .lineComment:
            if byte == UInt8(ascii: "\n") { place = .plain }
            return (1, false)
        case .blockComment:
            guard byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") else { return (1, false) }
            place = .plain
            return (2, false)
        case .plain: return takePlain(byte, next, number)
        }
    }

    private mutating func takePlain(
        _ byte: UInt8, _ next: UInt8, _ number: Int
    ) -> (count: Int, isEnd: Bool) {
        if let letter = Self.letter(byte) {
            if firstLine == nil { firstLine = number }
            if word.count < Self.wordLimit { word.append(letter) }
            return (1, false)
        }
        if !word.isEmpty {
            kind.take(String(decoding: word, as: UTF8.self))
            word = []
        }
        switch byte {
        case UInt8(ascii: "-") where next == byte:
            place = .lineComment
            return (2, false)
        case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
            place = .blockComment
            return (2, false)
        // None of these begins a statement.
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"),
            UInt8(ascii: "\u{0C}"):
            return (1, false)
        case UInt8(ascii: ";"): return (1, firstLine != nil && kind.takeSemicolon())
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): place = .quoted(byte)
        case UInt8(ascii: "["): place = .quoted(UInt8(ascii: "]"))
        default: break
        }
        kind.take("")
        if firstLine == nil { firstLine = number }
        return (1, false)
    }

    /// Returns a byte of a word, small letters as capital ones; nil for what belongs to none.
    private static func letter(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte & 0xDF
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            byte
        default: nil
        }
    }
}
