/// A text that is no YAML, or YAML over a limit.
package struct YAMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, without the place.
    package let message: String
    /// The line, from 1.
    package let line: Int
    /// The column, from 1.
    package let column: Int
    /// The place in bytes of the text.
    package let offset: Int
    /// The byte where that begins which is wrong only at `offset`, such as a key over two lines; nil if it is the same.
    package let contextOffset: Int?

    /// Makes an error of its parts; without an offset it is about the whole text.
    package init(_ message: String, line: Int, column: Int, offset: Int = 0, contextOffset: Int? = nil) {
        self.message = message
        self.line = line
        self.column = column
        self.offset = offset
        self.contextOffset = contextOffset
    }

    /// The place and what is wrong there.
    package var description: String { "line \(line), column \(column): \(message)" }
}
