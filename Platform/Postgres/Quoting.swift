/// An identifier for SQL text, always in double quotes, so that no name is a keyword or folded to lower case.
///
/// `copyOut`, `script` and `query` refuse a NUL character in the text, which no quoting can carry.
package func quoteIdentifier(_ name: String) -> String {
    "\"" + doubling(name, UInt8(ascii: "\"")) + "\""
}

/// A schema and a name, both quoted, with a dot between them.
package func quoteIdentifier(_ schema: String, _ name: String) -> String {
    quoteIdentifier(schema) + "." + quoteIdentifier(name)
}

/// A string constant for SQL text; statements take parameters, this is for commands that cannot.
///
/// With a backslash in it the `E'…'` form is used, which means the same under every
/// `standard_conforming_strings`.
package func quoteLiteral(_ text: String) -> String {
    let quoted = "'" + doubling(text, UInt8(ascii: "'")) + "'"
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return quoted }
    return " E" + doubling(quoted, UInt8(ascii: "\\"))
}

/// The text form of a one-dimensional array, for a parameter that is cast to some `type[]`; nil is NULL.
package func arrayLiteral(_ elements: [String?]) -> String {
    var literal: [UInt8] = []
    appendArrayLiteral(elements, to: &literal)
    return String(decoding: literal, as: UTF8.self)
}

/// Appends the text form of a one-dimensional array; nil is NULL.
func appendArrayLiteral(_ elements: some Collection<String?>, to literal: inout [UInt8]) {
    literal.append(UInt8(ascii: "{"))
    var isFirst = true
    for element in elements {
        if !isFirst { literal.append(UInt8(ascii: ",")) }
        isFirst = false
        appendArrayElement(element, to: &literal)
    }
    literal.append(UInt8(ascii: "}"))
}

/// Appends an element of an array's text form, or a bound of a range's, in quotes; nil is NULL.
package func appendArrayElement(_ element: String?, to literal: inout [UInt8]) {
    guard var element else {
        literal.append(contentsOf: "NULL".utf8)
        return
    }
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    literal.append(quote)
    element.withUTF8 { bytes in
        // Most have nothing that must be escaped, and are copied at once.
        guard bytes.contains(where: { $0 == quote || $0 == backslash }) else {
            literal.append(contentsOf: bytes)
            return
        }
        for byte in bytes {
            if byte == quote || byte == backslash { literal.append(backslash) }
            literal.append(byte)
        }
    }
    literal.append(quote)
}

private func doubling(_ text: String, _ quote: UInt8) -> String {
    guard text.utf8.contains(quote) else { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 8)
    for byte in text.utf8 {
        bytes.append(byte)
        if byte == quote { bytes.append(byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
}
