import CPowerSyncSQLite

/// How a database file is opened.
package struct SQLiteOpenFlags: OptionSet, Sendable {
    /// The bits of sqlite3.h.
    package let rawValue: Int32

    /// Creates flags from SQLite's bits.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Reads and writes, creates the file if it is missing.
    package static let readWriteCreate = SQLiteOpenFlags(rawValue: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    /// Reads and writes a file that exists.
    package static let readWrite = SQLiteOpenFlags(rawValue: SQLITE_OPEN_READWRITE)
    /// Only reads.
    package static let readOnly = SQLiteOpenFlags(rawValue: SQLITE_OPEN_READONLY)
}
