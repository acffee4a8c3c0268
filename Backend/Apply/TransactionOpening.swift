import PowerSyncPostgres

/// How a transaction begins: the tables stay as they are from here on, policies and triggers see who writes (backend 2.9),
/// and a plan or a claim that does not fit, or a disabled user, ends it.
///
/// With roles the tables are locked as the role, what is in `psb` is asked and written as who has logged in, and the work is the
/// role's again.
package struct TransactionOpening: Sendable {
    /// The statements.
    package let statements: [PostgresStatement]
    private let hasLock: Bool
    /// The place of the claim's entry.
    private let entryIndex: Int?

    /// Makes the beginning of a transaction.
    ///
    /// - Parameters:
    ///   - context: who uploads.
    ///   - settings: what the session must be set to.
    ///   - roles: as whom the app's tables may be written.
    ///   - catalog: the tables as they were when the work was planned.
    ///   - claim: what it executes or rejects.
    ///   - verdict: what becomes of it when the transaction commits.
    ///   - entry: the claim's entry in the ledger; nil if it comes later.
    package init(
        _ context: UploadContext, _ settings: SessionSettings, _ roles: RoleSettings,
        catalog: [CatalogEntry], claim: LedgerClaim, verdict: LedgerClaim.Verdict, entry: PostgresStatement?
    ) {
        let role = context.role ?? roles.first
        // Whatever the database's default is: behind the lock of a claim, what others have committed must be seen. Whether it
        // may be written is the operator's to say.
        var statements = [
            PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED", keepsRows: false),
            settings.statement(as: role),
        ]
        // Partitions have the columns of their table, and there may be thousands.
        let locked = catalog.filter(\.isLockable).map { "ONLY \($0.name.quoted)" }
        hasLock = !locked.isEmpty
        if hasLock {
            statements.append(
                PostgresStatement(
                    "LOCK TABLE \(locked.joined(separator: ", ")) IN ROW EXCLUSIVE MODE", keepsRows: false))
        }
        if role != nil { statements.append(RoleStatements.release) }
        var known = PostgresParameters([context.claims, context.subject])
        known.appendArray(catalog.map { $0.name.schema as String? })
        known.appendArray(catalog.map { $0.name.table as String? })
        known.appendArray(catalog.map(\.digest))
        for value in claim.range + [roles.first?.name] { known.append(value) }
        statements.append(
            PostgresStatement(
                """
                SELECT psb.open($1::text, $2::text, $3::text[], $4::text[], $5::text[], $6::text, $7::bigint, $8::bigint,
                    $9::bigint, $10::name)
                """, known, keepsRows: false))
        if let replay = context.replay { statements.append(replay.taking(isApplied: verdict == .applied)) }
        entryIndex = entry == nil ? nil : statements.count
        if let entry { statements.append(entry) }
        // What is refused is written into psb alone.
        if let role, verdict == .applied { statements.append(RoleStatements.take(role)) }
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
        case "23505" where index == entryIndex: .claimTaken
        case BackendSchema.userDisabled: .disabled
        // A table that is to be locked is gone, or is something else by now.
        case let state? where hasLock && index == 2 && Self.missingTable.contains(state): .otherCatalog
        default: .failed(.ours, error)
        }
    }
}
