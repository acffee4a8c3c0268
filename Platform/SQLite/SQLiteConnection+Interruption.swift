import CPowerSyncSQLite

extension SQLiteConnection {
    /// How much work SQLite does between two questions, in steps of its machine: a fraction of a millisecond.
    private static let stepsBetweenQuestions: Int32 = 10_000

    /// What is asked while a statement runs, or waits for a lock of another connection.
    private final class Question {
        let isUnwanted: () -> Bool
        private let patience: Duration
        private var start = ContinuousClock.now

        init(_ isUnwanted: @escaping () -> Bool, patience: Duration) {
            self.isUnwanted = isUnwanted
            self.patience = patience
        }

        /// Waits a moment for a lock; returns whether to try again.
        ///
        /// Each wait counts its attempts from 0.
        func waits(_ attempt: Int32) -> Bool {
            let now = ContinuousClock.now
            if attempt == 0 { start = now }
            guard now - start < patience, !isUnwanted() else { return false }
            sqlite3_sleep(1 << min(attempt, 5))
            return true
        }

        /// The question that a handler of SQLite was given.
        static func of(_ context: UnsafeMutableRawPointer?) -> Question? {
            context.map { Unmanaged<Question>.fromOpaque($0).takeUnretainedValue() }
        }
    }

    /// Runs a body, whose statements end with `.interrupt` as soon as nobody wants them any more, and with `.busy` where
    /// they wait for a lock of another connection.
    ///
    /// A statement that writes takes the transaction with it that it is a part of. A handler that somebody else has set
    /// for the progress of statements, or for locks, is gone afterwards; the time that they wait is the same as before. Not
    /// to be used within itself.
    ///
    /// - Parameters:
    ///   - isUnwanted: Asked again and again on this thread while a statement runs; must be quick, and call nothing
    ///   else.
    ///   - body: What uses the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func interrupting<T>(when isUnwanted: @escaping () -> Bool, _ body: () throws -> T) throws -> T {
        let timeout = try one("PRAGMA busy_timeout") { $0.int64(0) } ?? 0
        let question = Question(isUnwanted, patience: .milliseconds(timeout))
        // Safe because the handlers are gone before the question is.
        let context = Unmanaged.passUnretained(question).toOpaque()
        sqlite3_progress_handler(
            pointer, Self.stepsBetweenQuestions, { Question.of($0)?.isUnwanted() == true ? 1 : 0 }, context)
        sqlite3_busy_handler(pointer, { Question.of($0)?.waits($1) == true ? 1 : 0 }, context)
        defer {
            withExtendedLifetime(question) {
                sqlite3_progress_handler(pointer, 0, nil, nil)
                // In place of the handler.
                sqlite3_busy_timeout(pointer, Int32(clamping: timeout))
            }
        }
        return try body()
    }
}
