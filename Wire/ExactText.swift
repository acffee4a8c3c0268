/// A text that equals another only if it has the same bytes.
///
/// Swift takes texts for equal that mean the same characters, however they are spelled: "é" as one scalar or as two,
/// "K" and the sign for kelvin. Postgres, SQLite, tokens, files and checksums do not. So whatever decides where a row
/// belongs, a bucket's name, an id, a column, is a key in this form. Comparing and hashing copy nothing.
package struct ExactText: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Wraps a text.
    package init(_ text: String) { self.text = text }

    /// Compares bytes.
    package static func == (left: ExactText, right: ExactText) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        var (left, right) = (left.text, right.text)
        // In the buffers of both: a view of a text asks for each byte where it lies.
        return left.withUTF8 { left in right.withUTF8 { right in left.elementsEqual(right) } }
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The order of the bytes, which is the same everywhere and tells all texts apart.
extension ExactText: Comparable {
    /// Whether the bytes of one come before those of the other.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in right.withUTF8 { right in left.lexicographicallyPrecedes(right) } }
    }
}
