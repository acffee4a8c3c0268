extension SQLiteStatement {
    /// Returns the words that the first statement of a text begins with, in capital letters.
    ///
    /// They are found where SQLite finds them: semicolons, white space and comments may stand before them. What is no word,
    /// such as a name in quotes, ends them.
    ///
    /// - Parameters:
    ///   - sql: The text.
    ///   - limit: How many are wanted at most.
    /// - Returns: The words.
    package static func words(of sql: String, limit: Int) -> [String] {
        var words: [String] = []
        var rest = Substring(sql).utf8
        while words.count < limit {
            skipGap(&rest, semicolons: words.isEmpty)
            let word = rest.prefix(while: isOfWord)
            guard !word.isEmpty else { break }
            words.append(String(decoding: word, as: UTF8.self).uppercased())
            rest = rest[word.endIndex...]
        }
        return words
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    private static func skipGap(_ rest: inout Substring.UTF8View, semicolons: Bool) {
        while let byte = rest.first {
            switch byte {
            // The vertical tab is white space behind other white space alone; before anything else it is an error.
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\u{0B}"),
                UInt8(ascii: "\u{0C}"), UInt8(ascii: "\r"):
                rest = rest.dropFirst()
            case UInt8(ascii: ";") where semicolons: rest = rest.dropFirst()
            // A byte order mark is white space.
            case 0xEF where rest.starts(with: [0xEF, 0xBB, 0xBF]): rest = rest.dropFirst(3)
            case UInt8(ascii: "-") where rest.starts(with: "--".utf8):
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            case UInt8(ascii: "/") where rest.starts(with: "/*".utf8):
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
                rest = rest.dropFirst(2)
            default: return
            }
        }
    }
}
