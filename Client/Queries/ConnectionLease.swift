import PowerSyncSQLite

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connection lent to a callback of the app: of use on the callback's thread, until the callback returns.
final class ConnectionLease: ConnectionContext, @unchecked Sendable {
    // Safe because the mutable state is read only after the check that this is the thread that made the lease.
    private let thread = pthread_self()
    private var connection: SQLiteConnection?

    private init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// Lends a connection to a callback; a transaction that it leaves open is rolled back, unless it was open before.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - callback: the app's code.
    /// - Returns: what came of it.
    static func lend<R>(
        _ connection: SQLiteConnection, to callback: (any ConnectionContext) throws -> R
    ) -> Transferred<R> {
        let lease = ConnectionLease(connection)
        let wasInTransaction = connection.isInTransaction
        let result: Result<R, any Error> = Result { try callback(lease) }
        lease.connection = nil
        let leftTransactionOpen = !wasInTransaction && connection.isInTransaction
        if leftTransactionOpen { connection.rollBack() }
        return Transferred(result: result, leftTransactionOpen: leftTransactionOpen)
    }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try run(sql, parameters) { statement, connection in
            while try statement.step() {}
            return connection.changes
        }
    }

    func getOptional<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try run(sql, parameters) { statement, _ in
            guard try statement.step() else { return nil }
            let first = try RowCursor(statement).map(mapper)
            // A writing statement (RETURNING) has to come to its end; of a query the other rows are of no interest.
            if !statement.isReadOnly { while try statement.step() {} }
            return first
        }
    }

    func getAll<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try run(sql, parameters) { statement, _ in
            let cursor = RowCursor(statement)
            var rows: [RowType] = []
            while try statement.step() { rows.append(try cursor.map(mapper)) }
            return rows
        }
    }

    func get<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        guard let row = try getOptional(sql: sql, parameters: parameters, mapper: mapper) else {
            let shown = ShownText.sqlWithoutKey(sql) ?? sql
            throw PowerSyncError(
                .missingRow, "Expected \(shown) to return a row, but got an empty result set.")
        }
        return row
    }

    private func run<T>(
        _ sql: String, _ parameters: [(any Sendable)?]?, ignoringRest: Bool = true,
        _ body: (SQLiteStatement, SQLiteConnection) throws -> T
    ) throws -> T {
        let connection = try usable()
        var values: [SQLiteValue] = []
        for parameter in parameters ?? [] {
            values.append(SQLiteValue(try PowerSyncDataType.converting(parameter)))
        }
        return try PowerSyncError.wrapping(statementOn: connection) {
            try withStatement(sql, of: connection, ignoringRest: ignoringRest) { statement in
                try statement.bind(padding: values)
                return try body(statement, connection)
            }
        }
    }

    /// Returns the connection to whoever may use it.
    private func usable() throws -> SQLiteConnection {
        guard pthread_equal(thread, pthread_self()) != 0, let connection else {
            throw PowerSyncError(
                .invalidState, "A ConnectionLeaseContext may not be used on multiple threads")
        }
        return connection
    }

    /// Runs the first statement of a text; what follows is ignored for an app (client-api 1.4), and refused for a tool.
    private func withStatement<T>(
        _ sql: String, of connection: SQLiteConnection, ignoringRest: Bool,
        _ body: (SQLiteStatement) throws -> T
    ) throws -> T {
        // An EXPLAIN lists its program without running it, and so never notices that the schema has changed: a cached
        // one would tell the root pages of old tables.
        if sql.prefix(7).uppercased() == "EXPLAIN" {
            return try body(try connection.prepare(sql, ignoringRest: ignoringRest))
        }
        return try connection.withStatement(sql, ignoringRest: ignoringRest, body)
    }
}

extension ConnectionLease: StatementContext {
    func outcome<Row>(
        sql: String, parameters: [(any Sendable)?]?, unless isUnwanted: (@Sendable () -> Bool)?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row> {
        try run(sql, parameters, ignoringRest: false) { statement, connection in
            guard let isUnwanted else { return try Self.outcome(of: statement, on: connection, mapper) }
            return try connection.interrupting(when: isUnwanted) {
                try Self.outcome(of: statement, on: connection, mapper)
            }
        }
    }

    var isInTransaction: Bool { get throws { try usable().isInTransaction } }

    /// What changes no data, but the connection.
    private static let changingWords: Set = [
        "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH",
    ]

    func refuseWriting(sql: String) throws {
        // EXPLAIN QUERY PLAN and the word behind it: a PRAGMA has its effect also where it is to be explained alone.
        let explaining: Set = ["EXPLAIN", "QUERY", "PLAN"]
        let word = SQLiteStatement.words(of: sql, limit: 4).first { !explaining.contains($0) } ?? ""
        let isPragma = word == "PRAGMA"
        // Asked before it is compiled, by which a PRAGMA may have its effect already.
        if Self.changingWords.contains(word) || isPragma && Self.sets(sql) {
            throw PowerSyncError(.readOnly, "\(word) changes the connection, with which others read, too")
        }
        let isRefused = try run(sql, nil, ignoringRest: false) { statement, connection in
            // SQLite takes many a PRAGMA for a change that only tells something. What cannot write finds out.
            !statement.isReadOnly && !(isPragma && connection.isReadOnly)
        }
        if isRefused {
            throw PowerSyncError(
                SQLiteError(code: .readOnly, message: "attempt to write a readonly database", sql: sql))
        }
    }

    /// Whether a PRAGMA has a value that is not the name of what it tells of.
    private static func sets(_ pragma: String) -> Bool {
        // A comment may hold anything.
        if ["=", "/*", "--"].contains(where: { pragma.contains($0) }) { return true }
        guard let bracket = pragma.firstIndex(of: "(") else { return false }
        let name = pragma[..<bracket].split { !$0.isLetter && $0 != "_" }.last?.lowercased() ?? ""
        return !["_info", "_xinfo", "_list", "_check"].contains { name.hasSuffix($0) }
    }

    private static func outcome<Row>(
        of statement: SQLiteStatement, on connection: SQLiteConnection,
        _ mapper: (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row> {
        guard statement.columnCount > 0 else {
            let before = connection.totalChanges
            while try statement.step() {}
            // After a statement that changes no rows SQLite still has the number of one before it.
            return .changes(connection.totalChanges == before ? 0 : connection.changes)
        }
        let cursor = RowCursor(statement)
        var rows: [Row] = []
        while try statement.step() { rows.append(try cursor.map(mapper)) }
        return .rows(rows)
    }
}
