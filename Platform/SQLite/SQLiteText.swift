import CPowerSyncSQLite

/// What SQLite says of SQL text alone, without a database.
package enum SQLiteText {
    /// Whether a text ends with the end of a statement: with a semicolon that is not in a text, a comment or a trigger.
    package static func isComplete(_ sql: String) -> Bool { sqlite3_complete(sql) != 0 }
}
