import PowerSyncPostgres
import PowerSyncWire

/// A column that uploads may name.
package struct UploadColumn: Sendable, Hashable {
    /// The name, for the client and in the catalog.
    package let name: String
    /// The type in SQL.
    package let type: String
    /// How its values are read.
    package let kind: ColumnKind
    /// Who writes it.
    package let writer: ColumnWriter
    /// What the server sets it to; nil leaves that to the database.
    package let assigned: ServerValue?
    /// What the table map says about its values.
    package let options: ValueOptions
    /// Whether a new row must name the column.
    package let isRequired: Bool
    /// Whether two values are equal exactly if their texts after conversion are, so that rows can be told apart by them
    /// before Postgres has seen them.
    package let hasCanonicalText: Bool

    /// The name as an identifier of SQL.
    package var quoted: String { quoteIdentifier(name) }

    /// Returns the SQL that makes a value of this column of a text.
    package func expression(_ text: String) -> String { "\(text)::\(type)" }

    /// What an array of such texts is read as: of a type whose values are checked before they are sent, and which reads a text
    /// in an array as it does alone, as one of the type, which saves a text and a cast for each.
    var arrayType: String { Self.arrayTypes.contains(type) ? type + "[]" : "text[]" }

    /// Types that come with Postgres, as its catalog names them; a type of the team's own of such a name it names otherwise.
    private static let arrayTypes: Set = [
        "smallint", "integer", "bigint", "real", "double precision", "boolean", "uuid",
    ]
}

/// A table that uploads may write: an entry of the table map with what the catalog says about it.
///
/// Every identifier in it comes from the catalog; a client's text only ever selects among them.
package struct UploadTable: Sendable, Hashable {
    /// The client's name.
    package let name: String
    /// Schema and table as SQL.
    package let quoted: String
    /// Schema and table in the catalog, with what was read of them.
    package let source: CatalogEntry
    /// The column of the client's id.
    package let id: UploadColumn
    /// The column of the subject whose row it is.
    package let owner: UploadColumn?
    /// What clients may do.
    package let operations: Set<UploadOperationKind>
    /// The columns by the client's name, that of the id included.
    package let columns: [ExactText: UploadColumn]
    /// The columns beside the id that a new row must name, by their names.
    package let required: [UploadColumn]
    /// The columns that the server sets, by their names.
    package let assigned: [UploadColumn]
    /// The columns that hold ids of attachments.
    package let attachments: [UploadColumn]
    /// Who may download these beside the owner; nil leaves it to the owner, or to everybody where there is none.
    package let read: ReadCondition?
    /// Whether policies may hide rows of it (row security).
    package let hasRowSecurity: Bool
    /// Whether nobody can see in which order one transaction puts rows with other ids into it.
    package let showsNoOrder: Bool
    /// The columns that have what a domain says where a new row leaves them out; nil of a view, below which there may be some.
    package let domainDefaults: Set<ExactText>?
    /// The columns that name rows of other tables, which must be the caller's, by their names.
    package internal(set) var parents: [UploadParent] = []

    init(
        name: String, quoted: String, source: CatalogEntry, id: UploadColumn, owner: UploadColumn?,
        operations: Set<UploadOperationKind>, columns: [ExactText: UploadColumn],
        attachments: [UploadColumn] = [], read: ReadCondition? = nil, hasRowSecurity: Bool = false,
        showsNoOrder: Bool = false, domainDefaults: Set<ExactText>? = []
    ) {
        self.name = name
        self.quoted = quoted
        self.source = source
        self.id = id
        self.owner = owner
        self.operations = operations
        self.columns = columns
        self.attachments = attachments
        self.read = read
        self.hasRowSecurity = hasRowSecurity
        self.showsNoOrder = showsNoOrder
        self.domainDefaults = domainDefaults
        let sorted = columns.sorted { $0.key < $1.key }
        required = sorted.filter { $0.value.isRequired && $0.key != ExactText(id.name) }.map(\.value)
        assigned = sorted.map(\.value).filter { $0.assigned != nil }
    }
}

/// A table of the catalog as it was when a plan was made; a transaction compares it with what is there.
package struct CatalogEntry: Sendable, Hashable {
    /// The name.
    package let name: Catalog.Name
    /// What `psb.table_digest` said; nil where there was no such table.
    package let digest: String?
    /// Whether a transaction can keep it as it is by a lock.
    package let isLockable: Bool

    /// Makes an entry of its fields.
    package init(name: Catalog.Name, digest: String?, isLockable: Bool) {
        self.name = name
        self.digest = digest
        self.isLockable = isLockable
    }
}

