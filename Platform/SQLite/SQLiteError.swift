import CPowerSyncSQLite

/// A failure reported by SQLite or by this bridge.
///
/// `description` holds the message alone; the SQL text is for `debugDescription`, as is the row that somebody above
/// names as `context`. Bound values appear nowhere else.
package struct SQLiteError: Error, Equatable {
    /// A primary result code of SQLite.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The number as in sqlite3.h.
        package let rawValue: Int32

        /// Creates a code from SQLite's number, primary or extended.
        package init(rawValue: Int32) { self.rawValue = rawValue & 0xff }

        /// SQL error or missing object (1).
        package static let error = Code(rawValue: SQLITE_ERROR)
        /// A failure inside SQLite or this bridge (2).
        package static let `internal` = Code(rawValue: SQLITE_INTERNAL)
        /// A callback asked to stop (4).
        package static let abort = Code(rawValue: SQLITE_ABORT)
        /// Another connection holds the lock (5).
        package static let busy = Code(rawValue: SQLITE_BUSY)
        /// A table is locked within this process (6).
        package static let locked = Code(rawValue: SQLITE_LOCKED)
        /// A write on a read-only connection (8).
        package static let readOnly = Code(rawValue: SQLITE_READONLY)
        /// The statement was interrupted (9).
        package static let interrupt = Code(rawValue: SQLITE_INTERRUPT)
        /// The disk failed (10).
        package static let io = Code(rawValue: SQLITE_IOERR)
        /// The file, or JSON in it, is malformed (11).
        package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        /// The disk is full (13).
        package static let full = Code(rawValue: SQLITE_FULL)
        /// The file cannot be opened (14).
        package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
        /// A constraint, or an argument of a function, does not hold (19).
        package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
        /// A value has the wrong type (20).
        package static let mismatch = Code(rawValue: SQLITE_MISMATCH)
        /// The interface was used wrongly (21).
        package static let misuse = Code(rawValue: SQLITE_MISUSE)
        /// Text does not fit, for instance because of a NUL in it (24).
        package static let format = Code(rawValue: SQLITE_FORMAT)
        /// A parameter or column number is out of range (25).
        package static let range = Code(rawValue: SQLITE_RANGE)
        /// The file is no database (26).
        package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
    }

    /// The primary code, for `switch`.
    package var code: Code { Code(rawValue: extendedCode) }
    /// The extended code; equals the primary one where SQLite has no finer one.
    package let extendedCode: Int32
    /// What went wrong (`sqlite3_errmsg`).
    package let message: String
    /// Where in the SQL text, in bytes, if SQLite knows.
    package let offset: Int32?
    /// The SQL text, if the failure belongs to a statement.
    package let sql: String?
    /// What was done with which row, for `debugDescription` alone: it may hold an app's data.
    package let context: String?
    /// Whether the message may quote values, bound or stored: functions and virtual tables do so as a statement runs.
    package let mayQuoteValues: Bool

    /// Creates an error of this bridge or of a function written in Swift.
    package init(code: Code, message: String, sql: String? = nil) {
        self.init(extendedCode: code.rawValue, message: message, sql: sql)
    }

    /// Creates an error with an extended code.
    package init(
        extendedCode: Int32, message: String, offset: Int32? = nil, sql: String? = nil,
        context: String? = nil,
        mayQuoteValues: Bool = false
    ) {
        self.extendedCode = extendedCode
        self.message = message
        self.offset = offset
        self.sql = sql
        self.context = context
        self.mayQuoteValues = mayQuoteValues
    }

    /// The general text of the code (`sqlite3_errstr`).
    package var errorString: String {
        sqlite3_errstr(extendedCode).map { String(cString: $0) } ?? "unknown error"
    }

    /// Whether a statement begins or ends a transaction, and so knows no values.
    private static func beginsOrEnds(_ sql: String) -> Bool {
        let word = SQLiteStatement.words(of: sql, limit: 1).first ?? ""
        return ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"].contains(word)
    }

    /// Messages of SQLite that are these texts, whatever the values are: of functions, windows, VACUUM, ALTER TABLE, triggers.
    private static let fixedMessages: Set = [
        "malformed JSON", "JSON cannot hold BLOB values", "json_object() labels must be TEXT",
        "json_object() requires an even number of arguments",
        "json_insert() needs an odd number of arguments", "json_replace() needs an odd number of arguments",
        "json_set() needs an odd number of arguments", "integer overflow",
        "ESCAPE expression must be a single character", "LIKE or GLOB pattern too complex",
        "argument of ntile must be a positive integer",
        "second argument to nth_value must be a positive integer",
        "frame starting offset must be a non-negative integer",
        "frame ending offset must be a non-negative integer",
        "frame starting offset must be a non-negative number",
        "frame ending offset must be a non-negative number", "cannot VACUUM from within a transaction",
        "cannot VACUUM - SQL statements in progress", "non-text filename", "output file already exists",
        "Cannot add a NOT NULL column with default value NULL",
        "Cannot add a column with non-constant default",
        "Cannot add a REFERENCES column with non-NULL default value", "CHECK constraint failed",
        "NOT NULL constraint failed", "type mismatch on DEFAULT", "too many levels of trigger recursion",
        "cannot change into wal mode from within a transaction",
        "cannot change out of wal mode from within a transaction",
    ]

    /// Reads the error of the call that has just failed; `result` stands in if the connection has none.
    static func last(
        _ connection: OpaquePointer?, result: Int32, sql: String? = nil, isRunning: Bool = false
    ) -> SQLiteError {
        let extended = connection.map { sqlite3_extended_errcode($0) } ?? result
        let offset = connection.map { sqlite3_error_offset($0) } ?? -1
        let isFresh = extended & 0xff == result & 0xff
        let text =
            isFresh
            ? connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
            : sqlite3_errstr(result).map { String(cString: $0) }
        let message = text ?? "unknown error"
        return SQLiteError(
            extendedCode: isFresh ? extended : result, message: message,
            offset: isFresh && offset >= 0 ? offset : nil, sql: sql,
            mayQuoteValues: isRunning && isFresh && extended & 0xff == SQLITE_ERROR
                && !fixedMessages.contains(message) && !(sql.map(beginsOrEnds) ?? false))
    }
}

extension SQLiteError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The code and the message.
    package var description: String { "SQLite error \(extendedCode): \(message)" }

    /// The description with the SQL text, the place in it, and the context.
    package var debugDescription: String {
        var text = description
        if let context { text += " (context: \(context))" }
        if let offset { text += " at offset \(offset)" }
        if let sql { text += " in: \(sql)" }
        return text
    }
}
