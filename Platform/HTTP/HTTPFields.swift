/// Header fields in the order in which they were sent; the case of names does not matter.
package struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, Sequence {
    /// One field line.
    package typealias Element = (name: String, value: String)

    private var lines: [Element]

    /// Creates no fields.
    package init() { lines = [] }

    /// Creates fields from a literal, in its order; a name may occur several times.
    package init(dictionaryLiteral elements: (String, String)...) {
        lines = elements.map { (name: $0.0, value: $0.1) }
    }

    /// The number of field lines.
    package var count: Int { lines.count }

    /// The first value of a name; setting it replaces every value, setting nil removes them.
    package subscript(_ name: String) -> String? {
        get { lines.first { Self.areEqual($0.name, name) }?.value }
        set {
            guard let newValue else { return remove(name) }
            guard let index = lines.firstIndex(where: { Self.areEqual($0.name, name) }) else {
                return append(name, newValue)
            }
            let first = (name: lines[index].name, value: newValue)
            lines[index] = first
            var rest = lines[(index + 1)...]
            rest.removeAll { Self.areEqual($0.name, name) }
            lines.replaceSubrange((index + 1)..., with: rest)
        }
    }

    /// Returns every value of a name, in order.
    package func values(_ name: String) -> [String] {
        lines.lazy.filter { Self.areEqual($0.name, name) }.map(\.value)
    }

    /// Returns the members of the comma-separated lists under a name, trimmed and in lower case (RFC 9110 5.6.1).
    package func tokens(_ name: String) -> [String] {
        values(name).flatMap { value in
            // By bytes: a comma and an accent behind it are one character.
            value.utf8.split(separator: UInt8(ascii: ",")).compactMap { part in
                let token = FieldLine.trimmed(part)
                return token.isEmpty ? nil : Substring(token).asciiLowercased
            }
        }
    }

    /// Adds a field line at the end.
    package mutating func append(_ name: String, _ value: String) {
        lines.append((name: name, value: value))
    }

    /// Removes every field line of a name.
    package mutating func remove(_ name: String) {
        lines.removeAll { Self.areEqual($0.name, name) }
    }

    /// Returns the field lines one after another.
    package func makeIterator() -> IndexingIterator<[Element]> { lines.makeIterator() }

    /// Whether both have the same lines in the same order; the case of names does not matter.
    package static func == (left: Self, right: Self) -> Bool {
        left.lines.elementsEqual(right.lines) { areEqual($0.name, $1.name) && $0.value == $1.value }
    }

    /// Whether two ASCII names are equal but for their case.
    static func areEqual(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        return zip(left.utf8, right.utf8).allSatisfy { $0 == $1 || lowered($0) == lowered($1) }
    }
}

extension StringProtocol {
    /// The text with the letters of ASCII in lower case, and all else as it is.
    ///
    /// Words of the protocol have no other letters. `lowercased()` makes a "k" of the Kelvin sign, so that what no
    /// other reader takes for "chunked" would be that here.
    var asciiLowercased: String { String(decoding: utf8.map(lowered), as: UTF8.self) }
}

private func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