/// The tables that uploads may write, by the client's name, with what the start should warn about.
package struct UploadTables: Sendable, Hashable {
    /// The tables.
    package var tables: [ExactText: UploadTable] = [:]
    /// Tables of the map that the database does not have now, by the client's name.
    package var missing: [ExactText: CatalogEntry] = [:]
    /// What an operator should know.
    package var warnings: [String] = []
    /// Whether the database lacks a column that the map names for attachments now, or has another type in its place.
    package var isMissingAttachments = false

    /// Makes the tables of a database that nothing is known of.
    package init() {}

    /// The tables with columns of attachments, by the client's names.
    package var attachmentTables: [UploadTable] {
        tables.sorted { $0.key < $1.key }.map(\.value).filter { !$0.attachments.isEmpty }
    }

    /// Resolves a table map against a database.
    ///
    /// - Parameters:
    ///   - map: the map.
    ///   - source: the name of its file, for errors.
    ///   - catalog: the database.
    ///   - isRunning: whether what the database lacks is left out, as while it is being changed; else it is refused.
    /// - Throws: `BackendError` with `.tableMap` if the map names something that the database does not have.
    package init(
        map: TableMap, source: String, catalog: Catalog, isRunning: Bool = false
    ) throws(BackendError) {
        for entry in map.tables {
            let name = Catalog.Name(schema: entry.schema, table: entry.table.text)
            let table: Catalog.Table
            do throws(BackendError) {
                table = try UploadTables.table(of: entry, name, source, catalog, isRunning: isRunning)
            } catch  where isRunning {
                missing[ExactText(entry.name.text)] = CatalogEntry(
                    name: name, digest: catalog.tables[name]?.digest, isLockable: false)
                if !entry.attachments.isEmpty { isMissingAttachments = true }
                continue
            }
            let options = Dictionary(entry.columns.map { (ExactText($0.name.text), $0) }) { _, last in last }
            let columns = table.columns.map { UploadColumn($0, options[ExactText($0.name)], in: catalog) }
            let byName = Dictionary(columns.map { (ExactText($0.name), $0) }) { _, last in last }
            guard let id = byName[ExactText(entry.id.text)] else { continue }
            for option in entry.columns {
                guard let column = byName[ExactText(option.name.text)] else { continue }
                for member in option.options.useless(for: column.kind) {
                    warnings.append(
                        "\(source) line \(option.name.line), column \(option.name.column): \(member) says nothing "
                            + "about a column of type \(column.type)")
                }
            }
            let attachments = entry.attachments.compactMap { byName[ExactText($0.text)] }
                .filter(\.kind.holdsNames)
            if attachments.count < entry.attachments.count { isMissingAttachments = true }
            var read: ReadCondition?
            if let place = entry.read { read = try ReadCondition.compiled(place, source: source) }
            tables[ExactText(entry.name.text)] = UploadTable(
                name: entry.name.text, quoted: name.quoted, source: CatalogEntry(name, table), id: id,
                owner: entry.owner.flatMap { byName[ExactText($0.text)] },
                operations: entry.operations, columns: byName, attachments: attachments, read: read,
                hasRowSecurity: table.hasRowSecurity, showsNoOrder: table.hidesOrder(besides: id),
                domainDefaults: table.domainDefaults)
        }
        try findParents(of: map, source, catalog, isRunning: isRunning)
        warnings += warnings(of: map, source, catalog)
    }

    /// The catalog's table of an entry of the map, with all that the entry needs to write rows.
    private static func table(
        of entry: TableMap.Table, _ name: Catalog.Name, _ source: String, _ catalog: Catalog, isRunning: Bool
    ) throws(BackendError) -> Catalog.Table {
        func fail(_ place: Located, _ message: String) -> BackendError {
            BackendError(.tableMap, "\(source) line \(place.line), column \(place.column): \(message)")
        }
        guard let table = catalog.tables[name] else {
            throw fail(entry.table, "the database has no table \(name.schema).\(name.table)")
        }
        let known = Set(table.columns.map { ExactText($0.name) })
        let options = isRunning ? [] : entry.columns.map(\.name) + entry.attachments
        for place in [entry.id] + (entry.owner.map { [$0] } ?? []) + options
        where !known.contains(ExactText(place.text)) {
            throw fail(place, "\(name.schema).\(name.table) has no column \(place.text)")
        }
        for column in entry.columns {
            guard let value = column.assigned,
                let found = table.columns.first(where: { ExactText($0.name) == ExactText(column.name.text) })
            else { continue }
            guard !found.isGenerated, value.fits(catalog.kind(of: found)) else {
                throw fail(
                    column.name,
                    "\(column.name.text) is \(found.isGenerated ? "generated" : "of type \(found.type)") and cannot be set "
                        + "to \(value.rawValue)")
            }
        }
        for place in isRunning ? [] : entry.attachments {
            guard let found = table.columns.first(where: { ExactText($0.name) == ExactText(place.text) }),
                !catalog.kind(of: found).holdsNames
            else { continue }
            throw fail(place, "\(place.text) is of type \(found.type), which holds no ids of attachments")
        }
        guard table.isView || table.uniqueColumns.contains(ExactText(entry.id.text)) else {
            throw fail(entry.id, "\(entry.id.text) needs a primary key or unique index of its own")
        }
        guard isRunning || !table.isLockable || table.mayBeLocked else {
            throw fail(
                entry.table,
                "the database role may not lock \(name.schema).\(name.table): GRANT INSERT, UPDATE or DELETE on the whole "
                    + "table, rights on its columns do not suffice")
        }
        guard isRunning || table.takesUpserts || !entry.operations.contains(.put) else {
            throw fail(
                entry.table,
                "\(name.schema).\(name.table) is a view that takes no upserts: leave PUT out of its ops, or let its "
                    + "clients write another table")
        }
        return table
    }

    /// Opens every table of the publication `powersync` in the schema `public`: for development alone.
    ///
    /// - Parameters:
    ///   - catalog: the database.
    ///   - isRunning: whether a database without the publication, or one without tables, has no tables now; else it is
    ///     refused.
    /// - Throws: `BackendError` with `.tableMap` if there is no such publication or no table in it.
    package init(openSchemaOf catalog: Catalog, isRunning: Bool = false) throws(BackendError) {
        guard let published = catalog.published ?? (isRunning ? [] : nil) else {
            throw BackendError(
                .tableMap, "DEV_OPEN_SCHEMA needs the publication: CREATE PUBLICATION powersync FOR TABLE …")
        }
        warnings.append("every published table may be written by every user: set PSB_TABLE_MAP")
        for name in published where name.schema == "public" {
            guard let table = catalog.tables[name] else { continue }
            guard table.uniqueColumns.contains(ExactText("id")) else {
                warnings.append("table \(name.table) is left out: it has no unique column id")
                continue
            }
            let columns = table.columns.map { UploadColumn($0, nil, in: catalog) }
            let byName = Dictionary(columns.map { (ExactText($0.name), $0) }) { _, last in last }
            guard let id = byName[ExactText("id")] else { continue }
            tables[ExactText(name.table)] = UploadTable(
                name: name.table, quoted: name.quoted, source: CatalogEntry(name, table), id: id, owner: nil,
                operations: [.put, .patch, .delete], columns: byName, hasRowSecurity: table.hasRowSecurity,
                showsNoOrder: table.hidesOrder(besides: id), domainDefaults: table.domainDefaults)
        }
        guard !tables.isEmpty || isRunning else {
            throw BackendError(.tableMap, "the publication powersync has no table with a unique column id")
        }
    }
}

