import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSyncStack

/// Tables of a source with their rows, and random transactions over them.
struct ScriptedTables: Sendable {
    /// A table as the source has it; its first column identifies a row.
    struct Table: Sendable {
        let name: ExactText
        let columns: [SourceSchema.Column]
        /// Whether changes tell the whole row as it was (identity FULL).
        let isFull: Bool
        var rows: [LanguageWorlds.Row]
    }

    /// What becomes of a row, or of all rows of a table.
    enum Change: Sendable {
        case insert(LanguageWorlds.Row)
        case update(old: LanguageWorlds.Row, new: LanguageWorlds.Row)
        case delete(LanguageWorlds.Row)
        case truncate
    }

    /// A change, and the index of its table.
    typealias Step = (table: Int, change: Change)

    private enum Kind { case insert, update, delete, truncate }

    /// A table with so many rows gets no more.
    private static let mostRows = 9
    /// The ids of the types in `pg_type`, and whether their values may be large.
    private static let types: [(name: String, oid: UInt32, isVariableLength: Bool)] = [
        ("bool", 16, false), ("int4", 23, false), ("text", 25, true), ("float8", 701, false),
        ("jsonb", 3802, true),
    ]

    private(set) var tables: [Table]
    /// For each column of each table the values that it has in any world.
    private let values: [[[ScalarValue]]]
    /// The values of all columns of texts.
    private let words: [ScalarValue]

    /// Takes the tables of a world that matter.
    ///
    /// - Parameters:
    ///   - world: The tables with their rows.
    ///   - worlds: All worlds, whose values rows may get.
    ///   - isRead: Whether a table matters.
    ///   - random: Draws identities.
    init(
        _ world: [LanguageWorlds.Table], of worlds: LanguageWorlds, where isRead: (ExactText) -> Bool,
        _ random: inout SeededRandom
    ) {
        var (tables, values): ([Table], [[[ScalarValue]]]) = ([], [])
        var words: [ScalarValue] = []
        for schema in worlds.schema {
            let rows = worlds.configurations.flatMap { $0 }.filter { $0.name == schema.name }.flatMap(\.rows)
            guard !rows.isEmpty else { continue }
            let columns = schema.columns.indices.map { column in
                Self.distinct(rows.map { $0.columns[column].value })
            }
            for (column, found) in zip(schema.columns, columns) where column.sourceType == "text" {
                words += found.filter { !$0.isNull }
            }
            guard isRead(schema.name), let table = world.first(where: { $0.name == schema.name }) else {
                continue
            }
            tables.append(
                Table(
                    name: table.name, columns: schema.columns, isFull: random.once(in: 4), rows: table.rows))
            values.append(columns)
        }
        self.tables = tables
        self.values = values
        self.words = Self.distinct(words)
    }

    /// Each value once, in the order in which they come first.
    private static func distinct(_ values: [ScalarValue]) -> [ScalarValue] {
        var seen: Set<ScalarValue> = []
        return values.filter { seen.insert($0).inserted }
    }

    // MARK: Transactions

    /// Commits up to six changes.
    ///
    /// - Parameter random: Draws them.
    /// - Returns: The changes in order.
    mutating func transaction(_ random: inout SeededRandom) -> [Step] {
        var steps: [Step] = []
        for _ in 0..<random.below(7) {
            let table = random.below(tables.count)
            steps.append((table: table, change: change(of: table, &random)))
        }
        return steps
    }

