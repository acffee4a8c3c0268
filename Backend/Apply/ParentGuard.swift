import PowerSyncPostgres
import PowerSyncWire

/// The question before a run whether the rows that it names by one column are the caller's; the transaction fails unless all
/// are (backend 2.8, 2.9).
///
/// Such a row is locked until the transaction ends, as a foreign key would lock it: nobody deletes it in between. One that is
/// given away meanwhile was the caller's before. One that is missing and one of another user are the same to it, and so to whoever reads the answer.
struct ParentGuard: Sendable {
    /// The parent.
    let parent: UploadParent
    /// The question, without a row in its answer.
    let statement: PostgresStatement

    private init(_ parent: UploadParent, _ ids: [String], owner: String) {
        self.parent = parent
        let theirs = "p.\(parent.owner.quoted)::text COLLATE pg_catalog.\"C\" = $2::text"
        statement = PostgresStatement(
            """
            SELECT \(SQLRefusal.missingParent) FROM pg_catalog.unnest($1::text[]) AS u(k)
            LEFT JOIN LATERAL (SELECT true AS there FROM \(parent.quoted) AS p
                WHERE p.\(parent.id.quoted) = \(parent.id.expression("u.k")) AND \(theirs) FOR KEY SHARE) AS e ON true
            WHERE e.there IS NULL
            """, [arrayLiteral(ids), owner], keepsRows: false)
    }

    /// Returns the questions before a run, one for each column that names a parent in it.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - planner: who planned it.
    /// - Returns: the questions, in the order of the columns.
    /// - Throws: `Refusal`, where the token's subject cannot own such rows.
    static func guards(before run: UploadRun, _ planner: UploadPlanner) throws(Refusal) -> [ParentGuard] {
        var guards: [ParentGuard] = []
        for (place, parent) in run.operations[0].shape.table.parents.enumerated() {
            var seen: Set<ExactText> = []
            let ids = run.operations.compactMap { $0.parents[place] }.filter {
                seen.insert(ExactText($0)).inserted
            }
            guard !ids.isEmpty else { continue }
            guards.append(ParentGuard(parent, ids, owner: try planner.owner(of: parent)))
        }
        return guards
    }
}

extension Refusal {
    /// The refusal of an operation whose parent is missing or another's: the same for both, whoever found out.
    ///
    /// - Parameter parent: the parent.
    /// - Returns: the refusal, without the operation.
    static func missing(_ parent: UploadParent) -> Refusal {
        Refusal(
            code: SQLRefusal.missingParentCode, message: DatabaseVerdict.missingParent.sentence(raised: ""),
            column: parent.column.name)
    }
}
