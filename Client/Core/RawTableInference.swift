import PowerSyncSQLite

/// What SQLite knows about a raw table, and the statements that follow from it (client-core 3.3).
struct RawTableInference: Equatable {
    let put: RawStatement
    let delete: RawStatement
    let tableName: String
    /// The columns that take part in sync, without the id.
    let columns: [String]

    /// Asks SQLite for the columns.
    ///
    /// - Throws: code 3091 if the definition names no table, or one that is missing or has no id.
    init(_ table: RawTableDefinition, on connection: SQLiteConnection) throws {
        guard let name = table.tableName else {
            throw CoreError.argument("Raw table \(table.name) has no local name")
        }
        let all = try connection.query("SELECT name FROM pragma_table_info(?)", [.text(name)]) {
            $0.string(0)
        }
        if all.isEmpty { throw CoreError.argument("Could not find \(name) in local schema.") }
        guard all.contains("id") else { throw CoreError.argument("Table \(name) has no id column.") }
        tableName = name
        columns = all.filter { $0 != "id" && (table.syncedColumns?.contains($0) ?? true) }
        put = Self.upsert(name, columns)
        delete = RawStatement(
            sql: "DELETE FROM \(SQLText.identifier(name)) WHERE id = ?", parameters: [.id])
    }

    private static func upsert(_ name: String, _ columns: [String]) -> RawStatement {
        let names = columns.map(SQLText.identifier)
        let values = (1...(columns.count + 1)).map { "?\($0)" }
        // With the id alone there is nothing to update.
        let assignments = zip(names, values.dropFirst()).map { "\($0) = \($1)" }
        let action = assignments.isEmpty ? "NOTHING" : "UPDATE SET \(assignments.joined(separator: ", "))"
        return RawStatement(
            sql: "INSERT INTO \(SQLText.identifier(name))(\((["id"] + names).joined(separator: ", "))) "
                + "VALUES (\(values.joined(separator: ", "))) ON CONFLICT (id) DO \(action)",
            parameters: [.id] + columns.map { .column($0) })
    }
}

/// Inferred statements, kept until the schema of the database changes.
struct RawTableInferenceCache {
    private var version: Int64?
    private var tables: [String: (definition: RawTableDefinition, inference: RawTableInference)] = [:]

    mutating func inference(
        for table: RawTableDefinition, on connection: SQLiteConnection
    ) throws -> RawTableInference {
        let current = try connection.one("PRAGMA schema_version") { $0.int64(0) }
        if current != version {
            tables = [:]
            version = current
        }
        if let known = tables[table.name], known.definition == table { return known.inference }
        let inference = try RawTableInference(table, on: connection)
        tables[table.name] = (table, inference)
        return inference
    }
}
