import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

/// The tables that a configuration reads, as the source has them (service 1.10, 7.1).
struct SourceTables {
    /// One of them.
    struct Table: Sendable {
        let schema: String
        let name: String
        /// The wildcard by which it is one; nil if it is named.
        let pattern: String?
        /// The columns by which rows are told from each other.
        var identity: [String] = []
        /// Whether its rows are synced.
        let isData: Bool
        /// Whether requests find values in its rows.
        let isLookup: Bool
        /// What is wrong with it.
        var messages: [AdminMessage] = []
    }

    /// A table of the source.
    private struct Relation {
        let schema: ExactText
        let name: ExactText
        let isPartitioned: Bool
        /// The letter of its replica identity.
        let identity: String
        let isReadable: Bool
    }

    private let data: [TablePattern]
    private let lookups: [TablePattern]
    /// All patterns, each once, those of rows that are synced first.
    private let patterns: [TablePattern]
    private let tag: ExactText

    /// Takes what a configuration names; nothing if it cannot be used.
    init(of config: CompiledConfig, tag: ExactText = CompileOptions().defaultTag) {
        self.tag = tag
        let sources = config.plan?.sources ?? []
        data = sources.flatMap { source in source.processors.map { $0.table } }
        lookups = (config.plan?.lookups ?? []).map { $0.table }
        let events = (config.plan?.writeCheckpointPayloads ?? []).map { $0.table }
        var known: Set<TablePattern> = []
        // Of another connection there is nothing here.
        patterns = (data + lookups + events).filter { pattern in
            pattern.tag.suffix(of: tag) != nil && known.insert(pattern).inserted
        }
    }

    /// The tables that are named, when the source cannot be asked.
    func named() -> [Table] {
        patterns.compactMap { pattern in
            guard let (schema, name) = pattern.exact else { return nil }
            return table(schema, name)
        }
    }

    /// The tables, in the order in which the configuration names them, those of a wildcard by name.
    ///
    /// - Parameter connection: A connection to the source.
    /// - Returns: The tables; a wildcard that no table fits has none.
    /// - Throws: `PostgresError`.
    func read(_ connection: PostgresConnection) async throws -> [Table] {
        guard !patterns.isEmpty else { return [] }
        let relations = try await Self.relations(connection)
        let catalog = SourceCatalog(connection)
        var tables: [Table] = []
        for pattern in patterns {
            if let (schema, name) = pattern.exact {
                let relation = relations.first { $0.schema == schema && $0.name == name }
                var found = table(schema, name)
                if let relation {
                    (found.identity, found.messages) = try await look(at: relation, catalog)
                } else {
                    found.messages = [AdminMessage(.sourceTableMissing, [schema.text, name.text])]
                }
                tables.append(found)
                continue
            }
            for relation in relations
            where !relation.isPartitioned
                && pattern.matches(tag: tag, schema: relation.schema, name: relation.name)
            {
                var found = table(relation.schema, relation.name, by: pattern)
                (found.identity, found.messages) = try await look(at: relation, catalog)
                tables.append(found)
            }
        }
        return tables
    }

    private func table(_ schema: ExactText, _ name: ExactText, by pattern: TablePattern? = nil) -> Table {
        func isOne(of patterns: [TablePattern]) -> Bool {
            patterns.contains { $0.matches(tag: tag, schema: schema, name: name) }
        }
        return Table(
            schema: schema.text, name: name.text, pattern: pattern?.name.spelled,
            isData: isOne(of: data), isLookup: isOne(of: lookups))
    }

    private static func relations(_ connection: PostgresConnection) async throws -> [Relation] {
        let rows = try await connection.query(
            """
            SELECT n.nspname, c.relname, c.relkind = 'p', c.relreplident,
                has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p')
            ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
            """)
        return (0..<rows.rowCount).map { row in
            Relation(
                schema: ExactText(rows[row, 0] ?? ""), name: ExactText(rows[row, 1] ?? ""),
                isPartitioned: rows[row, 2] == "t", identity: rows[row, 3] ?? "",
                isReadable: rows[row, 4] == "t")
        }
    }

    /// By what rows of a table are told from each other, and what is wrong with it.
    private func look(
        at relation: Relation, _ catalog: SourceCatalog
    ) async throws -> (identity: [String], messages: [AdminMessage]) {
        let (schema, name) = (relation.schema.text, relation.name.text)
        let quoted = "\"\(schema)\".\"\(name)\""
        guard !relation.isPartitioned else {
            let text = "Table \(quoted) is partitioned: name its partitions, which a wildcard may do."
            return ([], [AdminMessage(level: .warning, message: text)])
        }
        guard let published = try await catalog.table(schema: schema, name: name) else {
            let publication = SourceDatabase.publication
            let arguments = [schema, name, publication, publication, schema, name]
            return ([], [AdminMessage(.sourceTableNotPublished, arguments)])
        }
        let identity = published.description.columns.filter { $0.isIdentity }.map { $0.name }
        var messages: [AdminMessage] = []
        if !relation.isReadable {
            // What Postgres says to whoever reads it.
            messages.append(AdminMessage(level: .fatal, message: "permission denied for table \(name)"))
        }
        if published.lacksIdentity {
            let text =
                "A column of the replica identity of \(quoted) is not published, so the table is left out."
            messages.append(AdminMessage(level: .fatal, message: text))
        } else if identity.isEmpty, let kind = Self.identities[relation.identity] {
            let text =
                "No replication id found for \(quoted). Replica identity: \(kind). "
                + "Configure a primary key on the table."
            messages.append(AdminMessage(level: .fatal, message: text))
        }
        if published.hidesRows {
            let text = SourceCatalog.PublishedTable.hidesRowsText("\(schema).\(name)")
            messages.append(AdminMessage(level: .warning, message: text))
        }
        return (identity, messages)
    }

    /// The replica identities with which there should be one; with `nothing` there is none on purpose.
    private static let identities = ["d": "default", "i": "index", "f": "full"]
}

extension TablePattern {
    /// Schema and name of the one table that it means; nil for a wildcard.
    fileprivate var exact: (schema: ExactText, name: ExactText)? {
        guard case .exact(let schema) = self.schema, case .exact(let name) = self.name else { return nil }
        return (schema, name)
    }
}

extension NamePart {
    /// The part as it stands in a query.
    fileprivate var spelled: String {
        switch self {
        case .exact(let name): name.text
        case .prefix(let prefix): prefix.text + "%"
        }
    }
}
