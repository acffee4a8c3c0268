import PowerSyncPostgres
import PowerSyncWire

/// The SQL of a run; every value is a parameter, every identifier is from the catalog (backend 2.2, 2.3,
/// 2.10).
///
/// Statements return what they touched: those of several rows, and strict ones, the ids (PUT) or the positions, from 1 (PATCH,
/// DELETE). Of those of one row the tag is read. A PUT of several returns nothing where the plan knows that nothing keeps a row
/// out but an error (`UploadTable.showsNoOrder`): it has touched as many as it was given.
package struct UploadSQL: Sendable, Equatable {
    /// The statement with its parameters; that of one row counts what it has returned, and no more.
    package let statement: PostgresStatement

    /// The statement's text.
    package var text: String { statement.sql }
    /// Its parameters.
    package var parameters: [String?] { statement.parameters }

    /// Writes the statement of a run.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - owner: the caller as Postgres prints the table's owner column; nil only if it has none.
    ///   - isStrict: whether a PATCH or DELETE fails that does not find a row which is there (`StrictProbe`).
    package init(_ run: UploadRun, owner: String?, isStrict: Bool = false) {
        let first = run.operations[0]
        let shape = first.shape
        let isSingle = run.operations.count == 1 && !isStrict
        var values = PostgresParameters()
        if isSingle {
            values.append(first.id)
            for value in first.values { values.append(value) }
        } else {
            values.appendArrays(of: run.operations, columns: shape.columns.count)
        }
        if shape.isOwned { values.append(owner) }
        let text: String
        if isSingle {
            text = shape.text
        } else if isStrict {
            text = UploadWriter(shape.table, shape.kind, shape.columns, isStrict: true).rows()
        } else {
            text = shape.rowsText
        }
        statement = PostgresStatement(text, values, keepsRows: !isSingle, isKept: shape.isKept)
    }
}

extension PostgresParameters {
    /// Adds an array of the ids, and one for each column, in room that is made at once.
    fileprivate mutating func appendArrays(of operations: [PlannedOperation], columns: Int) {
        var bytes = 3 * (1 + columns)
        for place in operations.indices {
            bytes += Self.room(of: operations[place].id)
            for column in 0..<columns { bytes += Self.room(of: operations[place].values[column]) }
        }
        reserve(bytes)
        beginArray()
        for place in operations.indices { appendElement(operations[place].id) }
        endArray()
        for column in 0..<columns {
            beginArray()
            for place in operations.indices { appendElement(operations[place].values[column]) }
            endArray()
        }
    }
}

/// Writes the texts of statements for all operations of one shape.
struct UploadWriter {
    private let table: UploadTable
    private let kind: UploadOperationKind
    private let columns: [UploadColumn]
    /// Columns that a new row must name and a PUT does not.
    private let missing: [UploadColumn]
    private let isStrict: Bool

    /// Makes what writes.
    ///
    /// - Parameters:
    ///   - table: the table.
    ///   - kind: what is done to its rows.
    ///   - columns: the columns that are set.
    ///   - isStrict: whether a PATCH or DELETE fails that does not find a row which is there.
    init(
        _ table: UploadTable, _ kind: UploadOperationKind, _ columns: [UploadColumn], isStrict: Bool = false
    ) {
        self.table = table
        self.kind = kind
        self.columns = columns
        self.isStrict = isStrict
        let named = Set(columns.map { ExactText($0.name) })
        missing = kind == .put ? table.required.filter { !named.contains(ExactText($0.name)) } : []
    }

    /// Whether the statements have the owner as their last parameter: a PUT that sets nothing and lacks nothing leaves a row
    /// that is there alone, whose ever it is.
    var isOwned: Bool { table.owner != nil && (kind != .put || !columns.isEmpty || !missing.isEmpty) }

    /// Whether a new row names each of some columns; nil are some that nobody knows.
    func namesAll(of names: Set<ExactText>?) -> Bool {
        guard let names else { return false }
        return names.isSubset(of: ([table.id] + columns + missing).map { ExactText($0.name) })
    }

    /// Returns the statement of one row: `$1` is its id, the columns follow, then the owner.
    func row() -> String {
        let id = table.id.expression("$1")
        let values = columns.indices.map { columns[$0].expression("$\($0 + 2)") }
        switch kind {
        case .put where missing.isEmpty:
            let row = "VALUES (\(([id] + values).joined(separator: ", ")))"
            return insert(row) + (isCounted ? "" : returnsID)
        case .put:
            let row = "SELECT \(selected(id, values)) FROM (VALUES (1)) AS u(o)\(existing(id))"
            return insert(row) + (isCounted ? "" : returnsID)
        case .patch:
            return "UPDATE \(table.quoted) AS t SET \(assignments(values)) WHERE t.\(table.id.quoted) = \(id)"
                + ownership() + returnsID
        case .delete:
            return "DELETE FROM \(table.quoted) AS t WHERE t.\(table.id.quoted) = \(id)" + ownership()
                + returnsID
        }
    }

