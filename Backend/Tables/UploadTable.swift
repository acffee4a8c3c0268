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
    /// What a text in a JSON column means.
    package let jsonStrings: JSONStrings

    /// The name as an identifier of SQL.
    package var quoted: String { quoteIdentifier(name) }

    /// Returns the SQL that makes a value of this column of a text.
    package func expression(_ text: String) -> String {
        // Cast straight to timestamp, an offset would be dropped and the wall time kept (backend 2.4).
        kind == .timestamp ? "(\(text)::timestamptz AT TIME ZONE 'UTC')" : "\(text)::\(type)"
    }
}

/// A table that uploads may write: an entry of the table map with what the catalog says about it.
///
/// Every identifier in it comes from the catalog; a client's text only ever selects among them.
package struct UploadTable: Sendable, Hashable {
    /// The client's name.
    package let name: String
    /// Schema and table as SQL.
    package let quoted: String
    /// The column of the client's id.
    package let id: UploadColumn
    /// The column of the subject whose row it is.
    package let owner: UploadColumn?
    /// What clients may do.
    package let operations: Set<UploadOperationKind>
    /// The columns by the client's name, that of the id included.
    package let columns: [String: UploadColumn]
}

/// The tables that uploads may write, by the client's name, with what the start should warn about.
package struct UploadTables: Sendable, Hashable {
    /// The tables.
    package var tables: [String: UploadTable] = [:]
    /// What an operator should know.
    package var warnings: [String] = []

    /// Makes the tables of a database that nothing is known of.
    package init() {}

    /// Resolves a table map against a database.
    ///
    /// - Parameters:
    ///   - map: the map.
    ///   - source: the name of its file, for errors.
    ///   - catalog: the database.
    /// - Throws: `BackendError` with `.tableMap` if the map names something that the database does not have.
    package init(map: TableMap, source: String, catalog: Catalog) throws(BackendError) {
        for entry in map.tables {
            let name = Catalog.Name(schema: entry.schema, table: entry.table.text)
            func fail(_ place: Located, _ message: String) -> BackendError {
                BackendError(.tableMap, "\(source) line \(place.line), column \(place.column): \(message)")
            }
            guard let table = catalog.tables[name] else {
                throw fail(entry.table, "the database has no table \(name.schema).\(name.table)")
            }
            let known = Set(table.columns.map(\.name))
            for place in [entry.id] + (entry.owner.map { [$0] } ?? []) + entry.columns.map(\.name)
            where !known.contains(place.text) {
                throw fail(place, "\(name.schema).\(name.table) has no column \(place.text)")
            }
            guard table.isView || table.uniqueColumns.contains(entry.id.text) else {
                throw fail(entry.id, "\(entry.id.text) needs a primary key or unique index of its own")
            }
            let options = Dictionary(entry.columns.map { ($0.name.text, $0) }) { _, last in last }
            let columns = table.columns.map { UploadColumn($0, options[$0.name], in: catalog) }
            let byName = Dictionary(columns.map { ($0.name, $0) }) { _, last in last }
            guard let id = byName[entry.id.text] else { continue }
            tables[entry.name.text] = UploadTable(
                name: entry.name.text, quoted: name.quoted, id: id,
                owner: entry.owner.flatMap { byName[$0.text] },
                operations: entry.operations, columns: byName)
        }
    }

    /// Opens every table of the publication `powersync` in the schema `public`: for development alone.
    ///
    /// - Parameter catalog: the database.
    /// - Throws: `BackendError` with `.tableMap` if there is no such publication or no table in it.
    package init(openSchemaOf catalog: Catalog) throws(BackendError) {
        guard let published = catalog.published else {
            throw BackendError(
                .tableMap, "DEV_OPEN_SCHEMA needs the publication: CREATE PUBLICATION powersync FOR TABLE …")
        }
        warnings.append("every published table may be written by every user: set PSB_TABLE_MAP")
        for name in published where name.schema == "public" {
            guard let table = catalog.tables[name] else { continue }
            guard table.uniqueColumns.contains("id") else {
                warnings.append("table \(name.table) is left out: it has no unique column id")
                continue
            }
            let columns = table.columns.map { UploadColumn($0, nil, in: catalog) }
            let byName = Dictionary(columns.map { ($0.name, $0) }) { _, last in last }
            guard let id = byName["id"] else { continue }
            tables[name.table] = UploadTable(
                name: name.table, quoted: name.quoted, id: id, owner: nil,
                operations: [.put, .patch, .delete],
                columns: byName)
        }
        guard !tables.isEmpty else {
            throw BackendError(.tableMap, "the publication powersync has no table with a unique column id")
        }
    }

    /// Whether everything that could be written before can still be written.
    package func covers(_ earlier: UploadTables) -> Bool {
        earlier.tables.allSatisfy { name, table in
            guard let now = tables[name] else { return false }
            return table.columns.keys.allSatisfy { now.columns[$0] != nil }
        }
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
            jsonStrings: options?.jsonStrings ?? .parse)
    }
}
