import PowerSyncSQLite
import PowerSyncWire

/// A schema as the core gets it in JSON (client-core 2.1).
struct SchemaDefinition: Sendable, Equatable {
    var tables: [TableDefinition]
    var rawTables: [RawTableDefinition]

    /// Reads the argument of `powersync_replace_schema`; unknown keys are ignored.
    ///
    /// - Throws: code 3091 for what is missing or has another type.
    init(json text: String) throws(SQLiteError) {
        try self.init(try CoreError.parseArgument(text))
    }

    /// Reads a schema that has been parsed.
    init(_ json: JSON) throws(SQLiteError) {
        let reader = SchemaReader(json, "schema")
        tables = try reader.array("tables").mapTyped { json throws(SQLiteError) in try TableDefinition(json) }
        rawTables = try reader.optionalArray("raw_tables").mapTyped { json throws(SQLiteError) in
            try RawTableDefinition(json)
        }
    }
}

/// A table that is kept as JSON and read through a view.
struct TableDefinition: Sendable, Equatable {
    struct Column: Sendable, Equatable {
        var name: String
        /// What goes into the CAST, as it came.
        var type: String
    }

    struct Index: Sendable, Equatable {
        struct Column: Sendable, Equatable {
            var name: String
            var isAscending: Bool
            var type: String
        }

        var name: String
        var columns: [Column]
    }

    var name: String
    var viewName: String
    var columns: [Column]
    var indexes: [Index]
    var options: WriteOptions

    var dataTable: DataTable { DataTable(name: name, isLocal: options.isLocalOnly) }

    init(_ json: JSON) throws(SQLiteError) {
        let reader = SchemaReader(json, "table")
        name = try reader.string("name")
        viewName = try reader.optionalString("view_name") ?? name
        columns = try reader.array("columns").mapTyped { json throws(SQLiteError) in
            let column = SchemaReader(json, "column")
            return Column(name: try column.string("name"), type: try column.string("type"))
        }
        indexes = try reader.optionalArray("indexes").mapTyped { json throws(SQLiteError) in
            let index = SchemaReader(json, "index")
            return Index(
                name: try index.string("name"),
                columns: try index.array("columns").mapTyped { json throws(SQLiteError) in
                    let column = SchemaReader(json, "index column")
                    return Index.Column(
                        name: try column.string("name"), isAscending: try column.bool("ascending"),
                        type: try column.string("type"))
                })
        }
        options = try WriteOptions(reader)
        // The reference builds one SQL function call of them.
        if columns.count > 1999 {
            throw CoreError.argument("too many parameters to json_object_fragment")
        }
    }
}

/// How local writes to a table are recorded.
struct WriteOptions: Sendable, Equatable {
    enum PreviousValues: Sendable, Equatable {
        case none
        case all
        case only([String])
    }

    var isLocalOnly: Bool
    var isInsertOnly: Bool
    var includesMetadata: Bool
    var previousValues: PreviousValues
    var previousOnlyWhenChanged: Bool
    var ignoresEmptyUpdates: Bool

    /// The bits that triggers pass to `powersync_crud` as options.
    var flags: Int {
        (isLocalOnly ? 1 : 0) | (isInsertOnly ? 2 : 0) | (includesMetadata ? 4 : 0)
            | (previousOnlyWhenChanged ? 8 : 0) | (ignoresEmptyUpdates ? 16 : 0)
    }

    init(_ reader: SchemaReader) throws(SQLiteError) {
        isLocalOnly = try reader.optionalBool("local_only")
        isInsertOnly = try reader.optionalBool("insert_only")
        includesMetadata = try reader.optionalBool("include_metadata")
        previousOnlyWhenChanged = try reader.optionalBool("include_old_only_when_changed")
        ignoresEmptyUpdates = try reader.optionalBool("ignore_empty_update")
        switch reader.member("include_old") {
        case nil, .null?, .bool(false)?: previousValues = .none
        case .bool(true)?: previousValues = .all
        case let names?: previousValues = .only(try reader.strings(names, "include_old"))
        }
    }
}
