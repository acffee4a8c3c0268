import PowerSyncSQLite

extension PowerSyncError {
    /// Wraps an error of SQLite.
    init(_ error: SQLiteError) {
        let withoutKey = error.sql.flatMap(ShownText.sqlWithoutKey)
        self = .sqliteError(
            extendedResultCode: error.extendedCode, offset: error.offset,
            // It may quote the statement, and so the key.
            message: withoutKey == nil ? error.message : nil, errorString: error.errorString,
            sql: withoutKey ?? error.sql)
    }

    /// What every call after `close` throws.
    static let closed = PowerSyncError.operationFailed(message: "Attempted to use closed PowerSync database")

    /// Runs a body and wraps what SQLite throws in it; other errors pass unchanged.
    static func wrapping<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as SQLiteError {
            throw PowerSyncError(error)
        }
    }
}

extension SQLiteValue {
    /// Takes the value of a query parameter over; nil is NULL.
    init(_ value: PowerSyncDataType?) {
        switch value {
        case .bool(let value): self = .integer(value ? 1 : 0)
        case .string(let value): self = .text(value)
        case .int64(let value): self = .integer(value)
        case .int32(let value): self = .integer(Int64(value))
        case .double(let value): self = .real(value)
        case .data(let value): self = .blob([UInt8](value))
        case nil: self = .null
        }
    }
}
