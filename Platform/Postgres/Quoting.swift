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
    // Where it lies: a copy of it would be counted.
    let isDone: Void? = element.utf8.withContiguousStorageIfAvailable { appendQuoted($0, to: &literal) }
    guard isDone == nil else { return }
    var copy = element
    copy.withUTF8 { appendQuoted($0, to: &literal) }
}

private func appendQuoted(_ bytes: UnsafeBufferPointer<UInt8>, to literal: inout [UInt8]) {
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    let raw = UnsafeRawBufferPointer(bytes)
    literal.append(quote)
    // Most have nothing that must be escaped, and are copied at once.
    if hasByte(quote, in: raw) || hasByte(backslash, in: raw) {
        for byte in bytes {
            if byte == quote || byte == backslash { literal.append(backslash) }
            literal.append(byte)
        }
    } else {
        literal.append(contentsOf: bytes)
    }
    literal.append(quote)
}

/// Whether one of some bytes is a certain one; eight are looked at together.
func hasByte(_ byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let wanted = ones &* UInt64(byte)
    var place = 0
    while place + 8 <= bytes.count {
        // A byte that is wanted is 0 in it: less one it borrows, and has its highest bit only then.
        let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) ^ wanted
        if (word &- ones) & ~word & (ones &* 0x80) != 0 { return true }
        place += 8
    }
    while place < bytes.count {
        if bytes[place] == byte { return true }
        place += 1
    }
    return false
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
