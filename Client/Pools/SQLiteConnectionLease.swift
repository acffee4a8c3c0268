import PowerSyncSQLite

/// A connection of a pool, lent for the time of a callback.
///
/// `pointer` is all that a pool has to give; the other members stand on it. The SDK itself works on `pointer`.
public protocol SQLiteConnectionLease {
    /// The open `sqlite3*`, of the same copy of SQLite that this package links.
    var pointer: OpaquePointer { borrowing get }

    /// Runs the first statement of a text to its end and returns the number of changed rows as SQLite counts them
    /// (`sqlite3_changes64`).
    ///
    /// Missing parameters are NULL; too many are an error. Throws `PowerSyncError`.
    func execute(sql: String, parameters: [PowerSyncDataType?]) throws -> Int64

    /// Lends the rows of the first statement of a text to a callback, and returns what that returns.
    ///
    /// Parameters are bound as for ``execute(sql:parameters:)``. The iterator is of no use once the callback has
    /// returned. Throws `PowerSyncError`, and what the callback throws.
    func withIterator<T>(
        sql: String, parameters: [PowerSyncDataType?],
        callback: (any SQLiteStatementIteratorProtocol) throws -> T
    ) throws -> T
}

/// The rows of a statement, one after the other.
public protocol SQLiteStatementIteratorProtocol {
    /// Goes to the next row and returns what the callback makes of it; nil behind the last one, however often it is
    /// asked.
    ///
    /// The cursor is of no use once the callback has returned. Throws `PowerSyncError`, and what the callback throws.
    func next<T>(callback: (_ cursor: any SqlCursor) throws -> T) throws -> T?
}

extension SQLiteConnectionLease {
    /// Runs the first statement of a text to its end and returns the number of changed rows.
    public func execute(sql: String, parameters: [PowerSyncDataType?]) throws -> Int64 {
        try withRows(sql, parameters) { rows, connection in
            while try rows.next(callback: { _ in true }) != nil {}
            return connection.changes
        }
    }

    /// Lends the rows of the first statement of a text to a callback, and returns what that returns.
    public func withIterator<T>(
        sql: String, parameters: [PowerSyncDataType?],
        callback: (any SQLiteStatementIteratorProtocol) throws -> T
    ) throws -> T {
        try withRows(sql, parameters) { rows, _ in try callback(rows) }
    }

    private func withRows<T>(
        _ sql: String, _ parameters: [PowerSyncDataType?],
        _ body: (StatementRows, SQLiteConnection) throws -> T
    ) throws -> T {
        let connection = SQLiteConnection(borrowing: pointer)
        // Finalises the statement, also for an iterator that is kept.
        defer { connection.close() }
        let statement = try PowerSyncError.wrapping(statementOn: connection) {
            let statement = try connection.prepare(sql, ignoringRest: true)
            try statement.bind(padding: parameters.map { SQLiteValue($0) })
            return statement
        }
        return try body(StatementRows(statement, of: connection), connection)
    }
}

/// The rows of a statement that runs; of use as long as its connection is borrowed.
private final class StatementRows: SQLiteStatementIteratorProtocol {
    private let connection: SQLiteConnection
    private let statement: SQLiteStatement
    private let cursor: RowCursor
    private var isOver = false

    init(_ statement: SQLiteStatement, of connection: SQLiteConnection) {
        self.statement = statement
        self.connection = connection
        cursor = RowCursor(statement)
    }

    func next<T>(callback: (_ cursor: any SqlCursor) throws -> T) throws -> T? {
        guard !connection.isClosed else {
            throw PowerSyncError(
                .invalidState, "An iterator must not be used after its callback has returned")
        }
        // Behind the last row, or a failure, SQLite would begin anew.
        if isOver { return nil }
        isOver = true
        guard try PowerSyncError.wrapping(statementOn: connection, { try statement.step() }) else {
            return nil
        }
        isOver = false
        return try cursor.map(callback)
    }
}

extension StatementRows: CustomReflectable {
    /// Nothing: the text of the statement is below, which may set a key.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
