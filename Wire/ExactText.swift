/// A text that equals another only if it has the same bytes.
///
/// Swift takes texts for equal that mean the same characters, however they are spelled: "é" as one scalar or as two, "K" and
/// the sign for kelvin. Postgres, SQLite, tokens and checksums do not. So whatever decides where a row belongs, a bucket's
/// name, an id, a column, is a key in this form.
package struct ExactText: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Wraps a text.
    package init(_ text: String) { self.text = text }

    /// Compares bytes.
    package static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
