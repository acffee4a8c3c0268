/// Texts as an error or a log line may show them.
package enum ShownText {
    private static let keyPragmas: Set = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]

    /// Cuts SQL off before the key of an encrypted file.
    ///
    /// - Parameter sql: the SQL text.
    /// - Returns: what stands before the key; nil for SQL that sets none.
    static func sqlWithoutKey(_ sql: String) -> String? {
        let words = sql.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        guard words.contains(where: { ["pragma", "attach"].contains($0.lowercased()) }),
            let key = words.first(where: { keyPragmas.contains($0.lowercased()) })
        else { return nil }
        return "\(sql[..<key.endIndex]) …"
    }

    /// Whether SQL sets the key of a file that is opened, wherever in it.
    ///
    /// - Parameter sql: the SQL text.
    /// - Returns: whether it does; a literal that says the same counts, too.
    package static func setsKey(_ sql: String) -> Bool {
        let bare = sql.replacing(#/--[^\n]*|/\*.*?\*//#.dotMatchesNewlines(), with: " ")
        let name = #/\b(?:hex|text)?(?:re)?key\b/#
        return bare.split(separator: ";").contains { statement in
            let words = statement.lowercased()
            if let pragma = words.firstMatch(of: #/\bpragma\b\s*(?:["`\[]?\w+["`\]]?\s*\.)?\s*["`\[]?(\w+)/#)
            {
                return pragma.1.wholeMatch(of: name) != nil
            }
            return words.firstMatch(of: #/\battach\b.*\bkey\b/#.dotMatchesNewlines()) != nil
        }
    }

    /// Returns a code of a backend, such as `CHECK_VIOLATION`; nil for what is none, which may be anything.
    static func code(_ text: String) -> String? {
        let isCode =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        return isCode ? text : nil
    }

    /// Returns an address without the name and the password that may stand before its host.
    ///
    /// Left out is all between the scheme and the last `@`: a password that is not encoded may have any character.
    package static func address(_ address: String) -> String {
        let bytes = address.utf8
        guard let end = bytes.lastIndex(of: UInt8(ascii: "@")) else { return address }
        let schemes = ["http://", "https://", "socks5://", "socks5h://"]
        let scheme = schemes.first { bytes.starts(with: $0.utf8) } ?? ""
        return scheme + String(decoding: bytes[bytes.index(after: end)...], as: UTF8.self)
    }

    /// Returns an address without what may stand before its host, and without its query: a signature may be in it.
    static func place(_ address: String) -> String {
        // By bytes: a mark and what combines with it are one character.
        let place = address.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return ShownText.address(String(decoding: place, as: UTF8.self))
    }
}
