/// What came of the app's callback, on its way from a thread of the database to the one task that waits for it.
struct Transferred<Value>: @unchecked Sendable {
    // Safe because the value is made on one thread and handed to exactly one task, never used by both.
    let result: Result<Value, any Error>
    /// Whether the callback left a transaction open, which was rolled back.
    let leftTransactionOpen: Bool

    /// Returns or throws what the callback did, after telling its mistake to a logger.
    ///
    /// For the task that waits: the logger is the app's, which must not hold up a connection.
    func get(loggingTo logger: any LoggerProtocol) throws -> Value {
        if leftTransactionOpen {
            logger.error(
                "A callback left a transaction open, it was rolled back. Use writeTransaction instead.",
                tag: LogTag.database)
        }
        return try result.get()
    }
}
