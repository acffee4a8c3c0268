/// A connection while a transaction is open on it.
struct TransactionContext: Transaction {
    private let connection: any ConnectionContext

    /// Runs a callback between `BEGIN IMMEDIATE` and `COMMIT`.
    ///
    /// On a read-only connection BEGIN IMMEDIATE is legal and pins the snapshot at once (client-api 2.2).
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - callback: what runs inside.
    ///   - isUnwanted: asked while another process writes; true ends the wait. Nil for a transaction that is wanted.
    /// - Returns: what the callback returned.
    /// - Throws: what the callback or the commit threw; everything is rolled back then.
    static func run<R>(
        on connection: any ConnectionContext, _ callback: (any Transaction) throws -> R,
        unless isUnwanted: (@Sendable () -> Bool)? = nil
    ) throws -> R {
        if let isUnwanted, let context = connection as? any StatementContext {
            _ = try context.outcome(
                sql: "BEGIN IMMEDIATE", parameters: [], unless: isUnwanted, mapper: { _ in })
        } else {
            try connection.execute(sql: "BEGIN IMMEDIATE", parameters: [])
        }
        do {
            let result = try callback(TransactionContext(connection: connection))
            try connection.execute(sql: "COMMIT", parameters: [])
            return result
        } catch {
            // A statement such as INSERT OR ROLLBACK has rolled back already; the first error is the one to tell.
            _ = try? connection.execute(sql: "ROLLBACK", parameters: [])
            throw error
        }
    }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try connection.execute(sql: sql, parameters: parameters)
    }

    func getOptional<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try connection.getOptional(sql: sql, parameters: parameters, mapper: mapper)
    }

    func getAll<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try connection.getAll(sql: sql, parameters: parameters, mapper: mapper)
    }

    func get<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        try connection.get(sql: sql, parameters: parameters, mapper: mapper)
    }
}

extension TransactionContext: StatementContext {
    func outcome<Row>(
        sql: String, parameters: [(any Sendable)?]?, unless isUnwanted: (@Sendable () -> Bool)?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row> {
        try context.outcome(sql: sql, parameters: parameters, unless: isUnwanted, mapper: mapper)
    }

    func onlyReads(sql: String) throws -> Bool { try context.onlyReads(sql: sql) }

    private var context: any StatementContext {
        get throws {
            guard let connection = connection as? any StatementContext else {
                throw PowerSyncError(.invalidState, "This connection does not tell what a statement gives")
            }
            return connection
        }
    }
}
