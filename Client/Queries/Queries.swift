/// What can be asked of a database.
public protocol Queries {
    /// Runs a query now and again after each change of the tables that it reads.
    ///
    /// Each element is the whole result, also if it equals the one before. A consumer that falls behind gets the newest
    /// result only. The stream ends when its task is cancelled or the database closed; an error of the query or the
    /// mapper ends it with that error. One task at a time asks for results: another one that asks meanwhile gets
    /// `operationFailed`. Throws `operationFailed` once the database is closed.
    ///
    /// The tables are those that SQLite opens for the query, also behind views and in subqueries. It does not report
    /// changes of virtual tables (such as FTS5), of tables `WITHOUT ROWID`, of temporary tables and of attached databases:
    /// they do not run the query again. Watch a table that changes with them.
    ///
    /// ```swift
    /// let unfinished = WatchOptions(
    ///     sql: "SELECT description FROM todos WHERE completed = ?", parameters: [false], throttle: 0.1,
    ///     mapper: { try $0.getString(name: "description") })
    /// for try await descriptions in try database.watch(options: unfinished) {
    ///     print(descriptions)
    /// }
    /// ```
    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error>

    /// Runs a callback with the writing connection, without a transaction of its own.
    ///
    /// Each statement is committed by itself, and stays when a later one fails. A transaction that the callback begins it
    /// also ends. One that it leaves open is rolled back: its writes are gone, and nobody is told but the log; what the
    /// callback returned is returned as if all was well. For writes that belong together use
    /// ``writeTransaction(callback:)``.
    ///
    /// The callback is synchronous and runs on a thread of the database. Waiting for the connection can be cancelled, the
    /// callback cannot. There is one writing connection: a write that is asked for inside the callback runs after it, so
    /// a callback that blocks until such a write is over never ends.
    ///
    /// Downloaded data is stored in pieces, a tenth of a second each while the app writes. The step that makes a
    /// checkpoint visible is one transaction: a write that meets it waits about as long as inserting its rows takes.
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R

    /// Runs a callback with a reading connection, one of four.
    ///
    /// The callback is synchronous and runs on a thread of the database, beside writes. Each query sees what was committed
    /// when it began; for several that see the same use ``readTransaction(callback:)``. A callback that blocks until a write
    /// is over may never end: applying a schema waits for all readers, and the write for the schema.
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R
}

extension Queries {
    /// Runs a callback in a transaction of the writing connection: committed when it returns, rolled back when it throws.
    ///
    /// Transactions do not nest, and end with the callback. `BEGIN`, `COMMIT` and `ROLLBACK` inside it are errors; for a part
    /// that can be undone by itself run `SAVEPOINT`, `RELEASE` and `ROLLBACK TO`. Another `writeTransaction` of the database
    /// that is asked for inside the callback runs after it, in a transaction of its own; a callback that blocks until it is
    /// over never ends. Pass the transaction on to functions that write instead.
    ///
    /// ```swift
    /// try await database.writeTransaction { transaction in
    ///     try transaction.execute(sql: "DELETE FROM todos WHERE list_id = ?", parameters: ["l1"])
    ///     try transaction.execute(sql: "DELETE FROM lists WHERE id = ?", parameters: ["l1"])
    /// }
    /// ```
    public func writeTransaction<R>(
        callback: @Sendable @escaping (any Transaction) throws -> R
    ) async throws -> R {
        try await writeLock { try TransactionContext.run(on: $0, callback) }
    }

    /// Runs a callback in a transaction of a reading connection, which sees one state of the data.
    public func readTransaction<R: Sendable>(
        callback: @Sendable @escaping (any Transaction) throws -> R
    ) async throws -> R {
        try await readLock { try TransactionContext.run(on: $0, callback) }
    }

    /// Runs one writing statement and returns the number of changed rows as SQLite counts them (0 for synced tables).
    ///
    /// Of a text that holds several statements only the first one runs. A `BEGIN` is rolled back at once, as by
    /// ``writeLock(callback:)``.
    ///
    /// ```swift
    /// try await database.execute(
    ///     sql: "INSERT INTO todos (id, description, completed) VALUES (uuid(), ?, ?)",
    ///     parameters: ["Milk", false])
    /// ```
    @discardableResult
    public func execute(sql: String, parameters: [(any Sendable)?]?) async throws -> Int64 {
        let parameters = parameters ?? []
        return try await writeLock { try $0.execute(sql: sql, parameters: parameters) }
    }

    /// Returns the first row, mapped; throws `operationFailed` if there is none.
    ///
    /// ```swift
    /// let count = try await database.get(
    ///     sql: "SELECT count(*) FROM todos WHERE completed = ?", parameters: [false],
    ///     mapper: { try $0.getInt(index: 0) })
    /// ```
    public func get<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType {
        let parameters = parameters ?? []
        return try await readLock { try $0.get(sql: sql, parameters: parameters, mapper: mapper) }
    }

    /// Returns all rows, mapped, in their order.
    public func getAll<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> [RowType] {
        let parameters = parameters ?? []
        return try await readLock { try $0.getAll(sql: sql, parameters: parameters, mapper: mapper) }
    }

    /// Returns the first row, mapped; nil if there is none.
    public func getOptional<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType? {
        let parameters = parameters ?? []
        return try await readLock { try $0.getOptional(sql: sql, parameters: parameters, mapper: mapper) }
    }

    /// Runs one writing statement without parameters.
    @discardableResult
    public func execute(_ sql: String) async throws -> Int64 {
        try await execute(sql: sql, parameters: [])
    }

    /// Returns the first row of a query without parameters; throws `operationFailed` if there is none.
    public func get<RowType>(
        _ sql: String, mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType {
        try await get(sql: sql, parameters: [], mapper: mapper)
    }

    /// Returns all rows of a query without parameters.
    public func getAll<RowType>(
        _ sql: String, mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> [RowType] {
        try await getAll(sql: sql, parameters: [], mapper: mapper)
    }

    /// Returns the first row of a query without parameters; nil if there is none.
    public func getOptional<RowType>(
        _ sql: String, mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) async throws -> RowType? {
        try await getOptional(sql: sql, parameters: [], mapper: mapper)
    }

    /// Watches a query with the default throttle.
    public func watch<RowType>(
        sql: String, parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> AsyncThrowingStream<[RowType], any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: parameters, mapper: mapper))
    }

    /// Watches a query without parameters, with the default throttle.
    ///
    /// ```swift
    /// let todos = try database.watch(
    ///     "SELECT description FROM todos", mapper: { try $0.getString(index: 0) })
    /// for try await descriptions in todos {
    ///     print(descriptions)
    /// }
    /// ```
    public func watch<RowType>(
        _ sql: String, mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> AsyncThrowingStream<[RowType], any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: [], mapper: mapper))
    }
}
