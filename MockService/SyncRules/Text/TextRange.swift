/// A part of a text, in bytes from its start; empty for a place between two bytes.
package struct TextRange: Sendable, Hashable {
    /// Its first byte.
    package let start: Int
    /// The byte behind its last one.
    package let end: Int

    /// Makes a range; what ends before it starts is empty.
    package init(start: Int, end: Int) {
        self.start = start
        self.end = max(start, end)
    }
}
