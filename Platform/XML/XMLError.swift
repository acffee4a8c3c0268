/// Bytes that are no XML, or XML that is not taken.
package struct XMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A kind of refusal.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        package let rawValue: String

        /// Makes a kind of its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes are no document of XML 1.0 in UTF-8.
        package static let malformed = Code(rawValue: "malformed")
        /// The document is larger, deeper or has more elements than allowed.
        package static let tooLarge = Code(rawValue: "tooLarge")
        /// The document declares its own type, as it must to have entities.
        package static let declaration = Code(rawValue: "declaration")
    }

    /// The kind of refusal.
    package let code: Code
    /// What is wrong, in words that contain nothing of the document.
    package let message: String
    /// The line, from 1.
    package let line: Int

    init(_ code: Code, _ message: String, line: Int) {
        self.code = code
        self.message = message
        self.line = line
    }

    /// The place and what is wrong there.
    package var description: String { "line \(line): \(message)" }
}
