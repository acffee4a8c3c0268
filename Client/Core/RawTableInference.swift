import PowerSyncSQLite
import PowerSyncWire

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
        let synced = table.syncedColumns.map { Set($0.map { ExactText($0) }) }
        columns = all.filter { $0 != "id" && (synced?.contains(ExactText($0)) ?? true) }
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
    private var tables: [ExactText: (definition: RawTableDefinition, inference: RawTableInference)] = [:]

    mutating func inference(
        for table: RawTableDefinition, on connection: SQLiteConnection
    ) throws -> RawTableInference {
        let current = try connection.one("PRAGMA schema_version") { $0.int64(0) }
        if current != version {
            tables = [:]
            version = current
        }
        let name = ExactText(table.name)
        if let known = tables[name], Self.nameTheSame(known.definition, table) { return known.inference }
        let inference = try RawTableInference(table, on: connection)
        tables[name] = (table, inference)
        return inference
    }

    /// Whether two definitions name the same table and columns, of which the same follows.
    private static func nameTheSame(_ one: RawTableDefinition, _ other: RawTableDefinition) -> Bool {
        one.tableName.map(ExactText.init) == other.tableName.map(ExactText.init)
            && one.syncedColumns?.map(ExactText.init) == other.syncedColumns?.map(ExactText.init)
    }
}
