import PowerSyncCrypto
import PowerSyncWire

/// JSON, arrays and bytes, which clients hold as texts because SQLite has no types for them.
extension ValueConversion {
    /// Returns the JSON text to store, unwrapping a text that itself holds JSON.
    static func json(_ value: JSON, _ strings: JSONStrings) throws(ValueRefusal) -> String {
        guard case .string(let text) = value, strings == .parse, let inner = parsed(text), !inner.isNull
        else {
            try checkJSON(value, depth: 0)
            return value.text
        }
        try checkJSON(inner, depth: 0)
        return inner.text
    }

    private static func checkJSON(_ value: JSON, depth: Int) throws(ValueRefusal) {
        guard depth <= jsonDepth else { throw .invalid("JSON nested at most \(jsonDepth) deep") }
        switch value {
        case .string(let text): try checkNUL(text)
        case .array(let elements):
            for element in elements { try checkJSON(element, depth: depth + 1) }
        case .object(let members):
            for member in members {
                try checkNUL(member.name)
                try checkJSON(member.value, depth: depth + 1)
            }
        default: break
        }
    }

    private static func checkNUL(_ text: String) throws(ValueRefusal) {
        guard !text.utf8.contains(0) else {
            throw ValueRefusal(code: "NUL_CHARACTER", reason: "a text without the character U+0000")
        }
    }

    private static func parsed(_ text: String) -> JSON? {
        // Not an error: a text that is no JSON is stored as a JSON text.
        try? JSON.parse(text)
    }

    /// Returns an array as Postgres spells it: of a JSON array, of a text that holds one, or of `{…}` as it
    /// is.
    static func array(_ value: JSON, of element: ColumnKind, _ strings: JSONStrings) throws(ValueRefusal)
        -> String
    {
        var value = value
        if case .string(let text) = value {
            let text = trimmed(text)
            if text.hasPrefix("{") { return text }
            guard let inner = parsed(text) else { throw .invalid("an array") }
            value = inner
        }
        guard case .array(let elements) = value else { throw .invalid("an array") }
        var bytes: [UInt8] = []
        try append(elements, of: element, strings, depth: 0, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(
        _ elements: [JSON], of kind: ColumnKind, _ strings: JSONStrings, depth: Int, to bytes: inout [UInt8]
    ) throws(ValueRefusal) {
        // Postgres has six dimensions at most.
        guard depth < 6 else { throw .invalid("an array of at most 6 dimensions") }
        bytes.append(UInt8(ascii: "{"))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            if case .array(let inner) = element, kind != .json {
                try append(inner, of: kind, strings, depth: depth + 1, to: &bytes)
            } else {
                PostgresArray.append(try convert(element, as: kind, jsonStrings: strings).text, to: &bytes)
            }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Returns `\x…` of bytes spelled so or in base64.
    static func bytes(_ value: JSON) throws(ValueRefusal) -> String {
        guard case .string(let text) = value else { throw .invalid("bytes in base64 or as \\x…") }
        if text.hasPrefix("\\x") {
            let digits = text.dropFirst(2)
            guard digits.utf8.count.isMultiple(of: 2), digits.allSatisfy({ $0.isASCII && $0.isHexDigit })
            else {
                throw .invalid("an even number of hexadecimal digits")
            }
            return text
        }
        guard let bytes = Base64.decode(text) else { throw .invalid("bytes in base64 or as \\x…") }
        return "\\x" + Hexadecimal.encode(bytes)
    }
}

/// Writes elements of arrays as Postgres reads them.
private enum PostgresArray {
    static func append(_ element: String?, to bytes: inout [UInt8]) {
        guard let element else {
            bytes.append(contentsOf: "NULL".utf8)
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in element.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
