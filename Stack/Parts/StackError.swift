/// Why the stack cannot do what it was asked for, in one line that says what to do.
package struct StackError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; an open set, compare with the constants.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        package let rawValue: String

        /// Makes a code of a name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// A part ended before it was ready, or while it was needed.
        package static let partEnded = Code(rawValue: "part-ended")
        /// The database is not as the stack needs it.
        package static let database = Code(rawValue: "database")
        /// A file that was named cannot be read or written.
        package static let file = Code(rawValue: "file")
        /// Something that was opened could not be closed, or not be removed from a server.
        package static let closing = Code(rawValue: "closing")
        /// A state that was waited for did not come in time.
        package static let deadline = Code(rawValue: "deadline")
        /// A peer answered something else than the protocol says.
        package static let answer = Code(rawValue: "answer")
    }

    /// What kind of failure it is.
    package let code: Code
    /// One line for people.
    package let message: String

    /// Makes an error of its parts.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
