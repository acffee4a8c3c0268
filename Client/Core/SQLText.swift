import PowerSyncWire

/// Building SQL text of names and literals.
package enum SQLText {
    /// Returns a name as an identifier in double quotes.
    package static func identifier(_ name: String) -> String { quoted(name, "\"") }

    /// Returns a text as a string literal in single quotes.
    static func literal(_ text: String) -> String { quoted(text, "'") }

    /// Returns a name as SQLite looks it up: letters of ASCII without their case, all else byte for byte.
    static func folded(_ name: String) -> ExactText {
        let bytes = name.utf8.map { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return ExactText(String(decoding: bytes, as: UTF8.self))
    }

    private static func quoted(_ text: String, _ quote: Character) -> String {
        var result = String(quote)
        result.reserveCapacity(text.utf8.count + 2)
        for character in text.unicodeScalars {
            result.unicodeScalars.append(character)
            // Scalars, not characters: a combining mark after a quote must not hide it.
            if Character(character) == quote { result.append(quote) }
        }
        result.append(quote)
        return result
    }
}