extension CatalogEntry {
    init(_ name: Catalog.Name, _ table: Catalog.Table) {
        self.init(name: name, digest: table.digest, isLockable: table.isLockable)
    }
}

extension Catalog.Table {
    /// Whether nobody can see in which order rows with different ids are put into it; every row names its id.
    fileprivate func hidesOrder(besides id: UploadColumn) -> Bool {
        let name = ExactText(id.name)
        // Its one unique index is then the one of this column.
        return showsNoOrder && uniqueColumns.contains(name)
            && !columns.contains { $0.showsOrder && ExactText($0.name) != name }
    }

    /// The columns whose default is a domain's; nil of a view.
    fileprivate var domainDefaults: Set<ExactText>? {
        isView ? nil : Set(columns.lazy.filter(\.leavesDefaultToDomain).map { ExactText($0.name) })
    }
}

extension Catalog.Name {
    /// Schema and table as SQL.
    var quoted: String { quoteIdentifier(schema) + "." + quoteIdentifier(table) }
}

extension UploadColumn {
    init(_ column: Catalog.Column, _ options: TableMap.Column?, in catalog: Catalog) {
        let kind = catalog.kind(of: column)
        let isWritable = !column.isGenerated && kind != .unsupported
        self.init(
            name: column.name, type: column.type, kind: kind,
            writer: column.isGenerated ? .never : options?.writer ?? (isWritable ? .client : .never),
            assigned: options?.assigned,
            options: options?.options ?? ValueOptions(), isRequired: column.isRequired,
            hasCanonicalText: kind.hasCanonicalText && column.isDeterministic)
    }
}
