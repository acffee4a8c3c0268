import PowerSync
import PowerSyncWire

/// The file that names the tables of a client: the JSON that the core of all PowerSync clients takes (client-core 2.1,
/// client-api 1.10).
package enum SchemaFile {
    private static let options = [
        "local_only", "insert_only", "include_metadata", "include_old", "include_old_only_when_changed",
        "ignore_empty_update",
    ]

    /// Reads a file.
    ///
    /// - Parameter path: the file.
    /// - Returns: the schema.
    /// - Throws: `StackError` with `.file`, which names the place in the file.
    package static func read(_ path: String) throws(StackError) -> Schema {
        let text = try TextFile.read(path)
        do {
            return try schema(JSON.parse(text, limits: JSONLimits(refusesDuplicateNames: true)))
        } catch {
            throw StackError(.file, "\(path): \(error)")
        }
    }

    /// Takes a schema over.
    ///
    /// - Parameter json: the content of a file.
    /// - Returns: the schema.
    /// - Throws: `ClientError` for what is missing, of another type or unknown.
    package static func schema(_ json: JSON) throws(ClientError) -> Schema {
        let fields = try JSONFields(json, known: ["tables", "raw_tables"])
        var tables: [Table] = []
        for (json, place) in try fields.elements("tables") { tables.append(try table(json, place)) }
        var rawTables: [RawTable] = []
        for (json, place) in try fields.optionalElements("raw_tables") {
            rawTables.append(try rawTable(json, place))
        }
        return Schema(tables: tables, rawTables: rawTables)
    }

    // MARK: Tables

    private static func table(_ json: JSON, _ place: String) throws(ClientError) -> Table {
        let fields = try JSONFields(
            json, at: place, known: ["name", "view_name", "columns", "indexes"] + options)
        var columns: [Column] = []
        for (json, place) in try fields.elements("columns") {
            let column = try JSONFields(json, at: place, known: ["name", "type"])
            columns.append(Column(name: try column.string("name"), type: try type(of: column)))
        }
        var indexes: [Index] = []
        for (json, place) in try fields.optionalElements("indexes") {
            indexes.append(try index(json, place, of: columns))
        }
        return Table(
            name: try fields.string("name"), columns: columns, indexes: indexes,
            localOnly: try fields.optionalBool("local_only"),
            insertOnly: try fields.optionalBool("insert_only"),
            viewNameOverride: try fields.optionalString("view_name"),
            trackMetadata: try fields.optionalBool("include_metadata"),
            trackPreviousValues: try previousValues(fields),
            ignoreEmptyUpdates: try fields.optionalBool("ignore_empty_update"))
    }

    /// The core puts the word into a CAST, where its case makes no difference.
    private static func type(of column: JSONFields) throws(ClientError) -> ColumnData {
        switch try column.string("type").lowercased() {
        case "text": .text
        case "integer": .integer
        case "real": .real
        default: throw column.expected("text, integer or real", "type")
        }
    }

    private static func index(
        _ json: JSON, _ place: String, of columns: [Column]
    ) throws(ClientError) -> Index {
        let fields = try JSONFields(json, at: place, known: ["name", "columns"])
        var indexed: [any IndexedColumnProtocol] = []
        for (json, place) in try fields.elements("columns") {
            let column = try JSONFields(json, at: place, known: ["name", "ascending", "type"])
            let name = try column.string("name")
            guard let type = columns.first(where: { $0.name == name })?.type else {
                throw column.expected("a column of the table", "name")
            }
            // The SDK takes it from the column: an index over other values has no use.
            guard try self.type(of: column) == type else {
                throw column.expected("the type of the column, \(type)", "type")
            }
            indexed.append(IndexedColumn(column: name, ascending: try column.bool("ascending")))
        }
        return Index(name: try fields.string("name"), columns: indexed)
    }

    /// Without `include_old` nothing is tracked, whatever else is said about it.
    private static func previousValues(
        _ fields: JSONFields
    ) throws(ClientError) -> TrackPreviousValuesOptions? {
        let onlyWhenChanged = try fields.optionalBool("include_old_only_when_changed")
        switch fields.member("include_old") {
        case nil, .bool(false)?: return nil
        case .bool(true)?: return TrackPreviousValuesOptions(onlyWhenChanged: onlyWhenChanged)
        case .array?:
            return TrackPreviousValuesOptions(
                columnFilter: try fields.strings("include_old"), onlyWhenChanged: onlyWhenChanged)
        default: throw fields.expected("true, false or an array of columns", "include_old")
        }
    }

    // MARK: Raw tables

    private static func rawTable(_ json: JSON, _ place: String) throws(ClientError) -> RawTable {
        let described = ["table_name", "synced_columns"] + options
        let fields = try JSONFields(json, at: place, known: ["name", "put", "delete", "clear"] + described)
        let name = try fields.string("name")
        let put = try statement(fields, "put")
        let delete = try statement(fields, "delete")
        let clear = try fields.optionalString("clear")
        if described.contains(where: { fields.member($0) != nil }) {
            let columns = fields.member("synced_columns") == nil ? nil : try fields.strings("synced_columns")
            let schema = RawTableSchema(
                tableName: try fields.optionalString("table_name"), syncedColumns: columns,
                options: TableOptions(
                    localOnly: try fields.optionalBool("local_only"),
                    insertOnly: try fields.optionalBool("insert_only"),
                    trackMetadata: try fields.optionalBool("include_metadata"),
                    trackPreviousValues: try previousValues(fields),
                    ignoreEmptyUpdates: try fields.optionalBool("ignore_empty_update")))
            return RawTable(name: name, schema: schema, put: put, delete: delete, clear: clear)
        }
        guard let put else { throw fields.expected("a statement, or table_name to infer it from", "put") }
        guard let delete else {
            throw fields.expected("a statement, or table_name to infer it from", "delete")
        }
        return RawTable(name: name, put: put, delete: delete, clear: clear)
    }

    private static func statement(
        _ fields: JSONFields, _ name: String
    ) throws(ClientError) -> PendingStatement? {
        guard let json = fields.member(name) else { return nil }
        let statement = try JSONFields(json, at: fields.place(of: name), known: ["sql", "params"])
        var parameters: [PendingStatementParameter] = []
        for (json, place) in try statement.elements("params") {
            switch json {
            case .string("Id"): parameters.append(.id)
            case .string("Rest"): parameters.append(.rest)
            default:
                guard json.objectMembers != nil else {
                    throw ClientError(#"\#(place): expected "Id", "Rest" or {"Column": name}"#)
                }
                let column = try JSONFields(json, at: place, known: ["Column"])
                parameters.append(.column(try column.string("Column")))
            }
        }
        return PendingStatement(sql: try statement.string("sql"), parameters: parameters)
    }
}
