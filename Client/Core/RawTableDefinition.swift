import PowerSyncSQLite
import PowerSyncWire

/// A raw table as the core gets it in JSON (client-core 3.1).
package struct RawTableDefinition: Sendable, Equatable {
    /// The type of the synced rows that go into this table.
    package let name: String
    let put: RawStatement?
    let delete: RawStatement?
    let clear: String?
    /// Its name in SQLite.
    let tableName: String?
    let syncedColumns: [String]?
    let options: WriteOptions

    init(_ json: JSON) throws(SQLiteError) {
        let reader = SchemaReader(json, "raw table")
        name = try reader.string("name")
        put = try Self.statement(reader, "put")
        delete = try Self.statement(reader, "delete")
        clear = try reader.optionalString("clear")
        tableName = try reader.optionalString("table_name")
        if let columns = reader.member("synced_columns"), !columns.isNull {
            syncedColumns = try reader.strings(columns, "synced_columns")
        } else {
            syncedColumns = nil
        }
        options = try WriteOptions(reader)
    }

    private static func statement(_ reader: SchemaReader, _ name: String) throws(SQLiteError) -> RawStatement?
    {
        guard let json = reader.member(name), !json.isNull else { return nil }
        return try RawStatement(json)
    }
}

/// A statement whose parameters come from a synced row.
package struct RawStatement: Sendable, Equatable {
    /// Where a parameter comes from.
    package enum Parameter: Sendable, Equatable {
        /// The id of the row.
        case id
        /// A member of the row's JSON.
        case column(String)
        /// All members that no other parameter names, as a JSON object.
        case rest
    }

    /// The SQL text.
    package let sql: String
    /// The sources of its parameters, in order.
    package let parameters: [Parameter]

    init(sql: String, parameters: [Parameter]) {
        self.sql = sql
        self.parameters = parameters
    }

    init(_ json: JSON) throws(SQLiteError) {
        let reader = SchemaReader(json, "statement")
        sql = try reader.string("sql")
        parameters = try reader.array("params").mapTyped { json throws(SQLiteError) in
            switch json {
            case .string("Id"): return .id
            case .string("Rest"): return .rest
            default:
                guard let column = json["Column"]?.stringValue else {
                    throw CoreError.argument("expected Id, Rest or a Column as parameter of a statement")
                }
                return .column(column)
            }
        }
    }
}
