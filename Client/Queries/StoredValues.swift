import PowerSyncSQLite

/// A cursor that also tells values as SQLite stores them, where `SqlCursor` converts: for tools that show whatever a
/// query yields.
package protocol StoredValueCursor: SqlCursor {
    /// The names of all columns in their order; they may repeat.
    var allColumns: [String] { get }

    /// The columns in their order, each name once: where names repeat, the last one counts.
    var namedColumns: [(name: String, index: Int)] { get }

    /// Returns the value with the storage class that it has; NULL where the index is out of range.
    func storedValue(index: Int) -> SQLiteValue

    /// Returns how many bytes a text or a blob has, without copying them; 0 for any other value, and where the index is
    /// out of range.
    func byteCount(index: Int) -> Int
}

/// What one statement gave.
package enum StatementOutcome<Row> {
    /// The rows of a statement that returns rows, mapped, also where there are none.
    case rows([Row])
    /// The number of rows that any other statement changed, as SQLite counts them; 0 for one that changes none.
    case changes(Int64)
}

extension StatementOutcome: Sendable where Row: Sendable {}

/// A connection that tells statements that return rows from those that do not.
package protocol StatementContext: ConnectionContext {
    /// Runs one statement to its end; a text that holds several is refused.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - parameters: the values of its placeholders.
    ///   - isUnwanted: asked again and again while it runs, on the thread of the connection; true ends the statement,
    ///   and with it the transaction of one that writes. Nil for a statement that is always wanted.
    ///   - mapper: makes a value of each row.
    /// - Returns: the rows, or how many were changed.
    /// - Throws: `PowerSyncError`, and what the mapper throws.
    func outcome<Row>(
        sql: String, parameters: [(any Sendable)?]?, unless isUnwanted: (@Sendable () -> Bool)?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row>

    /// Refuses a statement that changes data, as a connection that only reads does (a database in memory has none), and one
    /// that changes the connection itself, with which others read behind it.
    ///
    /// - Parameter sql: the statement; a text that holds several is refused, too.
    /// - Throws: `PowerSyncError`, with `.readOnly` for what is refused.
    func refuseWriting(sql: String) throws

    /// Whether a transaction is open.
    var isInTransaction: Bool { get throws }
}

extension StatementContext {
    /// Runs one statement to its end, which nothing ends before.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - parameters: the values of its placeholders.
    ///   - mapper: makes a value of each row.
    /// - Returns: the rows, or how many were changed.
    /// - Throws: `PowerSyncError`, and what the mapper throws.
    package func outcome<Row>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row> {
        try outcome(sql: sql, parameters: parameters, unless: nil, mapper: mapper)
    }
}

extension Queries {
    /// Runs a callback in a transaction of the writing connection, as `writeTransaction(callback:)` does.
    ///
    /// - Parameters:
    ///   - isUnwanted: asked again and again while another process writes, on the thread of the connection; true ends
    ///   the wait. What the callback runs has to ask by itself.
    ///   - callback: what runs inside.
    /// - Returns: what the callback returns.
    /// - Throws: `PowerSyncError`, with `.databaseBusy` for a wait that was ended; what the callback throws.
    package func writeTransaction<R>(
        unless isUnwanted: @escaping @Sendable () -> Bool,
        callback: @Sendable @escaping (any Transaction) throws -> R
    ) async throws -> R {
        try await writeLock { try TransactionContext.run(on: $0, callback, unless: isUnwanted) }
    }
}

/// A database whose watched queries a tool can hold back, and end in their midst.
package protocol StatementWatching: PowerSyncDatabaseProtocol {
    /// Runs a query now and after each change of its tables, as `watch(options:)` does; a text that holds several
    /// statements is refused with the first result.
    ///
    /// - Parameters:
    ///   - options: the query.
    ///   - isUnwanted: asked again and again while the query runs, on the thread of the connection; true ends it with
    ///   an error, and the results with it.
    ///   - prepare: called each time before the query runs, by the task that asks for results; may wait, and ends the
    ///   results if it throws. What has changed meanwhile is in the result.
    /// - Returns: the results, each of them whole.
    /// - Throws: `PowerSyncError` if the database is closed.
    func watch<Row>(
        options: WatchOptions<Row>, unless isUnwanted: @escaping @Sendable () -> Bool,
        before prepare: @escaping @Sendable () async throws -> Void
    ) throws -> AsyncThrowingStream<[Row], any Error>
}
