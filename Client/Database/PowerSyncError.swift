import Foundation

/// What the SDK throws.
public enum PowerSyncError: Error, LocalizedError {
    /// Something other than SQLite failed.
    case operationFailed(message: String? = nil, underlyingError: (any Error)? = nil)

    /// SQLite failed.
    ///
    /// `extendedResultCode` is SQLite's; `offset` the byte of the SQL text at fault; `message` what
    /// `sqlite3_errmsg`
    /// says, `errorString` what `sqlite3_errstr` says; `sql` the statement, whose parameters are never part
    /// of it.
    case sqliteError(
        extendedResultCode: Int32, offset: Int32? = nil, message: String? = nil, errorString: String? = nil,
        sql: String? = nil)

    /// The error in one line (client-api 1.16).
    public var errorDescription: String? {
        switch self {
        case .operationFailed(let message, let underlying):
            switch (message, underlying) {
            case (let message?, let underlying?): "\(message): \(underlying.localizedDescription)"
            case (let message?, nil): message
            case (nil, let underlying?): underlying.localizedDescription
            case (nil, nil): "An unknown error occurred."
            }
        case .sqliteError(let code, let offset, let message, let errorString, let sql):
            "SQLite failure (code \(code))" + (errorString.map { ": \($0)" } ?? "")
                + (offset.map { " at offset \($0)" } ?? "") + (message.map { ", \($0)" } ?? "")
                + (sql.map { " for SQL: \($0)" } ?? "")
        }
    }
}

extension PowerSyncError: CustomStringConvertible {
    /// The error in one line, without row data: an error below it shows what may be logged alone.
    public var description: String {
        guard case .operationFailed(let message, let underlying?) = self else {
            return errorDescription ?? "An unknown error occurred."
        }
        return (message.map { "\($0): " } ?? "") + String(describing: underlying)
    }
}
