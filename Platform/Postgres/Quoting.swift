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
    var literal: [UInt8] = [UInt8(ascii: "{")]
    for (index, element) in elements.enumerated() {
        if index > 0 { literal.append(UInt8(ascii: ",")) }
        appendArrayElement(element, to: &literal)
    }
    literal.append(UInt8(ascii: "}"))
    return String(decoding: literal, as: UTF8.self)
}

/// Appends an element of an array's text form, or a bound of a range's, in quotes; nil is NULL.
package func appendArrayElement(_ element: String?, to literal: inout [UInt8]) {
    guard let element else {
        literal.append(contentsOf: "NULL".utf8)
        return
    }
    literal.append(UInt8(ascii: "\""))
    for byte in element.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { literal.append(UInt8(ascii: "\\")) }
        literal.append(byte)
    }
    literal.append(UInt8(ascii: "\""))
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
