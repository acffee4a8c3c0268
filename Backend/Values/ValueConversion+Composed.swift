import PowerSyncCrypto
import PowerSyncWire

/// JSON, arrays and bytes, which clients hold as texts because SQLite has no types for them.
extension ValueConversion {
    /// Returns the JSON text to store, unwrapping a text that itself holds JSON.
    static func json(_ value: JSON, _ strings: JSONStrings) throws(ValueRefusal) -> ConvertedValue {
        var value = value
        if case .string(let text) = value, strings == .parse, let inner = parsed(text), !inner.isNull {
            value = inner
        }
        var printed = 0
        try checkJSON(value, depth: 0, &printed)
        return ConvertedValue(value.text, printedLength: printed)
    }

    /// Refuses what Postgres would not store or not print, and adds up what it prints (backend 7, number 10).
    private static func checkJSON(
        _ value: JSON, depth: Int, _ printed: inout Int
    ) throws(ValueRefusal) {
        guard depth <= jsonDepth else { throw .invalid("JSON nested at most \(jsonDepth) deep") }
        switch value {
        case .null, .bool: printed += 5
        case .number(let lexeme):
            guard let number = DecimalText(lexeme) else { throw .tooLargeNumber }
            printed += number.printedLength
        case .string(let text):
            try checkNUL(text)
            printed += printedLength(ofQuoted: text)
        case .array(let elements):
            printed += 2 + 2 * elements.count
            for element in elements { try checkJSON(element, depth: depth + 1, &printed) }
        case .object(let members):
            printed += 2 + 4 * members.count
            for member in members {
                try checkNUL(member.name)
                printed += printedLength(ofQuoted: member.name)
                try checkJSON(member.value, depth: depth + 1, &printed)
            }
        }
        try checkLength(printed)
    }

    private static func printedLength(ofQuoted text: String) -> Int {
        text.utf8.reduce(2) { length, byte in
            length + (byte < 0x20 ? 6 : byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 2 : 1)
        }
    }

    private static func checkLength(_ printed: Int) throws(ValueRefusal) {
        guard printed <= textLimit else {
            throw ValueRefusal(
                code: "TOO_LARGE",
                reason: "expected a value of at most \(textLimit) bytes as Postgres prints it")
        }
    }

    /// Refuses a text with a number that is too long or has too large an exponent.
    static func checkNumbers(inText text: String) throws(ValueRefusal) {
        let parts = text.utf8.split { byte in
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) && !"+-.eE".utf8.contains(byte)
        }
        for part in parts where part.contains(where: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains) {
            // A date is no number, and short.
            guard
                part.count <= 40 && !part.contains(where: { $0 | 0x20 == UInt8(ascii: "e") })
                    || DecimalText(Substring(part)) != nil
            else { throw .tooLargeNumber }
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

    /// Returns an array as Postgres spells it: of a JSON array, of a text that holds one, or of `{…}`.
    static func array(
        _ value: JSON, of element: ColumnKind, _ strings: JSONStrings
    ) throws(ValueRefusal) -> ConvertedValue {
        var value = value
        if case .string(let text) = value {
            let text = trimmed(text)
            let read =
                text.hasPrefix("{")
                ? PostgresArray.elements(of: text, areJSON: element == .json) : parsed(text)
            guard let read else { throw .invalid("an array") }
            value = read
        }
        guard case .array(let elements) = value else { throw .invalid("an array") }
        var bytes: [UInt8] = []
        var printed = 0
        try append(elements, of: element, strings, depth: 0, to: &bytes, &printed)
        return ConvertedValue(String(decoding: bytes, as: UTF8.self), printedLength: printed)
    }

    private static func append(
        _ elements: [JSON], of kind: ColumnKind, _ strings: JSONStrings, depth: Int, to bytes: inout [UInt8],
        _ printed: inout Int
    ) throws(ValueRefusal) {
        guard depth < PostgresArray.dimensions else {
            throw .invalid("an array of at most \(PostgresArray.dimensions) dimensions")
        }
        printed += 2
        bytes.append(UInt8(ascii: "{"))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            if case .array(let inner) = element, kind != .json {
                try append(inner, of: kind, strings, depth: depth + 1, to: &bytes, &printed)
            } else {
                let converted = try convert(element, as: kind, jsonStrings: strings)
                let before = bytes.count
                PostgresArray.append(converted.text, to: &bytes)
                printed +=
                    1 + (bytes.count - before)
                    + max(0, converted.printedLength - (converted.text?.utf8.count ?? 0))
            }
            try checkLength(printed)
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

/// Reads and writes arrays as Postgres spells them.
private enum PostgresArray {
    /// Postgres has no more.
    static let dimensions = 6

    /// Reads `{…}` with its quotes, escapes and inner arrays; nil for what is no such text, bounds in front of it included.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - areJSON: Whether the elements are JSON themselves.
    /// - Returns: An array whose elements are texts, NULL, or arrays; JSON values if they are such.
    static func elements(of text: String, areJSON: Bool) -> JSON? {
        var rest = Array(text.utf8)[...]
        guard let elements = elements(&rest, areJSON, depth: 0), rest.isEmpty else { return nil }
        return .array(elements)
    }

    private static func elements(_ rest: inout ArraySlice<UInt8>, _ areJSON: Bool, depth: Int) -> [JSON]? {
        guard depth < dimensions, rest.popFirst() == UInt8(ascii: "{") else { return nil }
        var elements: [JSON] = []
        skipBlanks(&rest)
        if rest.first == UInt8(ascii: "}") {
            rest.removeFirst()
            return []
        }
        while true {
            skipBlanks(&rest)
            if rest.first == UInt8(ascii: "{") {
                guard let inner = Self.elements(&rest, areJSON, depth: depth + 1) else { return nil }
                elements.append(.array(inner))
            } else {
                guard let element = element(&rest, areJSON) else { return nil }
                elements.append(element)
            }
            skipBlanks(&rest)
            switch rest.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return elements
            default: return nil
            }
        }
    }

    private static func element(_ rest: inout ArraySlice<UInt8>, _ areJSON: Bool) -> JSON? {
        var bytes: [UInt8] = []
        // Blanks behind an element are none of it unless they are escaped.
        var kept = 0
        let isQuoted = rest.first == UInt8(ascii: "\"")
        if isQuoted { rest.removeFirst() }
        while let byte = rest.first {
            if isQuoted ? byte == UInt8(ascii: "\"") : byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
            {
                break
            }
            if !isQuoted, byte == UInt8(ascii: "{") || byte == UInt8(ascii: "\"") { return nil }
            rest.removeFirst()
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
                kept = bytes.count
            } else {
                bytes.append(byte)
                if !isBlank(byte) { kept = bytes.count }
            }
        }
        guard !rest.isEmpty else { return nil }
        if isQuoted { rest.removeFirst() } else { bytes.removeLast(bytes.count - kept) }
        let text = String(decoding: bytes, as: UTF8.self)
        if !isQuoted {
            if bytes.isEmpty { return nil }
            if text.lowercased() == "null" { return .null }
        }
        return areJSON ? try? JSON.parse(text) : .string(text)
    }

    private static func skipBlanks(_ rest: inout ArraySlice<UInt8>) { rest = rest.drop(while: isBlank) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

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
