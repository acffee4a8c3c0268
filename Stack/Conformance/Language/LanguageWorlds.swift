import PowerSyncSyncRules
import PowerSyncWire

/// The tables that recordings of the language are made with: `worlds.json` beside them.
struct LanguageWorlds: Sendable {
    /// A table with its rows.
    struct Table: Sendable {
        /// Its name; its schema is `public`.
        let name: ExactText
        /// Its rows.
        let rows: [Row]
    }

    /// A row.
    struct Row: Sendable {
        /// Its columns in order.
        let columns: [(name: ExactText, value: ScalarValue)]
    }

    /// The schema that all tables are in.
    static let schemaName = ExactText("public")

    /// The tables with the types of their columns.
    let schema: [SourceSchema.Table]
    /// The worlds of configurations.
    let configurations: [[Table]]
    private let expressions: [[Table]]

    /// Reads the worlds.
    ///
    /// - Parameter text: the JSON.
    /// - Throws: `StackError` with `.file` if they are none.
    init(parsing text: String) throws(StackError) {
        guard let json = try? RecordedValue.json(Array(text.utf8)), let schema = json["schema"]?.objectMembers
        else { throw StackError(.file, "worlds.json has no \"schema\"") }
        self.schema = schema.map { table in
            SourceSchema.Table(
                schema: Self.schemaName, name: ExactText(table.name),
                columns: (table.value.objectMembers ?? []).map(Self.column))
        }
        expressions = try Self.worlds(json["expressions"])
        configurations = try Self.worlds(json["configurations"])
    }

    /// The tables of a job's world; none if it has no world.
    ///
    /// - Parameter job: the job.
    /// - Returns: the tables.
    /// - Throws: `StackError` with `.file` if there is no such world.
    func tables(of job: LanguageJob) throws(StackError) -> [Table] {
        guard let world = job.world else { return [] }
        let worlds = job.isExpression ? expressions : configurations
        guard worlds.indices.contains(world) else {
            throw StackError(.file, "job \(job.id): worlds.json has no world \(world)")
        }
        return worlds[world]
    }

    /// The schema that the compiler is given for a job; nil for none.
    func schema(of job: LanguageJob) -> SourceSchema? {
        guard job.hasSchema else { return nil }
        // The table of expressions is none of the others'.
        return SourceSchema(job.isExpression ? schema : schema.filter { $0.name != ExactText("t") })
    }

    private static func column(_ member: JSONMember) -> SourceSchema.Column {
        let sourceType = member.value.stringValue ?? ""
        let type: ValueType
        switch sourceType {
        case "int2", "int4", "int8", "bool": type = .integer
        case "float4", "float8": type = .real
        case "bytea": type = .blob
        default: type = .text
        }
        return SourceSchema.Column(name: ExactText(member.name), type: type, sourceType: sourceType)
    }

    private static func worlds(_ json: JSON?) throws(StackError) -> [[Table]] {
        var worlds: [[Table]] = []
        for world in json?.arrayValue ?? [] {
            var tables: [Table] = []
            for table in world.objectMembers ?? [] {
                var rows: [Row] = []
                for row in table.value.arrayValue ?? [] { rows.append(try self.row(row)) }
                tables.append(Table(name: ExactText(table.name), rows: rows))
            }
            worlds.append(tables)
        }
        return worlds
    }

    private static func row(_ json: JSON) throws(StackError) -> Row {
        var columns: [(name: ExactText, value: ScalarValue)] = []
        for member in json.objectMembers ?? [] {
            guard let value = RecordedValue.read(member.value) else {
                throw StackError(.file, "worlds.json: \(member.value.text) is no value")
            }
            columns.append((name: ExactText(member.name), value: value))
        }
        return Row(columns: columns)
    }
}
