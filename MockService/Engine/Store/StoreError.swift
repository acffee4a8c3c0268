/// Why the state cannot be used.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and what helps.
    package let message: String
    /// Whether the file is of another version of this program.
    package var isOtherVersion = false

    /// The message.
    package var description: String { message }

    static let unreadableRow = StoreError(message: "The state file holds a row that cannot be read.")

    /// What is written, or read, is of a stream that is no more.
    package static let noStream = StoreError(
        message: "The replication stream is not in the state file, or another one has taken its place.")
}
