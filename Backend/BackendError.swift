/// Why the backend cannot start or go on.
///
/// The message says what to change; it holds no secrets and no values of rows.
package struct BackendError: Error, Sendable, CustomStringConvertible {
    /// What kind of trouble it is; an open set, compare with the constants.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        package let rawValue: String

        /// Makes a code of a name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// A setting is missing, misspelled or out of range.
        package static let configuration = Code(rawValue: "configuration")
        /// The table map is wrong, or names what the database does not have.
        package static let tableMap = Code(rawValue: "table-map")
        /// The signing key cannot be read, made or used.
        package static let keys = Code(rawValue: "keys")
        /// The database cannot be reached or refuses what the start needs.
        package static let database = Code(rawValue: "database")
        /// The address cannot be listened on.
        package static let address = Code(rawValue: "address")
    }

    /// What kind of trouble it is.
    package let code: Code
    /// What happened and what to do.
    package let message: String
    /// The error below, if there is one.
    package let cause: (any Error)?

    /// Makes an error of its parts.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    package var description: String { message }
}
