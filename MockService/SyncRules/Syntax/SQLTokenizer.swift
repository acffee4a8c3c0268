/// Cuts the text of a query into tokens (service 6.3).
package struct SQLTokenizer {
    private let bytes: [UInt8]
    private var position = 0
    /// The comments that end with their line.
    private var lineComments: [Range<Int>] = []

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// All tokens of a text; the last one is `.end`.
    ///
    /// - Parameter bytes: The SQL in UTF-8.
    /// - Returns: The tokens up to the first part that is none, which is `.invalid`: what stands before it comes first.
    package static func tokens(of bytes: [UInt8]) -> [SQLToken] {
        var tokenizer = SQLTokenizer(bytes)
        var tokens: [SQLToken] = []
        while true {
            let token = tokenizer.next()
            tokens.append(token)
            if case .end = token.kind { return tokens }
            if case .invalid = token.kind { tokenizer.position = bytes.count }
        }
    }

    /// The comments of a text that begin with `--`, in order.
    ///
    /// - Parameter bytes: The SQL in UTF-8.
    /// - Returns: Their bytes without the line ends; those up to the first part that is no token.
    static func lineComments(of bytes: [UInt8]) -> [Range<Int>] {
        var tokenizer = SQLTokenizer(bytes)
        while true {
            switch tokenizer.next().kind {
            case .end, .invalid: return tokenizer.lineComments
            default: break
            }
        }
    }

    /// Signs of several characters before the one that they begin with.
    private static let signs = SQLToken.Sign.allCases.map { (sign: $0, bytes: Array($0.rawValue.utf8)) }
        .sorted { $0.bytes.count > $1.bytes.count }

    private func byte(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    private mutating func next() -> SQLToken {
        if let unclosed = skipBlanks() { return unclosed }
        let start = position
        guard let first = byte() else { return SQLToken(.end, start..<start) }
        switch first {
        case UInt8(ascii: "'"): return quoted(from: start, "text", SQLToken.Kind.text)
        case UInt8(ascii: "\""): return quoted(from: start, "name", SQLToken.Kind.name)
        case UInt8(ascii: "e"), UInt8(ascii: "E"):
            // A text with escapes, in which a backslash is no ordinary character.
            return byte(1) == UInt8(ascii: "'") ? escaped(from: start) : word()
        case UInt8(ascii: "$"):
            position += 1
            takeDigits()
            return position == start + 1
                ? SQLToken(.invalid("The sign '$' has no meaning here."), start..<position)
                : SQLToken(.parameter(text(from: start)), start..<position)
        default: break
        }
        if Self.isDigit(first) || (first == UInt8(ascii: ".") && byte(1).map(Self.isDigit) == true) {
            return number()
        }
        return Self.startsName(first) ? word() : sign()
    }

    /// Passes over blanks and comments; returns the beginning of a comment that does not end.
    private mutating func skipBlanks() -> SQLToken? {
        while let next = byte() {
            if next == 0x20 || (0x09...0x0D).contains(next) {
                position += 1
            } else if next == UInt8(ascii: "-"), byte(1) == UInt8(ascii: "-") {
                let start = position
                while let next = byte(), next != 0x0A, next != 0x0D { position += 1 }
                lineComments.append(start..<position)
            } else if next == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
                let start = position
                position += 2
                while let next = byte(), next != UInt8(ascii: "*") || byte(1) != UInt8(ascii: "/") {
                    position += 1
                }
                guard byte() != nil else {
                    return SQLToken(.invalid("This comment does not end."), start..<start + 2)
                }
                position += 2
            } else {
                return nil
            }
        }
        return nil
    }

    /// A text or a name; a quote that stands twice is one of it.
    private mutating func quoted(
        from start: Int, _ what: String, _ kind: (String) -> SQLToken.Kind
    ) -> SQLToken {
        let quote = bytes[start]
        position += 1
        var content: [UInt8] = []
        while let next = byte() {
            position += 1
            if next == quote {
                guard byte() == quote else {
                    return SQLToken(kind(String(decoding: content, as: UTF8.self)), start..<position)
                }
                position += 1
            }
            guard next != 0 else { return zero(in: what) }
            content.append(next)
        }
        return SQLToken(.invalid("The \(what) that begins here has no closing quote."), start..<start + 1)
    }

    /// A text behind an `E`.
    private mutating func escaped(from start: Int) -> SQLToken {
        position += 2
        var content: [UInt8] = []
        let escapes: [UInt8: UInt8] = [
            UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A,
            UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
        ]
        while let next = byte() {
            position += 1
            if next == 0 { return zero(in: "text") }
            if next == UInt8(ascii: "\\"), let letter = byte() {
                content.append(escapes[letter] ?? letter)
                position += 1
            } else if next != UInt8(ascii: "'") {
                content.append(next)
            } else if byte() == next {
                content.append(next)
                position += 1
            } else {
                return SQLToken(.text(String(decoding: content, as: UTF8.self)), start..<position)
            }
        }
        return SQLToken(.invalid("The text that begins here has no closing quote."), start..<start + 2)
    }

    private func zero(in what: String) -> SQLToken {
        SQLToken(.invalid("The character U+0000 cannot stand in a \(what)."), position - 1..<position)
    }

    private mutating func takeDigits() {
        while let next = byte(), Self.isDigit(next) { position += 1 }
    }

    /// Digits with one point at most; a letter behind them begins another token, so `1e3` is no number.
    private mutating func number() -> SQLToken {
        let start = position
        takeDigits()
        guard byte() == UInt8(ascii: ".") else {
            return SQLToken(.integer(text(from: start)), start..<position)
        }
        position += 1
        takeDigits()
        return SQLToken(.real(text(from: start)), start..<position)
    }

    private mutating func word() -> SQLToken {
        let start = position
        while let next = byte(), Self.startsName(next) || Self.isDigit(next) || next == UInt8(ascii: "$") {
            position += 1
        }
        let spelled = text(from: start)
        let folded = spelled.lowercased()
        let isFolded = !folded.utf8.elementsEqual(spelled.utf8)
        return SQLToken(.word(folded), start..<position, isFolded: isFolded)
    }

    private mutating func sign() -> SQLToken {
        let start = position
        for (sign, spelled) in Self.signs where bytes[start...].starts(with: spelled) {
            position += spelled.count
            return SQLToken(.sign(sign), start..<position)
        }
        position += 1
        return SQLToken(.invalid("The sign '\(text(from: start))' has no meaning here."), start..<position)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private static func startsName(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte >= 0x80 || (0x61...0x7A).contains(byte | 0x20)
    }
}
