import PowerSyncWire

/// The tables that an app reads and writes.
public protocol SchemaProtocol: Sendable {
    /// The tables that are kept as JSON and read through views.
    var tables: [Table] { get }
    /// The tables that the app creates itself.
    var rawTables: [RawTable] { get }

    /// Checks names and options.
    ///
    /// A database calls it when it gets the schema, and logs what is thrown as a warning: it uses the schema
    /// nevertheless, as far as SQLite takes it. An app that wants to know calls it itself, in a test for example.
    func validate() throws
}

/// The tables that an app reads and writes.
///
/// A view exists for each table; no migration is needed when the schema changes.
///
/// ```swift
/// let schema = Schema(
///     Table(name: "lists", columns: [.text("name"), .text("created_at")]),
///     Table(
///         name: "todos", columns: [.text("list_id"), .text("description"), .integer("completed")],
///         indexes: [.ascending(name: "list", column: "list_id")])
/// )
/// ```
public struct Schema: SchemaProtocol, Encodable {
    /// The tables that are kept as JSON and read through views.
    public let tables: [Table]
    /// The tables that the app creates itself.
    public let rawTables: [RawTable]

    /// Creates a schema.
    public init(tables: [Table], rawTables: [RawTable] = []) {
        self.tables = tables
        self.rawTables = rawTables
    }

    /// Creates a schema of ``Table`` and ``RawTable`` values in any order; no other type may be among them.
    public init(_ tables: any BaseTableProtocol...) {
        for table in tables {
            precondition(
                table is Table || table is RawTable, "\(type(of: table)) is neither Table nor RawTable")
        }
        self.init(
            tables: tables.compactMap { $0 as? Table }, rawTables: tables.compactMap { $0 as? RawTable })
    }

    /// Checks names and options; a database logs what is thrown as a warning, and uses the schema nevertheless.
    ///
    /// - Throws: ``SchemaError`` or ``TableError``, for the first table that breaks a rule.
    public func validate() throws {
        var names: Set<String> = []
        for table in tables {
            if !names.insert(table.name).inserted { throw SchemaError.duplicateTableName(table.name) }
            try table.validate()
        }
        for table in rawTables {
            guard let schema = table.schema else { continue }
            let name = schema.tableName ?? table.name
            if !names.insert(name).inserted { throw SchemaError.duplicateTableName(name) }
        }
    }

    /// Encodes the schema in the JSON that all PowerSync clients have for one.
    public func encode(to encoder: any Encoder) throws { try JsonValue(try json()).encode(to: encoder) }
}

/// What is wrong with a schema as a whole.
public enum SchemaError: Error {
    /// Two tables have one name.
    case duplicateTableName(String)
}

extension SchemaProtocol {
    /// The schema as the core reads it, the argument of `powersync_replace_schema` (client-api 1.10).
    ///
    /// - Throws: `PowerSyncError` if an index names a column that its table lacks.
    func json() throws -> JSON {
        .object([
            JSONMember("tables", .array(try tables.map { try $0.json() })),
            JSONMember("raw_tables", .array(rawTables.map(\.json))),
        ])
    }
}
