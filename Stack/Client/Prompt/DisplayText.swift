/// Texts from outside as a terminal may show them: in one line, and nothing in them acts on it.
package enum DisplayText {
    /// Returns a text in which whatever acts is spelled as an escape, such as `\n` and `\x1b`.
    ///
    /// That is control characters, ends of lines, and characters that change the direction of writing. A backslash stays
    /// as it is: what is shown is for eyes, not to be read back.
    package static func of(_ text: some StringProtocol) -> String {
        // Most texts are shown as they are.
        guard text.unicodeScalars.contains(where: acts) else { return String(text) }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if acts(scalar) {
                shown.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                shown.append(scalar)
            }
        }
        return String(shown)
    }

    private static func acts(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        // Two of them only join letters or keep them apart, in emoji and in Persian.
        case .format: return scalar.value != 0x200C && scalar.value != 0x200D
        default: return false
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let digits = String(scalar.value, radix: 16)
            return scalar.value < 0x100
                ? "\\x" + String(repeating: "0", count: 2 - digits.count) + digits : "\\u{\(digits)}"
        }
    }
}
