import PowerSyncSQLite

/// Makes statements of the lines that somebody types: a statement ends with a semicolon, on whichever line.
package struct StatementCollector: Sendable {
    /// One statement, and the line on which it begins.
    package struct Statement: Sendable, Equatable {
        /// Its text, from its first word on.
        package let sql: String
        /// The number of its first line.
        package let line: Int

        /// Makes a statement of its parts.
        package init(sql: String, line: Int) {
            self.sql = sql
            self.line = line
        }

        /// Its first word, in capital letters.
        package var firstWord: String { sql.prefix { $0.isLetter }.uppercased() }

        /// Whether it may be one that only reads.
        var mayRead: Bool { ["SELECT", "VALUES", "WITH", "EXPLAIN", "PRAGMA"].contains(firstWord) }

        /// Whether it begins or ends a transaction, or a part of one.
        var isTransactionControl: Bool {
            ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"].contains(firstWord)
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

    /// The largest statement in bytes.
    private let limit: Int
    /// What has come of the statement, from its first word on.
    private var bytes: [UInt8] = []
    private var place = Place.plain
    /// The line of the statement's first word; nil before that.
    private var firstLine: Int?

    /// Begins with nothing.
    ///
    /// - Parameter limit: the largest statement in bytes.
    package init(limit: Int = 64 << 20) { self.limit = limit }

    /// Whether a statement or a comment has begun and not ended.
    package var isOpen: Bool { firstLine != nil || place == .blockComment }

    /// Takes the next line.
    ///
    /// - Parameters:
    ///   - line: the line, without its end.
    ///   - number: its number.
    /// - Returns: the statements that end on it.
    /// - Throws: `ClientError` for a statement that is too long; it is forgotten.
    package mutating func append(_ line: String, number: Int) throws(ClientError) -> [Statement] {
        var statements: [Statement] = []
        let text = Array(line.utf8) + [UInt8(ascii: "\n")]
        var index = 0
        while index < text.count {
            let next = index + 1 < text.count ? text[index + 1] : 0
            let count = take(text[index], next, number)
            for byte in text[index..<index + count] where firstLine != nil { bytes.append(byte) }
            index += count
            guard place == .plain, count == 1, text[index - 1] == UInt8(ascii: ";"), let firstLine else {
                continue
            }
            let sql = String(decoding: bytes, as: UTF8.self)
            // A semicolon within a trigger ends nothing.
            guard SQLiteText.isComplete(sql) else { continue }
            statements.append(Statement(sql: sql, line: firstLine))
            reset()
        }
        if bytes.count > limit {
            reset()
            throw ClientError("the statement is longer than a statement may be")
        }
        return statements
    }

    /// Returns what is left as a statement, which has no semicolon; nothing more comes.
    package mutating func finish() -> Statement? {
        defer { reset() }
        guard let firstLine else { return nil }
        return Statement(sql: String(decoding: bytes, as: UTF8.self), line: firstLine)
    }

    /// Forgets what has come of a statement.
    package mutating func reset() {
        bytes = []
        place = .plain
        firstLine = nil
    }

    /// Goes on behind a byte, or behind two that belong together; returns how many.
    private mutating func take(_ byte: UInt8, _ next: UInt8, _ number: Int) -> Int {
        switch place {
        case .quoted(let end):
            if byte == end { place = .plain }
            return 1
        case .lineComment:
            if byte == UInt8(ascii: "\n") { place = .plain }
            return 1
        case .blockComment:
            guard byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") else { return 1 }
            place = .plain
            return 2
        case .plain: break
        }
        switch byte {
        case UInt8(ascii: "-") where next == byte:
            place = .lineComment
            return 2
        case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
            place = .blockComment
            return 2
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): place = .quoted(byte)
        case UInt8(ascii: "["): place = .quoted(UInt8(ascii: "]"))
        // Neither begins a statement.
        case UInt8(ascii: ";"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"),
            UInt8(ascii: "\u{0C}"):
            return 1
        default: break
        }
        if firstLine == nil { firstLine = number }
        return 1
    }
}
