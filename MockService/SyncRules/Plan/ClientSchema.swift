import PowerSyncWire

/// The tables that a plan makes on clients, with the types of their columns.
package struct ClientSchema: Sendable, Hashable {
    /// A column.
    package struct Column: Sendable, Hashable {
        /// Its name.
        package let name: ExactText
        /// The types that its values may have, NULL aside.
        package let type: ValueType

        /// Makes a column of its fields.
        package init(name: ExactText, type: ValueType) {
            self.name = name
            self.type = type
        }
    }

    /// A table.
    package struct Table: Sendable, Hashable {
        /// Its name.
        package let name: ExactText
        /// Its columns in the order in which they first come, the id among them.
        package let columns: [Column]

        /// Makes a table of its fields.
        package init(name: ExactText, columns: [Column]) {
            self.name = name
            self.columns = columns
        }
    }

    /// The tables in the order of their names.
    package let tables: [Table]

    /// Finds the tables of a plan: what all of its rows have under one name is one table.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - schema: The tables of the source. Of those that it does not have, the columns are known that the plan names.
    ///   - options: What stands in no configuration.
    package init(of plan: SyncPlan, schema: SourceSchema, options: CompileOptions = CompileOptions()) {
        var found: [ExactText: ColumnTypes] = [:]
        for processor in plan.sources.flatMap(\.processors) {
            let pattern = processor.table
            let tables = schema.tables.filter {
                pattern.matches(tag: options.defaultTag, schema: $0.schema, name: $0.name)
            }
            switch processor.type {
            case .named(let name):
                let known: [SourceSchema.Table?] = tables.isEmpty ? [nil] : tables
                for table in known {
                    found[name, default: ColumnTypes()].merge(ColumnTypes(processor, table))
                }
            case .table:
                for table in tables {
                    found[table.name, default: ColumnTypes()].merge(ColumnTypes(processor, table))
                }
            }
        }
        tables = found.sorted { $0.key < $1.key }.map { Table(name: $0.key, columns: $0.value.columns) }
    }
}

/// The types of some columns, each name once.
private struct ColumnTypes {
    private var names: [ExactText] = []
    private var types: [ExactText: ValueType] = [:]

    /// No columns.
    init() {}

    /// What a processor makes of a row of a table; of a table that is not known, without what `*` stands for.
    init(_ processor: RowProcessor, _ table: SourceSchema.Table?) {
        let source = table?.columns ?? []
        let inference = TypeInference(
            columns: Dictionary(source.map { ($0.name, $0.type) }, uniquingKeysWith: { $1 }))
        let form = processor.form
        for output in processor.outputs {
            switch output {
            case .allColumns:
                for column in source {
                    let isHidden =
                        form.contains(.skipsUnderscores)
                        && column.name.text.utf8.first == UInt8(ascii: "_")
                    if !isHidden { set(column.name, column.type, form) }
                }
            case .column(let expression, let name): set(name, inference.type(of: expression), form)
            }
        }
    }

    /// The columns in the order in which they came.
    var columns: [ClientSchema.Column] {
        names.compactMap { name in types[name].map { ClientSchema.Column(name: name, type: $0) } }
    }

    /// Takes the columns of other rows in.
    mutating func merge(_ other: ColumnTypes) {
        for column in other.columns { add(column.name, column.type) }
    }

    /// Sets a column of one row: the later one of a name wins, or, where aliases do, either may be the value.
    private mutating func set(_ name: ExactText, _ type: ValueType, _ form: OutputForm) {
        if !form.contains(.aliasWins), types[name] != nil { types[name] = [] }
        add(name, type)
    }

    private mutating func add(_ name: ExactText, _ type: ValueType) {
        if types[name] == nil { names.append(name) }
        types[name, default: []].formUnion(type)
    }
}
