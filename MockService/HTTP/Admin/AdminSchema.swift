import PowerSyncSyncRules
import PowerSyncWire

/// The tables of the source as the route `schema` tells them (service 1.10).
enum AdminSchema {
    /// The answer.
    ///
    /// - Parameters:
    ///   - schema: The tables, in the order of their schemas.
    ///   - id: What the configuration calls its connection.
    ///   - tag: And the connection's tag.
    /// - Returns: The one connection with its schemas.
    static func json(_ schema: SourceSchema, id: String, tag: String) -> JSON {
        var schemas: [(name: ExactText, tables: [JSON])] = []
        for table in schema.tables {
            if schemas.last?.name != table.schema { schemas.append((table.schema, [])) }
            schemas[schemas.count - 1].tables.append(
                .present([
                    "name": .string(table.name.text), "columns": .array(table.columns.map(column)),
                ]))
        }
        let all = schemas.map { schema in
            JSON.present(["name": .string(schema.name.text), "tables": .array(schema.tables)])
        }
        let options = CompileOptions()
        return .present([
            "connections": .array([
                .present(["id": .string(id), "tag": .string(tag), "schemas": .array(all)])
            ]),
            "defaultConnectionTag": .string(options.defaultTag.text),
            "defaultSchema": .string(options.defaultSchema.text),
        ])
    }

    private static func column(_ column: SourceSchema.Column) -> JSON {
        let name = column.declaredType ?? column.sourceType ?? ""
        return .present([
            "name": .string(column.name.text), "sqlite_type": .integer(number(of: column.type)),
            "internal_type": .string(name), "type": .string(name),
            "pg_type": .string(column.sourceType ?? ""),
        ])
    }

    /// The number that the real service has for a type, as recorded.
    private static func number(of type: ValueType) -> Int {
        switch type {
        case .blob: 1
        case .integer: 4
        case .real: 8
        default: 2
        }
    }
}
