/// Why a thread does not copy the write-ahead log of a database into its file.
package struct WALFailure: Sendable, CustomStringConvertible {
    /// What SQLite says, or the system.
    package let error: SQLiteError
    /// Whether the writer copies in its place, within commits; otherwise the log grows.
    package let isCopiedByWriter: Bool

    /// What it means, and the error.
    package var description: String {
        isCopiedByWriter
            ? "The write-ahead log is copied into the database within writes, not beside them: \(error)"
            : "The write-ahead log cannot be copied into the database and keeps growing: \(error)"
    }
}
