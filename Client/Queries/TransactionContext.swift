import PowerSyncSQLite

/// A connection while a transaction is open on it.
///
/// Nothing runs on it once that is over, and nothing that would end it: it would be committed by itself, whatever the
/// callback does then.
struct TransactionContext: Transaction {
    private let connection: any ConnectionContext
    /// The connection, if it tells whether the transaction is open; one of another making does not.
    private let telling: (any StatementContext)?

    private init(_ connection: any ConnectionContext) {
        self.connection = connection
        telling = connection as? any StatementContext
    }

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
            let transaction = TransactionContext(connection)
            let result = try callback(transaction)
            try transaction.checkOpen()
            try connection.execute(sql: "COMMIT", parameters: [])
            return result
        } catch {
            // A statement such as INSERT OR ROLLBACK has rolled back already; the first error is the one to tell.
            _ = try? connection.execute(sql: "ROLLBACK", parameters: [])
            throw error
        }
    }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try check(sql)
        return try connection.execute(sql: sql, parameters: parameters)
    }

    func getOptional<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try check(sql)
        return try connection.getOptional(sql: sql, parameters: parameters, mapper: mapper)
    }

    func getAll<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try check(sql)
        return try connection.getAll(sql: sql, parameters: parameters, mapper: mapper)
    }

    func get<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        try check(sql)
        return try connection.get(sql: sql, parameters: parameters, mapper: mapper)
    }
}

extension TransactionContext: StatementContext {
    func outcome<Row>(
        sql: String, parameters: [(any Sendable)?]?, unless isUnwanted: (@Sendable () -> Bool)?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row> {
        try check(sql)
        return try context.outcome(sql: sql, parameters: parameters, unless: isUnwanted, mapper: mapper)
    }

    func refuseWriting(sql: String) throws { try context.refuseWriting(sql: sql) }

    var isInTransaction: Bool { get throws { try context.isInTransaction } }

    private var context: any StatementContext {
        get throws {
            guard let telling else {
                throw PowerSyncError(.invalidState, "This connection does not tell what a statement gives")
            }
            return telling
        }
    }
}

extension TransactionContext {
    /// Refuses a statement that would end the transaction, and any other one once it is over.
    private func check(_ sql: String) throws {
        // Most statements begin with a letter that none of these does.
        switch sql.utf8.first {
        case UInt8(ascii: "I"), UInt8(ascii: "U"), UInt8(ascii: "D"), UInt8(ascii: "S"):
            return try checkOpen()
        default: break
        }
        let word = SQLiteStatement.words(of: sql, limit: 1).first ?? ""
        switch word {
        // SQLite itself refuses BEGIN.
        case "COMMIT", "END":
            throw PowerSyncError(
                .invalidState, "\(word) in a transaction, which is committed when its callback returns")
        case "ROLLBACK" where !SQLiteStatement.words(of: sql, limit: 4).contains("TO"):
            throw PowerSyncError(
                .invalidState, "ROLLBACK in a transaction, which is rolled back when its callback throws")
        default: try checkOpen()
        }
    }

    /// Throws once a statement has ended the transaction, as INSERT OR ROLLBACK does.
    private func checkOpen() throws {
        guard let telling, try !telling.isInTransaction else { return }
        throw PowerSyncError(.invalidState, "The transaction is over, ended by one of its statements")
    }
}
