import PowerSyncSQLite
import PowerSyncWire

/// Brings tables, indexes and views of a database in line with a schema (client-core 2.8).
package enum SchemaApplication {
    /// Migrates the database and applies a schema; an identical schema changes nothing.
    ///
    /// - Parameters:
    ///   - json: The schema, as for `powersync_replace_schema`.
    ///   - connection: The writer, in a transaction.
    /// - Throws: code 21 outside a transaction, 3091 for a malformed schema, and SQLite's errors.
    package static func apply(json: String, on connection: SQLiteConnection) throws {
        let core = try CoreExtension.of(connection)
        try core.requireTransaction()
        let schema = try SchemaDefinition(json: json)
        try CoreMigrations.migrate(connection)
        try applyTables(schema.tables, connection)
        let sql = ViewSQL(escapesPaths: try escapesPaths(connection))
        try applyIndexes(schema.tables.flatMap { sql.createIndexes($0) }, connection)
        try applyViews(schema.tables, sql, connection)
        core.rawTables = schema.rawTables
    }

    private static func applyTables(_ tables: [TableDefinition], _ connection: SQLiteConnection) throws {
        var existing = Set(try DataTable.all(on: connection))
        // First what goes: SQLite takes names for equal that differ in case alone, the service does not.
        for table in existing.subtracting(tables.map(\.dataTable)).sorted(by: {
            $0.internalName < $1.internalName
        }) {
            let source = SQLText.identifier(table.internalName)
            if !table.isLocal {
                try connection.run(
                    "INSERT INTO ps_untyped(type, id, data) SELECT ?, id, data FROM \(source)",
                    [.text(table.name)])
            }
            try connection.run("DROP TABLE \(source)")
        }
        for data in tables.map(\.dataTable) where existing.insert(data).inserted {
            try connection.run(ViewSQL.createTable(data))
            if data.isLocal { continue }
            let target = SQLText.identifier(data.internalName)
            try connection.run(
                "INSERT INTO \(target)(id, data) SELECT id, data FROM ps_untyped WHERE type = ?",
                [.text(data.name)])
            try connection.run("DELETE FROM ps_untyped WHERE type = ?", [.text(data.name)])
        }
    }

    private static func applyIndexes(
        _ wanted: [(name: String, sql: String)], _ connection: SQLiteConnection
    ) throws {
        var existing: [ExactText: ExactText] = [:]
        try connection.forEach(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND name GLOB 'ps_data_*'"
        ) { existing[ExactText($0.string(0))] = ExactText($0.string(1)) }
        let expected = Dictionary(
            wanted.map { (ExactText($0.name), ExactText($0.sql)) }, uniquingKeysWith: { $1 })
        for (name, sql) in existing.sorted(by: { $0.key.text < $1.key.text }) where expected[name] != sql {
            try dropIndex(name.text, connection)
        }
        for index in wanted where existing[ExactText(index.name)] != ExactText(index.sql) {
            try connection.run(index.sql)
        }
    }

    private static func dropIndex(_ name: String, _ connection: SQLiteConnection) throws {
        try connection.run("DROP INDEX \(SQLText.identifier(name))")
    }

    private static func applyViews(
        _ tables: [TableDefinition], _ sql: ViewSQL, _ connection: SQLiteConnection
    ) throws {
        var existing = Dictionary(
            try ManagedView.all(on: connection).map { (SQLText.folded($0.name), $0) },
            uniquingKeysWith: { $1 })
        for table in tables {
            let triggers = TriggerSQL(table: table)
            let wanted = ManagedView(
                name: table.viewName, sql: sql.createView(table),
                delete: triggers.delete, insert: [triggers.insert], update: triggers.update.map { [$0] } ?? []
            )
            if existing.removeValue(forKey: SQLText.folded(table.viewName)) == wanted { continue }
            try dropView(table.viewName, connection)
            for statement in [wanted.sql] + wanted.delete + wanted.insert + wanted.update {
                try connection.run(statement)
            }
        }
        for name in existing.values.map(\.name).sorted() { try dropView(name, connection) }
    }

    private static func dropView(_ name: String, _ connection: SQLiteConnection) throws {
        try connection.run("DROP VIEW IF EXISTS \(SQLText.identifier(name))")
    }

    /// Asks this SQLite how it compares the names in a JSON path (client-core 1.7).
    private static func escapesPaths(_ connection: SQLiteConnection) throws -> Bool {
        try connection.one(#"SELECT json_extract('{"a\"":1}', '$.a"') IS NULL"#) { $0.int64(0) } == 1
    }
}
