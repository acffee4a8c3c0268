import CPowerSyncSQLite

/// One connection to a database, with a cache of prepared statements.
///
/// It has one owner at a time: it is used from one thread after the other, never from two at once, and so
/// opens without SQLite's own mutex.
package final class SQLiteConnection {
    /// The `sqlite3*` of the open connection.
    package private(set) var pointer: OpaquePointer
    /// The path it was opened with.
    package let path: String
    /// Whether `close` has run.
    package private(set) var isClosed = false
    /// What a layer above keeps with the connection; goes with it.
    package var context: AnyObject?
    /// Runs before a statement is prepared here, once; again before the next one if it throws.
    package var beforeFirstStatement: (() throws(SQLiteError) -> Void)?
    private let ownsPointer: Bool
    let hooks = SQLiteHooks()
    private var statements: [ObjectIdentifier: WeakStatement] = [:]
    private var cache: [StatementKey: SQLiteStatement] = [:]
    private var uses: UInt64 = 0
    private let cacheLimit = 256
    /// How many bytes of SQL `prepare` has handed to SQLite: what tests count instead of time.
    package private(set) var compiledBytes = 0

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: A file, or ":memory:" for a private database in memory.
    ///   - flags: What may be done with it.
    /// - Throws: `.cannotOpen` and what else SQLite reports.
    package init(path: String, flags: SQLiteOpenFlags = .readWriteCreate) throws(SQLiteError) {
        var opened: OpaquePointer?
        let result = sqlite3_open_v2(path, &opened, flags.rawValue | SQLITE_OPEN_NOMUTEX, nil)
        guard result == SQLITE_OK, let opened else {
            let error = SQLiteError.last(opened, result: result)
            sqlite3_close_v2(opened)
            throw error
        }
        pointer = opened
        self.path = path
        ownsPointer = true
        sqlite3_extended_result_codes(opened, 1)
    }

    /// Uses a connection that somebody else opened and will close.
    ///
    /// `close` then only finalises the statements prepared here, which has to happen before the owner closes. For more
    /// than a few statements there is ``borrow(_:)``.
    package init(borrowing pointer: OpaquePointer) {
        self.pointer = pointer
        path = sqlite3_db_filename(pointer, "main").map { String(cString: $0) } ?? ""
        ownsPointer = false
    }

    deinit { close() }

    /// Finalises every statement prepared here and closes; repeating it does nothing.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        // Before the cache goes: a statement without its pointer no longer asks for its connection.
        for statement in statements.values { statement.value?.finalize() }
        statements.removeAll()
        cache.removeAll()
        // Statements that others prepared through `pointer` keep the file until they are finalised.
        if ownsPointer { sqlite3_close_v2(pointer) } else { removeHooks() }
    }

    /// Runs a script of any number of statements without parameters.
    package func execute(_ sql: String) throws(SQLiteError) {
        try checkOpen(sql)
        let error = sql.withCString { script -> SQLiteError? in
            var rest: UnsafePointer<CChar>? = script
            while let text = rest, text.pointee != 0 {
                var statement: OpaquePointer?
                var result = sqlite3_prepare_v2(pointer, text, -1, &statement, &rest)
                while result == SQLITE_OK || result == SQLITE_ROW, statement != nil {
                    result = sqlite3_step(statement)
                }
                let error =
                    result == SQLITE_OK || result == SQLITE_DONE
                    ? nil : lastError(result, sql: sql, isRunning: statement != nil)
                sqlite3_finalize(statement)
                // Here, not at the end of the script: it may hold several transactions.
                statementEnded()
                if let error { return error }
            }
            return nil
        }
        if let error { throw error }
    }

    /// Runs one statement to its end.
    package func run(_ sql: String, _ parameters: [SQLiteValue] = []) throws(SQLiteError) {
        let statement = try cached(sql)
        defer { statement.recycle() }
        try statement.bind(parameters)
        while try statement.step() {}
    }

    /// Runs one statement and collects what `row` makes of each row.
    package func query<T>(
        _ sql: String, _ parameters: [SQLiteValue] = [], _ row: (SQLiteRow) throws -> T
    ) throws -> [T] {
        var result: [T] = []
        try forEach(sql, parameters) { result.append(try row($0)) }
        return result
    }

    /// Runs one statement and calls `body` for each row.
    package func forEach(
        _ sql: String, _ parameters: [SQLiteValue] = [], _ body: (SQLiteRow) throws -> Void
    ) throws {
        let statement = try cached(sql)
        defer { statement.recycle() }
        try statement.bind(parameters)
        while try statement.step() { try body(try statement.row()) }
    }

    /// Runs one statement to its end and returns what `row` makes of the first row, nil if there is none.
    package func one<T>(
        _ sql: String, _ parameters: [SQLiteValue] = [], _ row: (SQLiteRow) throws -> T
    ) throws -> T? {
        let statement = try cached(sql)
        defer { statement.recycle() }
        try statement.bind(parameters)
        guard try statement.step() else { return nil }
        let first = try row(try statement.row())
        while try statement.step() {}
        return first
    }

    /// Prepares a statement that the caller owns.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - ignoringRest: Whether further statements of the text are left out instead of refused.
    /// - Returns: The statement.
    /// - Throws: SQLite's error; `.misuse` if the text holds no statement, or more than one.
    package func prepare(_ sql: String, ignoringRest: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        try checkOpen(sql)
        if let first = beforeFirstStatement {
            beforeFirstStatement = nil
            do throws(SQLiteError) {
                try first()
            } catch {
                beforeFirstStatement = first
                throw error
            }
        }
        var prepared: OpaquePointer?
        var text = sql
        let (result, end, hasMore) = text.withUTF8 { utf8 -> (Int32, Int, Bool) in
            let start = UnsafeRawPointer(utf8.baseAddress)?.assumingMemoryBound(to: CChar.self)
            guard let start else { return (SQLITE_OK, 0, false) }
            var tail: UnsafePointer<CChar>?
            compiledBytes += utf8.count
            let result = sqlite3_prepare_v3(
                pointer, start, Int32(utf8.count), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &tail)
            guard result == SQLITE_OK, let tail, tail < start + utf8.count else {
                return (result, utf8.count, false)
            }
            let rest = utf8.count - (tail - start)
            if ignoringRest { return (result, tail - start, false) }
            // White space and comments may follow: preparing them yields no statement.
            var next: OpaquePointer?
            compiledBytes += rest
            let following = sqlite3_prepare_v2(pointer, tail, Int32(rest), &next, nil)
            defer { sqlite3_finalize(next) }
            return (result, utf8.count, following != SQLITE_OK || next != nil)
        }
        if result != SQLITE_OK { throw lastError(result, sql: sql) }
        guard let prepared else {
            throw SQLiteError(code: .misuse, message: "the text holds no statement", sql: sql)
        }
        let hasRest = end < sql.utf8.count
        let statement = SQLiteStatement(
            prepared, sql: hasRest ? String(decoding: sql.utf8.prefix(end), as: UTF8.self) : sql,
            hasRest: hasRest, connection: self)
        statements[ObjectIdentifier(statement)] = WeakStatement(value: statement)
        if hasMore {
            throw SQLiteError(code: .misuse, message: "the text holds more than one statement", sql: sql)
        }
        return statement
    }

    /// Runs `body` between BEGIN IMMEDIATE and COMMIT; rolls back and rethrows if it throws.
    package func transaction<T>(_ body: () throws -> T) throws -> T {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// Ends an open transaction without its changes; does nothing when none is open.
    package func rollBack() {
        guard isInTransaction else { return }
        // SQLite may have rolled back by itself meanwhile; then there is nothing left to undo.
        try? run("ROLLBACK")
    }

    /// Runs a body that must leave no transaction open, but for one that was open before.
    ///
    /// - Parameter body: what uses the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, `.misuse` if it left a transaction open, which has been rolled back in both cases.
    package func lend<T>(_ body: () throws -> T) throws -> T {
        let wasInTransaction = isInTransaction
        do {
            let result = try body()
            if wasInTransaction || !isInTransaction { return result }
        } catch {
            if !wasInTransaction { rollBack() }
            throw error
        }
        rollBack()
        throw SQLiteError(
            code: .misuse, message: "a transaction was left open and has been rolled back")
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE (`sqlite3_changes64`); no other statement changes the number.
    package var changes: Int64 { isClosed ? 0 : sqlite3_changes64(pointer) }

    /// Rows changed since the connection was opened, by triggers, too (`sqlite3_total_changes64`).
    package var totalChanges: Int64 { isClosed ? 0 : sqlite3_total_changes64(pointer) }

    /// Row id of the last insert into a rowid table.
    package var lastInsertRowID: Int64 { isClosed ? 0 : sqlite3_last_insert_rowid(pointer) }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { !isClosed && sqlite3_get_autocommit(pointer) == 0 }

    /// Whether it only reads (`sqlite3_db_readonly`).
    package var isReadOnly: Bool { !isClosed && sqlite3_db_readonly(pointer, "main") == 1 }

    /// Sets how long a statement waits for another connection's lock before `.busy`.
    package func setBusyTimeout(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        sqlite3_busy_timeout(pointer, Int32(clamping: milliseconds))
    }

    func cached(_ sql: String, ignoringRest: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        try checkOpen(sql)
        uses += 1
        let key = StatementKey(sql)
        // A statement that is running further up the stack is left alone, and what follows the first one of a text
        // is ignored only for those who want that.
        if let statement = cache[key], !statement.isInUse, ignoringRest || !statement.hasRest {
            statement.isInUse = true
            statement.lastUse = uses
            return statement
        }
        let statement = try prepare(sql, ignoringRest: ignoringRest)
        statement.isInUse = true
        statement.lastUse = uses
        if cache[key] == nil { cache[key] = statement }
        if cache.count > cacheLimit { evict() }
        return statement
    }

    /// Drops the older half of the idle statements.
    private func evict() {
        let idle = cache.filter { !$0.value.isInUse }.sorted { $0.value.lastUse < $1.value.lastUse }
        for entry in idle.prefix(cacheLimit / 2) { cache[entry.key] = nil }
    }

    func forget(_ statement: ObjectIdentifier) { statements[statement] = nil }

    func lastError(_ result: Int32, sql: String?, isRunning: Bool = false) -> SQLiteError {
        SQLiteError.last(pointer, result: result, sql: sql, isRunning: isRunning)
    }

    func checkOpen(_ sql: String? = nil) throws(SQLiteError) {
        if isClosed { throw SQLiteError(code: .misuse, message: "the connection is closed", sql: sql) }
    }
}

private struct WeakStatement { weak var value: SQLiteStatement? }

@available(*, unavailable)
extension SQLiteConnection: Sendable {}
