import PowerSync

/// Why a command of a driving program is not done, in one line that says what to do.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    package let code: PowerSyncError.Code
    /// One line.
    package let message: String

    /// Makes an error of its parts.
    package init(_ message: String, code: PowerSyncError.Code = .invalidArgument) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}

extension PowerSyncError.Code {
    /// An answer has more bytes than one may have: fewer rows have to be asked for at a time, or less of a value.
    static let answerTooLarge = PowerSyncError.Code(rawValue: "answerTooLarge")
}
