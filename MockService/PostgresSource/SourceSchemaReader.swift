import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

/// Reads the tables of a database, with the types that values of their columns have for clients (service 1.10, 6.13).
package enum SourceSchemaReader {
    /// Reads all tables that could be replicated: ordinary and partitioned ones, but not those of Postgres itself and
    /// not temporary ones.
    ///
    /// - Parameter connection: A connection to the database.
    /// - Returns: The tables in the order of schemas and names, their columns in their own order.
    /// - Throws: `PostgresError`, `CancellationError`.
    package static func read(_ connection: PostgresConnection) async throws -> SourceSchema {
        let types = try await SourceCatalog(connection).types()
        let rows = try await connection.query(
            """
            SELECT n.nspname, c.relname, a.attname, a.atttypid, t.typname, c.oid,
                format_type(a.atttypid, a.atttypmod)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_type t ON t.oid = a.atttypid
            WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
                AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
            ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
            """)
        var tables: [SourceSchema.Table] = []
        var columns: [SourceSchema.Column] = []
        for row in 0..<rows.rowCount {
            if let name = rows[row, 2] {
                let type = types.type(rows[row, 3].flatMap { UInt32($0) } ?? 0)
                columns.append(
                    SourceSchema.Column(
                        name: ExactText(name), type: type.valueType, sourceType: rows[row, 4],
                        declaredType: rows[row, 6]))
            }
            let next = row + 1
            let goesOn = next < rows.rowCount && rows[next, 5] == rows[row, 5]
            guard !goesOn, let schema = rows[row, 0], let table = rows[row, 1] else { continue }
            tables.append(
                SourceSchema.Table(schema: ExactText(schema), name: ExactText(table), columns: columns))
            columns = []
        }
        return SourceSchema(tables)
    }
}

extension PostgresType {
    /// What values become, NULL aside (service 6.13).
    package var valueType: ValueType {
        switch self {
        case .boolean, .integer: .integer
        case .real: .real
        case .bytes: .blob
        case .text, .name, .json, .date, .time, .timestamp, .timestampWithZone, .logPosition, .array,
            .composite, .range, .multirange:
            .text
        }
    }
}
