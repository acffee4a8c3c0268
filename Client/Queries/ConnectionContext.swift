/// One connection, for the time of a callback.
///
/// Every member runs at once on the thread of the callback; used elsewhere or later it throws `operationFailed`.
/// Of a text that holds several statements only the first one runs.
public protocol ConnectionContext: Sendable {
    /// Runs one statement and returns the number of changed rows as SQLite counts them.
    ///
    /// Writes to PowerSync tables count as 0: they are views, and SQLite does not count what their triggers do.
    @discardableResult
    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64

    /// Returns the first row, mapped; nil if there is none.
    func getOptional<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType?

    /// Returns all rows, mapped, in their order.
    func getAll<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType]

    /// Returns the first row, mapped; throws `operationFailed` if there is none.
    func get<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType
}

/// A connection inside a transaction, which is committed when the callback returns and rolled back when it throws.
///
/// It begins and ends with the callback: `BEGIN`, `COMMIT`, `END` and `ROLLBACK` are errors, `SAVEPOINT`, `RELEASE` and
/// `ROLLBACK TO` are not. Where a statement has rolled it back all the same, as `INSERT OR ROLLBACK` does, each further one
/// is an error, and nothing of it is committed, whether or not the callback throws.
public protocol Transaction: ConnectionContext {}
