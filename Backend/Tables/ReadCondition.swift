/// Who may read a row, as a table map says it: a condition of SQL in which `:sub` stands for the subject of the token.
///
/// The text is the operator's. What it says Postgres checks at the start (`ReadCheck`); here it is only cut where the subject
/// stands, and refused where it would not end within the parentheses around it.
package struct ReadCondition: Sendable, Hashable {
    /// Why a text is no condition.
    package struct Mistake: Error, Sendable, Hashable {
        /// What is wrong, without anything of the text.
        package let message: String

        init(_ message: String) { self.message = message }
    }

    /// What stands before, between and behind the places of the subject.
    private let pieces: [String]

    /// Reads a condition.
    ///
    /// `:sub` is the subject wherever Postgres would read a new word: not in strings, names in quotes, comments and texts
    /// between dollars, and not behind the colon of a cast.
    ///
    /// - Parameter text: the condition.
    /// - Throws: `Mistake`.
    package init(_ text: String) throws(Mistake) {
        var reader = ConditionReader(text)
        pieces = try reader.read()
    }

    /// Whether the subject stands in it at all.
    package var hasSubject: Bool { pieces.count > 1 }

    /// Returns the SQL for the place of the subject: a question of its own, with whose answer the database does not compute
    /// before it has found a row that it is about.
    ///
    /// - Parameter parameter: the expression of the subject, such as `$2::text`.
    /// - Returns: the SQL.
    package static func place(of parameter: String) -> String { "(SELECT \(parameter))" }

    /// Returns the condition as SQL in parentheses.
    ///
    /// - Parameter subject: the expression in the place of the subject, such as `$2::text`.
    /// - Returns: the SQL.
    package func sql(subject: String) -> String {
        // The condition may end with a comment, which the end of the line ends.
        "(" + pieces.joined(separator: subject) + "\n)"
    }
}

extension ReadCondition {
    /// Reads a condition of a table map.
    ///
    /// - Parameters:
    ///   - place: the text and where it stands.
    ///   - source: the name of the file, for errors.
    /// - Returns: the condition.
    /// - Throws: `BackendError` with `.tableMap`, naming line and column.
    static func compiled(_ place: Located, source: String) throws(BackendError) -> ReadCondition {
        do throws(Mistake) {
            return try ReadCondition(place.text)
        } catch {
            throw BackendError(
                .tableMap, "\(source) line \(place.line), column \(place.column): \(error.message)")
        }
    }
}

/// Finds the places of the subject in a condition, as Postgres cuts SQL into words.
private struct ConditionReader {
    private let bytes: [UInt8]
    private var index = 0
    /// Where the piece begins that is being read.
    private var start = 0
    private var pieces: [String] = []
    /// The parentheses that are open.
    private var depth = 0
    private var isEmpty = true

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func read() throws(ReadCondition.Mistake) -> [String] {
        guard !bytes.contains(0) else { throw ReadCondition.Mistake("expected a condition without NUL") }
        while index < bytes.count {
            if isBlank(bytes[index]) {
                index += 1
            } else if isNext("--") {
                skipLine()
            } else if isNext("/*") {
                try skipComment()
            } else {
                isEmpty = false
                try readWord()
            }
        }
        guard !isEmpty else { throw ReadCondition.Mistake("expected a condition of SQL") }
        guard depth == 0 else { throw Self.parentheses }
        return pieces + [piece(to: bytes.count)]
    }

    private static let parentheses = ReadCondition.Mistake("the parentheses do not come in pairs")

    private mutating func readWord() throws(ReadCondition.Mistake) {
        let byte = bytes[index]
        switch byte {
        case UInt8(ascii: "'"): try skipQuoted(byte, hasEscapes: false)
        case UInt8(ascii: "\""): try skipQuoted(byte, hasEscapes: false)
        case UInt8(ascii: "$"): try skipDollars()
        case UInt8(ascii: ":"): readColon()
        case UInt8(ascii: "("):
            depth += 1
            index += 1
        case UInt8(ascii: ")"):
            depth -= 1
            index += 1
            guard depth >= 0 else { throw Self.parentheses }
        case UInt8(ascii: ";"): throw ReadCondition.Mistake("expected one condition, without a semicolon")
        case _ where isWordStart(byte): try skipName()
        case _ where isDigit(byte):
            while index < bytes.count, isWordPart(bytes[index]) || bytes[index] == UInt8(ascii: ".") {
                index += 1
            }
        default: index += 1
        }
    }

    /// A name or a keyword; behind the E of an escape string a backslash takes the next character along.
    private mutating func skipName() throws(ReadCondition.Mistake) {
        let first = index
        while index < bytes.count, isWordPart(bytes[index]) { index += 1 }
        let isPrefix = index - first == 1 && bytes[first] | 0x20 == UInt8(ascii: "e")
        if isPrefix, index < bytes.count, bytes[index] == UInt8(ascii: "'") {
            try skipQuoted(bytes[index], hasEscapes: true)
        }
    }

    private mutating func skipQuoted(
        _ quote: UInt8, hasEscapes: Bool
    ) throws(ReadCondition.Mistake) {
        index += 1
        while index < bytes.count {
            if hasEscapes, bytes[index] == UInt8(ascii: "\\") {
                index += 2
            } else if bytes[index] != quote {
                index += 1
            } else if index + 1 < bytes.count, bytes[index + 1] == quote {
                index += 2
            } else {
                index += 1
                return
            }
        }
        throw ReadCondition.Mistake("a quote has no end")
    }

    /// A text between dollars; a number behind a dollar would be a parameter of ours.
    private mutating func skipDollars() throws(ReadCondition.Mistake) {
        var end = index + 1
        if end < bytes.count, isDigit(bytes[end]) {
            throw ReadCondition.Mistake("expected :sub, which is the only parameter")
        }
        while end < bytes.count, isWordPart(bytes[end]), bytes[end] != UInt8(ascii: "$") { end += 1 }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else {
            index += 1
            return
        }
        let mark = bytes[index...end]
        index = end + 1
        while index + mark.count <= bytes.count {
            if bytes[index] == UInt8(ascii: "$"), bytes[index..<index + mark.count].elementsEqual(mark) {
                index += mark.count
                return
            }
            index += 1
        }
        throw ReadCondition.Mistake("a text between dollars has no end")
    }

    private mutating func readColon() {
        if isNext("::") || isNext(":=") {
            index += 2
        } else if isNext(":sub"), index + 4 == bytes.count || !isWordPart(bytes[index + 4]) {
            pieces.append(piece(to: index))
            index += 4
            start = index
        } else {
            index += 1
        }
    }

    private mutating func skipLine() {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n"), bytes[index] != UInt8(ascii: "\r") {
            index += 1
        }
    }

    /// A comment, within which there may be others.
    private mutating func skipComment() throws(ReadCondition.Mistake) {
        var open = 0
        while index < bytes.count {
            if isNext("/*") {
                open += 1
                index += 2
            } else if isNext("*/") {
                open -= 1
                index += 2
                if open == 0 { return }
            } else {
                index += 1
            }
        }
        throw ReadCondition.Mistake("a comment has no end")
    }

    private func piece(to end: Int) -> String { String(decoding: bytes[start..<end], as: UTF8.self) }

    private func isNext(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            index + word.count <= bytes.count && bytes[index..<index + word.count].elementsEqual(word)
        }
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private func isWordStart(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_")
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private func isWordPart(_ byte: UInt8) -> Bool {
        isWordStart(byte) || isDigit(byte) || byte == UInt8(ascii: "$")
    }
}
