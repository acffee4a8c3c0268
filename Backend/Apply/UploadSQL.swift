import PowerSyncPostgres
import PowerSyncWire

/// The SQL of a run; every value is a parameter, every identifier is from the catalog (backend 2.2, 2.3,
/// 2.10).
///
/// All statements return what they touched: those of one row the id, those of several the ids (PUT) or the
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
    ///   - owner: the caller as a value of the table's owner column, if it has one.
    package init(_ run: UploadRun, owner: String?) {
        let writer = Writer(first: run.operations[0], owner: owner)
        if run.operations.count == 1 {
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
    let owner: String?

    init(first: PlannedOperation, owner: String?) {
        table = first.table
        kind = first.kind
        columns = first.columns
        self.owner = kind == .put ? nil : owner
    }

    /// A PUT carries its owner among its values.
    var ownerParameters: [String?] { owner.map { [$0] } ?? [] }

    func row() -> String {
        let id = table.id.expression("$1")
        let values = columns.indices.map { columns[$0].expression("$\($0 + 2)") }
        switch kind {
        case .put: return insert("VALUES (\(([id] + values).joined(separator: ", ")))") + returnsID
        case .patch:
            return "UPDATE \(table.quoted) AS t SET \(assignments(values)) WHERE t.\(table.id.quoted) = \(id)"
                + ownership(id) + returnsID
        case .delete:
            return "DELETE FROM \(table.quoted) AS t WHERE t.\(table.id.quoted) = \(id)" + ownership(id)
                + returnsID
        }
    }

    func rows() -> String {
        let id = table.id.expression("u.k")
        let values = columns.indices.map { columns[$0].expression("u.c\($0)") }
        let names = (["k"] + columns.indices.map { "c\($0)" } + ["o"]).joined(separator: ", ")
        let arrays = (1...columns.count + 1).map { "$\($0)::text[]" }.joined(separator: ", ")
        let source = "unnest(\(arrays)) WITH ORDINALITY AS u(\(names))"
        let match = "t.\(table.id.quoted) = \(id)" + ownership(id)
        switch kind {
        case .put:
            return insert("SELECT \(([id] + values).joined(separator: ", ")) FROM \(source) ORDER BY u.o")
                + returnsID
        case .patch:
            return "UPDATE \(table.quoted) AS t SET \(assignments(values)) FROM \(source) WHERE \(match)"
                + " RETURNING u.o::text"
        case .delete:
            return "DELETE FROM \(table.quoted) AS t USING \(source) WHERE \(match) RETURNING u.o::text"
        }
    }

    private var returnsID: String { " RETURNING t.\(table.id.quoted)::text" }

    private func assignments(_ values: [String]) -> String {
        zip(columns, values).map { "\($0.quoted) = \($1)" }.joined(separator: ", ")
    }

    private func insert(_ rows: String) -> String {
        let names = ([table.id] + columns).map(\.quoted).joined(separator: ", ")
        let sets = columns.map { "\($0.quoted) = excluded.\($0.quoted)" }.joined(separator: ", ")
        let target = "INSERT INTO \(table.quoted) AS t (\(names)) \(rows) ON CONFLICT (\(table.id.quoted))"
        guard !columns.isEmpty else { return target + " DO NOTHING" }
        guard let owner = table.owner?.quoted else { return target + " DO UPDATE SET \(sets)" }
        return target + " DO UPDATE SET \(sets)"
            + " WHERE CASE WHEN t.\(owner) = excluded.\(owner) THEN true ELSE \(BackendSchema.refusal) END"
    }

    /// Another's row is an error, not a row left out: the transaction must not be half applied (backend 7,
    /// number 5).
    ///
    /// So a client can find out whether an id exists by its refusal; ids that are UUIDs cannot be guessed.
    /// CASE fixes the order of evaluation: the refusal must not run for rows that only the scan has seen.
    private func ownership(_ id: String) -> String {
        guard let owner = table.owner, self.owner != nil else { return "" }
        let parameter = columns.count + 2
        return " AND CASE WHEN t.\(table.id.quoted) IS DISTINCT FROM \(id) THEN false"
            + " WHEN t.\(owner.quoted) = \(owner.expression("$\(parameter)")) THEN true"
            + " ELSE \(BackendSchema.refusal) END"
    }
}
