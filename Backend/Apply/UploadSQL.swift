import PowerSyncPostgres
import PowerSyncWire

/// The SQL of a run; every value is a parameter, every identifier is from the catalog (backend 2.2, 2.3,
/// 2.10).
///
/// All statements return what they touched: those of one row the id, those of several, and strict ones, the ids (PUT) or the
/// positions, from 1 (PATCH, DELETE).
package struct UploadSQL: Sendable, Hashable {
    /// The statement.
    package let text: String
    /// Its parameters.
    package let parameters: [String?]

    /// Writes the statement of a run.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - owner: the caller as Postgres prints the table's owner column, if it has one.
    ///   - isStrict: whether a PATCH or DELETE fails that does not find a row which is there (`StrictProbe`).
    package init(_ run: UploadRun, owner: String?, isStrict: Bool = false) {
        let writer = Writer(first: run.operations[0], owner: owner, isStrict: isStrict)
        if run.operations.count == 1, !isStrict {
            parameters = [run.operations[0].id] + run.operations[0].values + writer.ownerParameters
            text = writer.row()
        } else {
            let ids = arrayLiteral(run.operations.map(\.id))
            let values = writer.columns.indices.map { column in
                arrayLiteral(run.operations.map { $0.values[column] })
            }
            parameters = [ids] + values + writer.ownerParameters
            text = writer.rows()
        }
    }
}

private struct Writer {
    let table: UploadTable
    let kind: UploadOperationKind
    let columns: [UploadColumn]
    /// Columns that a new row must name and a PUT does not.
    let missing: [UploadColumn]
    let owner: String?
    let isStrict: Bool

    init(first: PlannedOperation, owner: String?, isStrict: Bool) {
        self.isStrict = isStrict
        table = first.table
        kind = first.kind
        columns = first.columns
        let named = Set(first.columns.map { ExactText($0.name) })
        missing =
            first.kind == .put ? first.table.required.filter { !named.contains(ExactText($0.name)) } : []
        // A PUT without columns leaves a row that is there alone, whose ever it is.
        let isOwned = first.table.owner != nil && (first.kind != .put || !first.columns.isEmpty)
        self.owner = isOwned ? owner : nil
    }

    var ownerParameters: [String?] { owner.map { [$0] } ?? [] }

    func row() -> String {
        let id = table.id.expression("$1")
        let values = columns.indices.map { columns[$0].expression("$\($0 + 2)") }
        switch kind {
        case .put where missing.isEmpty:
            return insert("VALUES (\(([id] + values).joined(separator: ", ")))") + returnsID
        case .put:
            return insert("SELECT \(selected(id, values)) FROM (VALUES (1)) AS u(o)\(existing(id))")
                + returnsID
        case .patch:
            return "UPDATE \(table.quoted) AS t SET \(assignments(values)) WHERE t.\(table.id.quoted) = \(id)"
                + ownership + returnsID
        case .delete:
            return "DELETE FROM \(table.quoted) AS t WHERE t.\(table.id.quoted) = \(id)" + ownership
                + returnsID
        }
    }

    func rows() -> String {
        let id = table.id.expression("u.k")
        let values = columns.indices.map { columns[$0].expression("u.c\($0)") }
        let names = (["k"] + columns.indices.map { "c\($0)" } + ["o"]).joined(separator: ", ")
        let arrays = (1...columns.count + 1).map { "$\($0)::text[]" }.joined(separator: ", ")
        let source = "unnest(\(arrays)) WITH ORDINALITY AS u(\(names))"
        let match = "t.\(table.id.quoted) = \(id)" + ownership
        switch kind {
        case .put:
            return insert("SELECT \(selected(id, values)) FROM \(source)\(existing(id)) ORDER BY u.o")
                + returnsID
        case .patch:
            return returningPlaces(
                "UPDATE \(table.quoted) AS t SET \(assignments(values)) FROM \(source) WHERE \(match)")
        case .delete:
            return returningPlaces("DELETE FROM \(table.quoted) AS t USING \(source) WHERE \(match)")
        }
    }

    private func returningPlaces(_ change: String) -> String {
        isStrict ? StrictProbe.refusing(change, table, ownership) : change + " RETURNING u.o::text"
    }

    private func selected(_ id: String, _ values: [String]) -> String {
        ([id] + values + missing.map { "e.\($0.quoted)" }).joined(separator: ", ")
    }

    /// The row that is there, for what the client left out of it.
    ///
    /// Postgres checks a proposed row before it looks for the one that is there, so a PUT that leaves a required column
    /// alone would always be refused. With the value of the row that is there it passes, and what is set is what was sent.
    /// Without a row the value is NULL and the column is to blame. The row is locked as the upsert would lock it: were it
    /// deleted in between, a new one would have values of the old.
    private func existing(_ id: String) -> String {
        guard !missing.isEmpty else { return "" }
        return " LEFT JOIN LATERAL (SELECT \(missing.map { "r.\($0.quoted)" }.joined(separator: ", "))"
            + " FROM \(table.quoted) AS r WHERE r.\(table.id.quoted) = \(id) FOR NO KEY UPDATE) AS e ON true"
    }

    private var returnsID: String { " RETURNING t.\(table.id.quoted)::text" }

    private func assignments(_ values: [String]) -> String {
        zip(columns, values).map { "\($0.quoted) = \($1)" }.joined(separator: ", ")
    }

    private func insert(_ rows: String) -> String {
        let names = ([table.id] + columns + missing).map(\.quoted).joined(separator: ", ")
        let sets = columns.map { "\($0.quoted) = excluded.\($0.quoted)" }.joined(separator: ", ")
        let target = "INSERT INTO \(table.quoted) AS t (\(names)) \(rows) ON CONFLICT (\(table.id.quoted))"
        guard !columns.isEmpty else { return target + " DO NOTHING" }
        guard let owner = table.owner else { return target + " DO UPDATE SET \(sets)" }
        return target + " DO UPDATE SET \(sets)"
            + " WHERE CASE WHEN \(isTheirs(owner)) THEN true ELSE \(SQLRefusal.otherOwner) END"
    }

    /// Whether a row is the caller's, byte for byte: the type's own comparison, or the column's collation, may take two
    /// subjects for one (backend 2.9).
    private func isTheirs(_ owner: UploadColumn) -> String {
        "t.\(owner.quoted)::text COLLATE pg_catalog.\"C\" = $\(columns.count + 2)::text"
    }

    /// A row of another user is one that is missing: nobody learns whether an id exists, and a row that has changed hands takes
    /// no transaction down with it (backend 2.9).
    private var ownership: String {
        guard let owner = table.owner, self.owner != nil else { return "" }
        return " AND \(isTheirs(owner))"
    }
}
