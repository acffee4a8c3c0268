/// A word, value or sign of a query.
struct QueryToken: Equatable {
    enum Kind: Equatable {
        /// A name without quotes, in lower case, as Postgres folds it; also every keyword.
        case word(String)
        /// A name in double quotes, as it stands.
        case quotedName(String)
        /// A text in single quotes, without them.
        case text(String)
        /// An unsigned number as it is spelled.
        case number(String)
        /// An operator or a punctuation mark.
        case sign(String)
        /// What follows the last character.
        case end
    }

    let kind: Kind
    /// Where it begins, in UTF-8 bytes from the start of the query.
    let offset: Int
}

/// Cuts the text of a query into tokens (service 6.3).
struct QueryTokenizer {
    private let bytes: [UInt8]
    private var position = 0

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// All tokens of a text; the last one is `.end`.
    static func tokens(of text: String) throws(QueryError) -> [QueryToken] {
        var tokenizer = QueryTokenizer(text)
        var tokens: [QueryToken] = []
        while true {
            let token = try tokenizer.next()
            tokens.append(token)
            if token.kind == .end { return tokens }
        }
    }

    private static let signs = ["->>", "<>", "!=", "<=", ">=", "->", "||", "&&", "::", "<<", ">>"]

    private func byte(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private mutating func skipBlanks() {
        while let next = byte() {
            if next == 0x20 || (0x09...0x0D).contains(next) {
                position += 1
            } else if next == UInt8(ascii: "-"), byte(1) == UInt8(ascii: "-") {
                while let next = byte(), next != 0x0A { _ = next; position += 1 }
            } else {
                return
            }
        }
    }

    private mutating func next() throws(QueryError) -> QueryToken {
        skipBlanks()
        let start = position
        guard let first = byte() else { return QueryToken(kind: .end, offset: start) }
        switch first {
        case UInt8(ascii: "'"): return QueryToken(kind: .text(try quoted(first, "text")), offset: start)
        case UInt8(ascii: "\""):
            return QueryToken(kind: .quotedName(try quoted(first, "name")), offset: start)
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            return QueryToken(kind: .number(number()), offset: start)
        case _ where Self.startsName(first):
            while let next = byte(), Self.startsName(next) || Self.isDigit(next) || next == UInt8(ascii: "$")
            {
                position += 1
            }
            return QueryToken(kind: .word(text(from: start).lowercased()), offset: start)
        default: return QueryToken(kind: .sign(try sign(first)), offset: start)
        }
    }

    private func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private static func startsName(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte >= 0x80 || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A)
    }

    private mutating func quoted(_ quote: UInt8, _ what: String) throws(QueryError) -> String {
        let start = position
        position += 1
        var content: [UInt8] = []
        while let next = byte() {
            position += 1
            if next != quote {
                content.append(next)
            } else if byte() == quote {
                content.append(quote)
                position += 1
            } else {
                return String(decoding: content, as: UTF8.self)
            }
        }
        throw QueryError(message: "The \(what) that begins here has no closing quote.", offset: start)
    }

    private mutating func number() -> String {
        let start = position
        while let next = byte(), Self.isDigit(next) { _ = next; position += 1 }
        if byte() == UInt8(ascii: "."), let next = byte(1), Self.isDigit(next) {
            position += 1
            while let next = byte(), Self.isDigit(next) { _ = next; position += 1 }
        }
        if let mark = byte(), mark | 0x20 == UInt8(ascii: "e") {
            let signed = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-")
            if let digit = byte(signed ? 2 : 1), Self.isDigit(digit) {
                position += signed ? 2 : 1
                while let next = byte(), Self.isDigit(next) { _ = next; position += 1 }
            }
        }
        return text(from: start)
    }

    private mutating func sign(_ first: UInt8) throws(QueryError) -> String {
        for sign in Self.signs where bytes[position...].starts(with: sign.utf8) {
            position += sign.utf8.count
            return sign
        }
        let singles = Array("(),.;*=<>+-/%&|[]?$".utf8)
        guard singles.contains(first) else {
            throw QueryError(message: "Syntax error: this character has no meaning here.", offset: position)
        }
        position += 1
        return String(decoding: [first], as: UTF8.self)
    }
}
