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
        // In the buffers of both: a view of a text asks for each byte where it lies.
        return withBytes(of: left, right, areEqual)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        guard isDone == nil else { return }
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Lends the bytes of two texts where they lie, which all but those of another language do; a copy of a text would be
    /// counted as one that keeps it.
    @inline(__always)
    private static func withBytes(
        of left: ExactText, _ right: ExactText,
        _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Bool {
        let lent: Bool?? = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in body(left, right) }
        }
        if case .some(.some(let result)) = lent { return result }
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in right.withUTF8 { right in body(left, right) } }
    }

    /// Compares as many bytes of one as of the other, eight at a time.
    private static func areEqual(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        let (left, right) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
        var place = 0
        while place + 8 <= left.count {
            let word = left.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            guard word == right.loadUnaligned(fromByteOffset: place, as: UInt64.self) else { return false }
            place += 8
        }
        while place < left.count {
            guard left[place] == right[place] else { return false }
            place += 1
        }
        return true
    }
}

/// The order of the bytes, which is the same everywhere and tells all texts apart.
extension ExactText: Comparable {
    /// Whether the bytes of one come before those of the other.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        withBytes(of: left, right) { left, right in left.lexicographicallyPrecedes(right) }
    }
}
