#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the SDK throws, and shows in the status of syncing.
///
/// ``code`` tells the kinds of failures apart. No text of an error holds a synced row, a bound parameter, a token or a
/// key; it may hold the SQL text that the app passed.
///
/// ```swift
/// do {
///     try await database.execute("INSERT INTO todos (id, description) VALUES (uuid(), 'Milk')")
/// } catch let error as PowerSyncError where error.code == .databaseFull {
///     print("There is no room for it: \(error)")
/// }
/// ```
public enum PowerSyncError: Error, LocalizedError {
    /// Something other than SQLite failed.
    ///
    /// `message` says in plain words what; `underlyingError` is the cause, if there is one.
    case operationFailed(message: String? = nil, underlyingError: (any Error)? = nil)

    /// SQLite failed.
    ///
    /// `extendedResultCode` is SQLite's, and `offset` the byte of the SQL text at fault. `message` is what
    /// `sqlite3_errmsg` says, and `errorString` what `sqlite3_errstr` says. `sql` is the statement, without its
    /// parameters.
    case sqliteError(
        extendedResultCode: Int32, offset: Int32? = nil, message: String? = nil, errorString: String? = nil,
        sql: String? = nil)

    /// The error in one line.
    public var errorDescription: String? {
        switch self {
        case .operationFailed(let message, let underlying):
            switch (message, underlying.flatMap(Self.text)) {
            case (let message?, let detail?): "\(message): \(detail)"
            case (let message?, nil): message
            case (nil, let detail?): detail
            case (nil, nil): "An unknown error occurred."
            }
        case .sqliteError(let code, let offset, let message, let errorString, let sql):
            "SQLite failure (code \(code))" + (errorString.map { ": \($0)" } ?? "")
                + (offset.map { " at offset \($0)" } ?? "") + (message.map { ", \($0)" } ?? "")
                + (sql.map { " for SQL: \($0)" } ?? "")
        }
    }

    /// What an error below adds to the message of this one.
    private static func text(of error: any Error) -> String? {
        if let cause = error as? ErrorCause { return cause.detail }
        #if canImport(FoundationEssentials)
            return (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
        #else
            return error.localizedDescription
        #endif
    }
}

extension PowerSyncError: CustomStringConvertible {
    /// The error in one line, without row data: an error below it shows what may be logged alone.
    public var description: String {
        guard case .operationFailed(let message, let underlying?) = self, !(underlying is ErrorCause) else {
            return errorDescription ?? "An unknown error occurred."
        }
        return (message.map { "\($0): " } ?? "") + String(describing: underlying)
    }
}
