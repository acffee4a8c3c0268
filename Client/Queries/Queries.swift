/// What can be asked of a database.
public protocol Queries {
    /// Runs a query now and again after each change of the tables that it reads.
    ///
    /// Each element is the whole result. A consumer that falls behind gets the newest result only. The
    /// stream ends
    /// when its task is cancelled or the database closed; an error of the query or the mapper ends it with
    /// that error.
    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error>

    /// Runs a callback with the writing connection, without a transaction of its own.
    ///
    /// The callback is synchronous and runs on a thread of the database; waiting for the connection can be
    /// cancelled,
    /// the callback cannot. A transaction that it leaves open is rolled back.
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R

    /// Runs a callback with a reading connection.
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R
}

extension Queries {
    /// Runs a callback in a transaction of the writing connection: committed when it returns, rolled back
    /// when it throws.
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

    /// Runs one writing statement and returns the number of changed rows as SQLite counts them (0 for
    /// synced tables).
    @discardableResult
    public func execute(sql: String, parameters: [(any Sendable)?]?) async throws -> Int64 {
        let parameters = parameters ?? []
        return try await writeLock { try $0.execute(sql: sql, parameters: parameters) }
    }

    /// Returns the first row, mapped; throws `operationFailed` if there is none.
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
    public func watch<RowType>(
        _ sql: String, mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> AsyncThrowingStream<[RowType], any Error> {
        try watch(options: WatchOptions(sql: sql, parameters: [], mapper: mapper))
    }
}
