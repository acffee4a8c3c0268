import PowerSyncCrypto
import PowerSyncWire

/// JSON and bytes, which clients hold as texts because SQLite has no types for them.
extension ValueConversion {
    /// Returns the JSON text to store, unwrapping a text that itself holds JSON.
    ///
    /// Such a text is not made a tree: it passes as it was sent, its numbers and its depth checked.
    static func json(_ value: JSON, _ strings: JSONStrings) throws(ValueRefusal) -> ConvertedValue {
        var measure = JSONMeasure()
        if case .string(let text) = value, strings == .parse, !isNull(text) {
            try measure.add(text: text)
            return ConvertedValue(text, printedLength: measure.printed)
        }
        try measure.add(value)
        return ConvertedValue(value.text, printedLength: measure.printed)
    }

    /// The text `null` is kept as a text: as JSON it would be neither what is absent nor NULL (backend 2.4).
    private static func isNull(_ text: String) -> Bool { text.utf8.count < 100 && trimmed(text) == "null" }

    /// Returns `\x…` of bytes spelled so or as the column's map says.
    static func bytes(_ value: JSON, _ encoding: BytesEncoding) throws(ValueRefusal) -> String {
        guard case .string(let text) = value else { throw .invalid("bytes as \(encoding.rawValue) or \\x…") }
        if text.hasPrefix("\\x") {
            guard isHexadecimal(text.utf8.dropFirst(2)) else {
                throw .invalid("an even number of hexadecimal digits")
            }
            return text
        }
        switch encoding {
        case .hex:
            guard isHexadecimal(text.utf8) else { throw .invalid("bytes in hexadecimal digits or as \\x…") }
            return "\\x" + text
        case .base64:
            guard let bytes = Base64.decodeExactly(text) else { throw .invalid("bytes in base64 or as \\x…") }
            return "\\x" + Hexadecimal.encode(bytes)
        }
    }

    private static func isHexadecimal(_ digits: some Collection<UInt8>) -> Bool {
        digits.count.isMultiple(of: 2)
            && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
    }
}
