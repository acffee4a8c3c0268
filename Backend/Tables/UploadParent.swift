import PowerSyncWire

/// A column whose value names a row of another table, which must be the caller's (`parents` of the table map).
package struct UploadParent: Sendable, Hashable {
    /// The column.
    package let column: UploadColumn
    /// The table of the rows that it names, as SQL.
    package let quoted: String
    /// That table in the catalog, with what was read of it.
    package let source: CatalogEntry
    /// The column of its ids.
    package let id: UploadColumn
    /// The column of the subject whose row it is.
    package let owner: UploadColumn

    /// Makes the parent of a column; nil if rows of the table are nobody's.
    init?(column: UploadColumn, table: UploadTable) {
        guard let owner = table.owner else { return nil }
        self.column = column
        quoted = table.quoted
        source = table.source
        id = table.id
        self.owner = owner
    }
}

extension UploadTables {
    /// What is wrong with a parent of the map, in words; nil if nothing is.
    static func objection(to parent: UploadParent, of child: UploadTable) -> String? {
        let (column, table) = (parent.column, parent.source.name)
        let name = ExactText(column.name)
        if name == ExactText(child.id.name) { return "\(column.name) is the id, which names no parent" }
        guard column.writer == .client, child.owner.map({ ExactText($0.name) }) != name else {
            return "clients do not write \(column.name), so it names no parent"
        }
        guard column.type == parent.id.type else {
            return
                "\(column.name) is of type \(column.type), and the ids of \(table.schema).\(table.table) are "
                + parent.id.type
        }
        return nil
    }

    /// Finds the parents of the tables of a map, once all of them are known.
    ///
    /// A table whose parents cannot be found while the database is being changed is left out as if it were not there: nothing
    /// may be written in it unasked.
    ///
    /// - Parameters:
    ///   - map: the map.
    ///   - source: the name of its file, for errors.
    ///   - catalog: the database.
    ///   - isRunning: whether what does not fit is left out; else it is refused.
    /// - Throws: `BackendError` with `.tableMap`.
    mutating func findParents(
        of map: TableMap, _ source: String, _ catalog: Catalog, isRunning: Bool
    ) throws(BackendError) {
        var found: [ExactText: [UploadParent]] = [:]
        for entry in map.tables where !entry.parents.isEmpty {
            let name = ExactText(entry.name.text)
            guard let child = tables[name] else { continue }
            do throws(BackendError) {
                found[name] = try parents(of: entry, child, source, catalog, isRunning: isRunning)
            } catch {
                guard isRunning else { throw error }
                missing[name] = CatalogEntry(
                    name: child.source.name, digest: child.source.digest, isLockable: false)
                if !child.attachments.isEmpty { isMissingAttachments = true }
            }
        }
        for (name, parents) in found { tables[name]?.parents = parents }
        for name in missing.keys { tables[name] = nil }
    }

    private func parents(
        of entry: TableMap.Table, _ child: UploadTable, _ source: String, _ catalog: Catalog, isRunning: Bool
    ) throws(BackendError) -> [UploadParent] {
        func fail(_ place: Located, _ message: String) -> BackendError {
            BackendError(.tableMap, "\(source) line \(place.line), column \(place.column): \(message)")
        }
        var parents: [UploadParent] = []
        for member in entry.parents {
            guard let column = child.columns[ExactText(member.column.text)] else {
                // A column that is gone for now is one that nobody can write.
                if isRunning { continue }
                let name = child.source.name
                throw fail(member.column, "\(name.schema).\(name.table) has no column \(member.column.text)")
            }
            guard let table = tables[ExactText(member.table.text)],
                let parent = UploadParent(column: column, table: table)
            else {
                throw fail(member.table, "\(member.table.text) is no table with an owner")
            }
            if let objection = UploadTables.objection(to: parent, of: child) {
                throw fail(member.column, objection)
            }
            let name = table.source.name
            // What a role lost while the backend runs the database says itself.
            guard isRunning || catalog.tables[name]?.mayHoldRows == true else {
                throw fail(
                    member.table,
                    "the database role may not hold rows of \(name.schema).\(name.table): GRANT UPDATE on a column of it"
                )
            }
            parents.append(parent)
        }
        return parents.sorted { ExactText($0.column.name) < ExactText($1.column.name) }
    }

    /// What an operator should know of who may write what: tables whose rows are everybody's, and references to rows of
    /// somebody that nobody looks at.
    func warnings(of map: TableMap, _ source: String, _ catalog: Catalog) -> [String] {
        var owned: Set<Catalog.Name> = []
        for table in tables.values where table.owner != nil { owned.insert(table.source.name) }
        var warnings: [String] = []
        for entry in map.tables {
            guard let table = tables[ExactText(entry.name.text)] else { continue }
            let place = "\(source) line \(entry.name.line), column \(entry.name.column)"
            if table.owner == nil {
                warnings.append("\(place): \(table.name) has no owner: every user writes every row of it")
            }
            let parents = Set(table.parents.map { ExactText($0.column.name) })
            for reference in catalog.tables[table.source.name]?.references ?? []
            where owned.contains(reference.table)
                && parents.isDisjoint(with: reference.columns.map(ExactText.init))
                && !isOwner(reference.columns, of: table)
            {
                warnings.append(
                    "\(place): \(reference.columns.joined(separator: ", ")) refers to rows of "
                        + "\(reference.table.schema).\(reference.table.table), which belong to somebody: without "
                        + "parents a row of any user may be named")
            }
        }
        return warnings
    }

    /// Whether a reference is the column of the owner alone, which is the token's subject whatever a client says.
    private func isOwner(_ columns: [String], of table: UploadTable) -> Bool {
        guard let owner = table.owner else { return false }
        return columns.map(ExactText.init) == [ExactText(owner.name)]
    }
}
