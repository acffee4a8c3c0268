/// Which tables a query reads.
enum WatchedTables {
    /// Returns the names of the tables behind a query, those behind views and subqueries included.
    ///
    /// SQLite compiles the query and names the root page of each table and index that it opens. Tables of other
    /// databases (temp) and virtual tables have none here and are not found (client-api 2.8).
    ///
    /// - Parameters:
    ///   - sql: the query.
    ///   - parameters: the values of its placeholders.
    ///   - connection: a reading connection.
    /// - Returns: the tables as SQLite names them, such as `ps_data__users`.
    /// - Throws: `PowerSyncError`; for a query that does not compile, SQLite's, with `EXPLAIN ` before its text.
    static func resolve(
        sql: String, parameters: [(any Sendable)?], on connection: any ConnectionContext
    ) throws -> Set<String> {
        // A query that is only explained does not notice a schema that another process has changed; this one does.
        try connection.execute(sql: "PRAGMA table_info('sqlite_master')", parameters: [])
        let opened = try connection.getAll(sql: "EXPLAIN \(sql)", parameters: parameters) { cursor in
            (
                opcode: try cursor.getString(name: "opcode"), page: try cursor.getInt64(name: "p2"),
                database: try cursor.getInt64(name: "p3")
            )
        }
        let pages = Set(
            opened.filter {
                ($0.opcode == "OpenRead" || $0.opcode == "OpenWrite") && $0.database == 0 && $0.page != 0
            }
            .map(\.page))
        do {
            let names = try connection.getAll(
                sql: """
                    SELECT DISTINCT tbl_name FROM sqlite_master
                    WHERE rootpage IN (SELECT value FROM json_each(?))
                    """,
                parameters: ["[\(pages.map(String.init).joined(separator: ","))]"]
            ) { try $0.getString(index: 0) }
            return Set(names)
        } catch {
            throw PowerSyncError.operationFailed(
                message: "Could not determine watched query tables", underlyingError: error)
        }
    }
}