    /// Returns the statement of several rows: the same parameters but the owner are arrays.
    func rows() -> String {
        let id = table.id.expression("u.k")
        let values = columns.indices.map { columns[$0].expression("u.c\($0)") }
        let names = (["k"] + columns.indices.map { "c\($0)" } + ["o"]).joined(separator: ", ")
        // What is strict reads the ids once more, as texts.
        let types = kind == .put ? ([table.id] + columns).map(\.arrayType) : []
        let arrays = (0...columns.count).map { place in
            "$\(place + 1)::\(types.isEmpty ? "text[]" : types[place])"
        }.joined(separator: ", ")
        // That of several arrays is no function, and has no schema.
        let unnest = columns.isEmpty ? "pg_catalog.unnest" : "unnest"
        let source = "\(unnest)(\(arrays)) WITH ORDINALITY AS u(\(names))"
        let match = "t.\(table.id.quoted) = \(id)" + ownership()
        switch kind {
        case .put:
            let rows = "SELECT \(selected(id, values)) FROM \(source)\(existing(id)) ORDER BY u.o"
            return insert(rows) + (touchesAll ? "" : returnsID)
        case .patch:
            return returningPlaces(
                "UPDATE \(table.quoted) AS t SET \(assignments(values)) FROM \(source) WHERE \(match)")
        case .delete:
            return returningPlaces("DELETE FROM \(table.quoted) AS t USING \(source) WHERE \(match)")
        }
    }

    private func returningPlaces(_ change: String) -> String {
        isStrict ? StrictProbe.refusing(change, table, ownership()) : change + " RETURNING u.o::text"
    }

    /// Whether the tag of a PUT tells all that RETURNING would, which also asks policies, of a table or below a view, whether
    /// the row may be seen.
    private var isCounted: Bool { table.source.isLockable && !table.hasRowSecurity }

    /// Whether a PUT writes every row or fails: no trigger, rule or policy is there that could leave one out, which the digest
    /// of the table tells, and none is left alone because it sets nothing.
    private var touchesAll: Bool { table.showsNoOrder && !columns.isEmpty }

    private func selected(_ id: String, _ values: [String]) -> String {
        ([id] + values + missing.map { "e.\($0.quoted)" }).joined(separator: ", ")
    }

    /// The row that is there, for what the client left out of it.
    ///
    /// Postgres checks a proposed row before it looks for the one that is there, so a PUT that leaves a required column
    /// alone would always be refused. With the value of the row that is there it passes, and what is set is what was sent.
    /// Without a row the value is NULL and the column is to blame. The row is locked as the upsert would lock it: were it
    /// deleted in between, a new one would have values of the old.
    ///
    /// A row of another stands in for nothing, as a missing one: checks and triggers see the proposed row before anybody asks
    /// whose the one that is there is, and would tell the caller of its values.
    private func existing(_ id: String) -> String {
        guard !missing.isEmpty else { return "" }
        return " LEFT JOIN LATERAL (SELECT \(missing.map { "r.\($0.quoted)" }.joined(separator: ", "))"
            + " FROM \(table.quoted) AS r WHERE r.\(table.id.quoted) = \(id)\(ownership(of: "r"))"
            + " FOR NO KEY UPDATE) AS e ON true"
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
            + " WHERE CASE WHEN \(isTheirs(owner, "t")) THEN true ELSE \(SQLRefusal.otherOwner) END"
    }

    /// Whether a row is the caller's, byte for byte: the type's own comparison, or the column's collation, may take two
    /// subjects for one (backend 2.9).
    private func isTheirs(_ owner: UploadColumn, _ row: String) -> String {
        "\(row).\(owner.quoted)::text COLLATE pg_catalog.\"C\" = $\(columns.count + 2)::text"
    }

    /// A row of another user is one that is missing: nobody learns whether an id exists, and a row that has changed hands takes
    /// no transaction down with it (backend 2.9).
    private func ownership(of row: String = "t") -> String {
        guard let owner = table.owner else { return "" }
        return " AND \(isTheirs(owner, row))"
    }
}
