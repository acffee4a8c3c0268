/// Why a private Postgres could not be started, with what to do about it, in one line.
package struct PostgresServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure a caller may tell apart.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// No `initdb` and `postgres` were found on this machine.
        package static let missingBinaries = Code(rawValue: "missing_binaries")
        /// We are root, and there is no other user, or no way, to run Postgres as.
        package static let noUser = Code(rawValue: "no_user")
        /// A folder cannot be made, or the user who runs Postgres cannot enter it.
        package static let unusableFolder = Code(rawValue: "unusable_folder")
        /// Another server uses the data directory.
        package static let directoryInUse = Code(rawValue: "directory_in_use")
        /// The port that was asked for is taken.
        package static let portInUse = Code(rawValue: "port_in_use")
        /// `initdb` failed.
        package static let notInitialized = Code(rawValue: "not_initialized")
        /// Postgres ended before it was ready, or did not become ready.
        package static let notStarted = Code(rawValue: "not_started")
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
