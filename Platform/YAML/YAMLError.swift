/// A text that is no YAML, or YAML over a limit.
package struct YAMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, without the place.
    package let message: String
    /// The line, from 1.
    package let line: Int
    /// The column, from 1.
    package let column: Int

    /// Makes an error of its parts.
    package init(_ message: String, line: Int, column: Int) {
        self.message = message
        self.line = line
        self.column = column
    }

    /// The place and what is wrong there.
    package var description: String { "line \(line), column \(column): \(message)" }
}
