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

    /// The error of a function, which begins with its name; that of a statement within it keeps its code.
    static func described(_ error: SQLiteError, in function: String) -> SQLiteError {
        guard let sql = error.sql else {
            return SQLiteError(
                extendedCode: error.extendedCode, message: "\(function): \(error.message)",
                context: error.context)
        }
        return SQLiteError(
            extendedCode: error.extendedCode,
            message: """
                \(function): statement \(sql): internal SQLite call returned \(name(of: error.code)): \(error.message)
                """, context: error.context)
    }

    /// The name of a primary code as in sqlite3.h, without SQLITE_.
    private static func name(of code: SQLiteError.Code) -> String {
        switch code {
        case .error: "ERROR"
        case .internal: "INTERNAL"
        case .abort: "ABORT"
        case .busy: "BUSY"
        case .locked: "LOCKED"
        case .readOnly: "READONLY"
        case .interrupt: "INTERRUPT"
        case .io: "IOERR"
        case .corrupt: "CORRUPT"
        case .full: "FULL"
        case .cannotOpen: "CANTOPEN"
        case .constraint: "CONSTRAINT"
        case .mismatch: "MISMATCH"
        case .misuse: "MISUSE"
        default: "code \(code.rawValue)"
        }
    }

    /// Parses JSON that came as an argument.
    static func parseArgument(_ text: String) throws(SQLiteError) -> JSON {
        do { return try JSON.parse(text) } catch { throw argument(error.message) }
    }
}
