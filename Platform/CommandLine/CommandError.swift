/// Why a command ends without success, in one line for people.
package struct CommandError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status of a command line that cannot be understood (sysexits.h, EX_USAGE).
    package static let usageStatus: Int32 = 64

    /// One line that says what to do.
    package let message: String
    /// The exit status.
    package let exitStatus: Int32

    /// Makes an error of its parts.
    package init(_ message: String, exitStatus: Int32 = 1) {
        self.message = message
        self.exitStatus = exitStatus
    }

    /// The message.
    package var description: String { message }
}
