/// A text or value from outside that breaks the protocol.
///
/// The message names the place and what was expected, never the value itself: values are users' rows.
package struct WireError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of rule was broken; an open set, compare with the constants.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        package let rawValue: String

        /// Makes a code of a name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The text is not JSON (RFC 8259), or not UTF-8.
        package static let malformedJSON = Code(rawValue: "malformed-json")
        /// The bytes are not one BSON document of known types.
        package static let malformedBSON = Code(rawValue: "malformed-bson")
        /// The text is JSON or BSON, but lacks a required field or has one of another type or out of range.
        package static let invalidField = Code(rawValue: "invalid-field")
        /// A line, number, nesting or text is larger than the limit that the reader set.
        package static let tooLarge = Code(rawValue: "too-large")
        /// The transactions of an upload are more than its reader takes at once; fewer can be sent.
        package static let tooManyTransactions = Code(rawValue: "too-many-transactions")
        /// The body of an upload is of no dialect, or of two (backend 1.1).
        package static let unknownDialect = Code(rawValue: "unknown-dialect")
        /// The numbers of an upload's operations do not rise (backend 1.5).
        package static let orderViolation = Code(rawValue: "order-violation")
    }

    /// What kind of rule was broken.
    package let code: Code
    /// One sentence for people, without values.
    package let message: String
    /// The limit that something is over, where that is what is wrong.
    package let limit: Int?

    /// Makes an error of its parts.
    package init(_ code: Code, _ message: String, limit: Int? = nil) {
        self.code = code
        self.message = message
        self.limit = limit
    }

    /// The message.
    package var description: String { message }

    static func field(_ path: String, _ expected: String, code: Code = .invalidField) -> WireError {
        WireError(code, "\(path): expected \(expected)")
    }
}
