import PowerSyncSQLite
import PowerSyncWire

/// The errors of the core, with the SQLite codes that the reference uses (client-core 4).
enum CoreError {
    /// An argument has the wrong type or form: code 3091, SQLITE_CONSTRAINT_DATATYPE.
    static func argument(_ message: String) -> SQLiteError {
        SQLiteError(extendedCode: 3091, message: message)
    }

    /// The call does not fit the state: code 21, SQLITE_MISUSE.
    static func state(_ message: String) -> SQLiteError { SQLiteError(code: .misuse, message: message) }

    /// The core gives up: code 4, SQLITE_ABORT.
    static func abort(_ message: String) -> SQLiteError { SQLiteError(code: .abort, message: message) }

    /// JSON in the database is malformed: code 11, SQLITE_CORRUPT.
    static func corrupt(_ message: String) -> SQLiteError { SQLiteError(code: .corrupt, message: message) }

    /// What an operation says that needs the caller's transaction.
    static let noTransaction = state("This function may only be called in transactions.")

    /// Parses JSON that came as an argument.
    static func parseArgument(_ text: String) throws(SQLiteError) -> JSON {
        do { return try JSON.parse(text) } catch { throw argument(error.message) }
    }
}
