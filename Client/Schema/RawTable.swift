import PowerSyncWire

/// An ordinary SQLite table that the app creates and that sync writes to directly.
///
/// The app creates it before connecting, and triggers on it if local writes shall be uploaded.
///
/// ```swift
/// let notes = RawTable(name: "notes", schema: RawTableSchema(), clear: "DELETE FROM notes")
/// let database = PowerSyncDatabase(schema: Schema(notes), dbFilename: "notes.db")
/// try await database.execute("CREATE TABLE IF NOT EXISTS notes (id TEXT NOT NULL PRIMARY KEY, text TEXT)")
/// for operation in ["INSERT", "UPDATE", "DELETE"] {
///     try await database.execute("DROP TRIGGER IF EXISTS notes_\(operation)")
///     try await database.execute(
///         sql: "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
///         parameters: [notes.jsonDescription(), "notes_\(operation)", operation])
/// }
/// try await database.connect(connector: connector, options: nil)
/// ```
public struct RawTable: BaseTableProtocol, Encodable {
    /// The name of the table in the sync configuration.
    public let name: String
    /// How the table looks in SQLite, for statements and triggers that are inferred.
    public let schema: RawTableSchema?
    /// Writes a row; nil to infer it from the table.
    public let put: PendingStatement?
    /// Removes a row; nil to infer it from the table.
    public let delete: PendingStatement?
    /// Removes every row when the database is cleared; nil leaves them, of which the database logs a warning.
    public let clear: String?

    /// Creates a raw table with its own statements.
    public init(name: String, put: PendingStatement, delete: PendingStatement, clear: String? = nil) {
        self.name = name
        schema = nil
        self.put = put
        self.delete = delete
        self.clear = clear
    }

    /// Creates a raw table whose missing statements are inferred from the table.
    public init(
        name: String, schema: RawTableSchema, put: PendingStatement? = nil, delete: PendingStatement? = nil,
        clear: String? = nil
    ) {
        self.name = name
        self.schema = schema
        self.put = put
        self.delete = delete
        self.clear = clear
    }

    /// Encodes the table as it stands in the JSON of a schema.
    public func encode(to encoder: any Encoder) throws { try JsonValue(json).encode(to: encoder) }

    /// Returns the JSON for the SQL function `powersync_create_raw_table_crud_trigger`.
    public func jsonDescription() -> String { json.text }

    var json: JSON {
        var members = [JSONMember("name", .string(name))]
        if let put { members.append(JSONMember("put", put.json)) }
        if let delete { members.append(JSONMember("delete", delete.json)) }
        if let clear { members.append(JSONMember("clear", .string(clear))) }
        if let schema {
            members.append(JSONMember("table_name", .string(schema.tableName ?? name)))
            if let columns = schema.syncedColumns {
                members.append(JSONMember("synced_columns", .array(columns.map { .string($0) })))
            }
            members += schema.options.jsonMembers
        }
        return .object(members)
    }
}

/// How a raw table looks in SQLite.
public struct RawTableSchema: Sendable {
    /// The SQL name of the table; nil if it is that of the raw table.
    public let tableName: String?
    /// The columns that take part in sync; nil for all.
    public let syncedColumns: [String]?
    /// How local writes are treated by the triggers.
    public let options: TableOptions

    /// Creates a description.
    public init(
        tableName: String? = nil, syncedColumns: [String]? = nil, options: TableOptions = TableOptions()
    ) {
        self.tableName = tableName
        self.syncedColumns = syncedColumns
        self.options = options
    }
}

/// A statement whose parameters are taken from a synced row.
public struct PendingStatement: Sendable, Encodable {
    /// The SQL text with one `?` for each parameter.
    public let sql: String
    /// What is bound, in order.
    public let parameters: [PendingStatementParameter]

    /// Creates a statement.
    public init(sql: String, parameters: [PendingStatementParameter]) {
        self.sql = sql
        self.parameters = parameters
    }

    /// Encodes the statement as it stands in the JSON of a schema.
    public func encode(to encoder: any Encoder) throws { try JsonValue(json).encode(to: encoder) }

    var json: JSON {
        .object([
            JSONMember("sql", .string(sql)), JSONMember("params", .array(parameters.map(\.json))),
        ])
    }
}

/// Where a parameter of a statement takes its value from.
public enum PendingStatementParameter: Sendable, Encodable {
    /// The id of the row.
    case id
    /// A column of the row.
    case column(String)
    /// A JSON object of all columns that no other parameter names.
    case rest

    /// Encodes the parameter as it stands in the JSON of a schema.
    public func encode(to encoder: any Encoder) throws { try JsonValue(json).encode(to: encoder) }

    var json: JSON {
        switch self {
        case .id: .string("Id")
        case .column(let name): .object([JSONMember("Column", .string(name))])
        case .rest: .string("Rest")
        }
    }
}