    private mutating func change(of index: Int, _ random: inout SeededRandom) -> Change {
        let rows = tables[index].rows
        let (inserts, others) = (rows.count < Self.mostRows ? 12 : 0, rows.isEmpty ? 0 : 1)
        let kind = random.pick(weighted: [
            (inserts, Kind.insert), (others * 14, .update), (others * 7, .delete), (1, .truncate),
        ])
        switch kind {
        case .insert:
            var columns = tables[index].columns.map { (name: $0.name, value: ScalarValue.null) }
            columns[0].value = freeID(index, &random)
            for column in columns.indices.dropFirst() {
                columns[column].value = value(index, column, &random)
            }
            let row = LanguageWorlds.Row(columns: columns)
            tables[index].rows.append(row)
            return .insert(row)
        case .update:
            let place = random.below(rows.count)
            var columns = rows[place].columns
            // Now and then none: it is told all the same.
            for _ in 0..<random.below(3) {
                let column = 1 + random.below(columns.count - 1)
                columns[column].value = value(index, column, &random)
            }
            if random.once(in: 12) { columns[0].value = freeID(index, &random) }
            let row = LanguageWorlds.Row(columns: columns)
            tables[index].rows[place] = row
            return .update(old: rows[place], new: row)
        case .delete: return .delete(tables[index].rows.remove(at: random.below(rows.count)))
        case .truncate:
            tables[index].rows = []
            return .truncate
        }
    }

    private func value(_ table: Int, _ column: Int, _ random: inout SeededRandom) -> ScalarValue {
        let isText = tables[table].columns[column].sourceType == "text"
        return random.pick(isText && random.once(in: 5) ? words : values[table][column])
    }

    /// An id that no row of a table has.
    private func freeID(_ table: Int, _ random: inout SeededRandom) -> ScalarValue {
        let taken = Set(tables[table].rows.map { $0.columns[0].value })
        let own = values[table][0].filter { !taken.contains($0) }
        if !own.isEmpty, !random.once(in: 3) { return random.pick(own) }
        return random.pick(words.filter { !taken.contains($0) })
    }

    // MARK: What the source tells

    /// The types of all columns.
    var catalog: TypeCatalog {
        TypeCatalog(
            Self.types.map { type in
                var entry = TypeCatalog.Entry(oid: type.oid, name: type.name, kind: "b")
                entry.isVariableLength = type.isVariableLength
                return entry
            })
    }

    /// What the source says of a table.
    func description(of index: Int) -> TableDescription {
        let table = tables[index]
        return TableDescription(
            oid: 16_384 + UInt32(index), schema: LanguageWorlds.schemaName.text, name: table.name.text,
            columns: table.columns.enumerated().map { place, column in
                SourceColumn(
                    name: column.name.text,
                    typeOID: Self.types.first { $0.name == column.sourceType }?.oid ?? 0,
                    isIdentity: table.isFull || place == 0)
            })
    }

    /// The values of a row as the source spells them.
    func texts(of row: LanguageWorlds.Row, in index: Int) -> [String?] {
        zip(row.columns, tables[index].columns).map { Self.text($0.value, $1.sourceType) }
    }

    /// What a change tells of a row as it was: its key alone, unless all of it.
    func formerTexts(of row: LanguageWorlds.Row, in index: Int) -> [String?] {
        let texts = texts(of: row, in: index)
        guard !tables[index].isFull else { return texts }
        return texts.enumerated().map { place, text in place == 0 ? text : nil }
    }

    private static func text(_ value: ScalarValue, _ type: String?) -> String? {
        switch value {
        case .null: nil
        case .integer(let integer): type == "bool" ? (integer == 0 ? "f" : "t") : String(integer)
        case .wide(let integer): integer.digits.text
        case .real(let real): "\(real)"
        case .text(let text): text.text
        case .blob(let bytes):
            "\\x" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    /// A line that says what a step does.
    func line(_ step: Step) -> String {
        func text(_ row: LanguageWorlds.Row) -> String {
            row.columns.map { "\($0.name.text) \(RecordedValue.text($0.value))" }.joined(separator: ", ")
        }
        let name = tables[step.table].name.text
        switch step.change {
        case .insert(let row): return "\(name): insert \(text(row))"
        case .update(let old, let new): return "\(name): update \(text(old)) to \(text(new))"
        case .delete(let row): return "\(name): delete \(text(row))"
        case .truncate: return "\(name): truncate"
        }
    }
}
