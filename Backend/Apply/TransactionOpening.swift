import PowerSyncPostgres

/// How a transaction begins: the tables stay as they are from here on, policies and triggers see who writes (backend 2.9),
/// and a plan or a claim that does not fit ends it.
package struct TransactionOpening: Sendable {
    /// The statements.
    package let statements: [PostgresStatement]
    private let hasLock: Bool
    private let hasEntry: Bool

    /// Makes the beginning of a transaction.
    ///
    /// - Parameters:
    ///   - context: who uploads.
    ///   - settings: what the session must be set to.
    ///   - catalog: the tables as they were when the work was planned.
    ///   - claim: what it executes or rejects.
    ///   - verdict: what becomes of it when the transaction commits.
    ///   - entry: the claim's entry in the ledger; nil if it comes later.
    package init(
        _ context: UploadContext, _ settings: SessionSettings, catalog: [CatalogEntry], claim: LedgerClaim,
        verdict: LedgerClaim.Verdict,
        entry: PostgresStatement?
    ) {
        // Whatever the database's default is: behind the lock of a claim, what others have committed must be seen. Whether it
        // may be written is the operator's to say.
        var statements = [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), settings.statement]
        // Partitions have the columns of their table, and there may be thousands.
        let locked = catalog.filter(\.isLockable).map { "ONLY \($0.name.quoted)" }
        hasLock = !locked.isEmpty
        hasEntry = entry != nil
        if hasLock {
            statements.append(
                PostgresStatement("LOCK TABLE \(locked.joined(separator: ", ")) IN ROW EXCLUSIVE MODE"))
        }
        statements.append(
            PostgresStatement(
                """
                SELECT psb.open($1::text, $2::text, $3::text[], $4::text[], $5::text[], $6::text, $7::bigint, $8::bigint,
                    $9::bigint, NULL::name)
                """,
                [
                    context.claims, context.subject, arrayLiteral(catalog.map(\.name.schema)),
                    arrayLiteral(catalog.map(\.name.table)), arrayLiteral(catalog.map(\.digest)),
                ] + claim.range))
        if let replay = context.replay { statements.append(replay.taking(isApplied: verdict == .applied)) }
        if let entry { statements.append(entry) }
        self.statements = statements
    }

    private static let missingTable: Set = ["42P01", "42809", "3F000"]

    /// What the failure of one of the statements means.
    ///
    /// - Parameters:
    ///   - index: which.
    ///   - error: what the server said.
    /// - Returns: the outcome of the transaction.
    func outcome(_ index: Int, _ error: PostgresError) -> TransactionPipeline.Outcome {
        switch error.sqlstate {
        case BackendSchema.overlap: .claimTaken
        case BackendSchema.otherCatalog: .otherCatalog
        // The name of an attempt that has committed before.
        case "23505" where hasEntry && index == statements.count - 1: .claimTaken
        // A table that is to be locked is gone, or is something else by now.
        case let state? where hasLock && index == 2 && Self.missingTable.contains(state): .otherCatalog
        default: .failed(.ours, error)
        }
    }
}
