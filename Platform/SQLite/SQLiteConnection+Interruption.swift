import CPowerSyncSQLite

extension SQLiteConnection {
    /// How much work SQLite does between two questions, in steps of its machine: a fraction of a millisecond.
    private static let stepsBetweenQuestions: Int32 = 10_000

    /// What is asked while a statement runs.
    private final class Question {
        let isUnwanted: () -> Bool
        init(_ isUnwanted: @escaping () -> Bool) { self.isUnwanted = isUnwanted }
    }

    /// Runs a body, whose statements end with `.interrupt` as soon as nobody wants them any more.
    ///
    /// A statement that writes takes the transaction with it that it is a part of. A handler that somebody else has set
    /// for the progress of statements is gone afterwards.
    ///
    /// - Parameters:
    ///   - isUnwanted: Asked again and again on this thread while a statement runs; must be quick, and call nothing
    ///   else.
    ///   - body: What uses the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func interrupting<T>(when isUnwanted: @escaping () -> Bool, _ body: () throws -> T) throws -> T {
        let question = Question(isUnwanted)
        // Safe because the handler is gone before the question is.
        let context = Unmanaged.passUnretained(question).toOpaque()
        sqlite3_progress_handler(
            pointer, Self.stepsBetweenQuestions,
            { context in
                guard let context else { return 0 }
                return Unmanaged<Question>.fromOpaque(context).takeUnretainedValue().isUnwanted() ? 1 : 0
            }, context)
        defer { withExtendedLifetime(question) { sqlite3_progress_handler(pointer, 0, nil, nil) } }
        return try body()
    }
}
