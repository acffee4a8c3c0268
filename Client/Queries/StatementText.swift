import CPowerSyncSQLite

/// The SQL text that an app hands over; pure.
enum StatementText {
    /// Returns the first statement of a text: further ones are ignored (client-api 1.4).
    static func first(of sql: String) -> String {
        var start = sql.startIndex
        while let semicolon = sql[start...].firstIndex(of: ";") {
            let end = sql.index(after: semicolon)
            if sql[end...].allSatisfy(\.isWhitespace) { return sql }
            let candidate = String(sql[..<end])
            // SQLite knows whether the semicolon stands in a text, a comment or the body of a trigger.
            if sqlite3_complete(candidate) != 0 { return candidate }
            start = end
        }
        return sql
    }
}
