import PowerSyncPostgres
import PowerSyncWire

/// Applies a piece of a batch, operation by operation, and leaves out what is bad (`LEGACY_BATCH_MODE=isolate`, backend 1.6).
///
/// Each operation is followed by a savepoint and by a return to it, which undoes the operation only if it failed: the
/// savepoint of a failed one was not made, so the return leads behind the operation before. All of it is one round trip; what
/// is applied, its entry in the ledger and the letters of what is not commit together in a second one.
struct UploadPiece: Sendable {
    /// How it ended.
    enum Outcome: Sendable {
        /// Everything is committed, with letters that take so much.
        case committed(AttemptAnswer, DeadLetterUsage)
        /// Nothing is: the ledger has entries that were not consulted.
        case claimTaken
        /// Nothing is: the catalog is not that of the plan.
        case otherCatalog
        /// Nothing is: the user may do nothing any more.
        case disabled
        /// Nothing is: a statement failed, and with which operation.
        case failed(TransactionAttempt.Machine.Place, Int?, PostgresError)
    }

    /// The most operations of a piece: with more subtransactions that write every other session becomes slow (backend 2.10,
    /// number 7).
    static let limit = 64

    let context: UploadContext
    let settings: SessionSettings
    let roles: RoleSettings
    let plan: AttemptPlan
    let claim: LedgerClaim
    let transaction: UploadTransaction
    let payload: [JSON]
    let answer: AttemptAnswer
    let letterID: @Sendable () -> String
    let deadline: ContinuousClock.Instant

    /// Runs it; what failed is still to be rolled back, which the pool does.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: how it ended.
    /// - Throws: `PostgresError` where the connection is of no more use: whether it committed may be unknown.
    func run(on connection: PostgresConnection) async throws -> Outcome {
        let opening = TransactionOpening(
            context, settings, roles, catalog: plan.catalog, claim: claim, verdict: .applied, entry: nil)
        var segments = [opening.statements + [PostgresStatement("SAVEPOINT psb")]]
        let steps = plan.runs.indices.map { plan.steps(of: $0) }
        for ofRun in steps {
            segments.append(ofRun.map(\.statement) + [PostgresStatement("SAVEPOINT psb")])
            segments.append([PostgresStatement("ROLLBACK TO SAVEPOINT psb")])
        }
        let outcomes = try await connection.pipeline(segments: segments, until: deadline)
        if let index = outcomes[0].firstIndex(where: { $0.error != nil }),
            let error = outcomes[0][index].error
        {
            return try await refused(opening.outcome(index, error), error, connection)
        }
        var refusals = plan.refusals
        var touched: [TouchedRows] = []
        for (position, run) in plan.runs.enumerated() {
            let index = run.operations[0].index
            let outcome = outcomes[1 + position * 2]
            let written = steps[position].firstIndex(where: \.isWriting).flatMap { outcome[$0].result }
            touched.append(TouchedRows(of: run, written))
            guard let failure = outcome.compactMap(\.error).first ?? outcomes[2 + position * 2][0].error
            else {
                continue
            }
            let place = outcome.firstIndex { $0.error != nil } ?? outcome.count
            let part = steps[position].indices.contains(place) ? steps[position][place].part : .writing
            var probe: ValueProbe?
            if case .writing = part { probe = ValueProbe(run.operations[0], after: failure) }
            let error = try await probe?.explanation(within: connection, until: deadline) ?? failure
            let verdict = DatabaseVerdict(error)
            try await close(connection, after: error, verdict)
            if case .takingRole = part { return .failed(.ours, nil, error) }
            guard verdict.kind == .rejected else { return .failed(.oneRow, index, error) }
            refusals[index] = Refusal(verdict, error, index, transaction, part)
        }
        return try await commit(connection, refusals, touched)
    }

    private func refused(
        _ outcome: TransactionPipeline.Outcome, _ error: PostgresError, _ connection: PostgresConnection
    ) async throws -> Outcome {
        try await close(connection, after: error, DatabaseVerdict(error))
        switch outcome {
        case .claimTaken: return .claimTaken
        case .otherCatalog: return .otherCatalog
        case .disabled: return .disabled
        case .committed, .failed: return .failed(.ours, nil, error)
        }
    }

    private func close(
        _ connection: PostgresConnection, after error: PostgresError, _ verdict: DatabaseVerdict
    ) async throws {
        guard verdict.dropsConnection else { return }
        await connection.close()
        throw error
    }

    private func commit(
        _ connection: PostgresConnection, _ refusals: [Int: Refusal], _ touched: [TouchedRows]
    ) async throws -> Outcome {
        var answer = answer
        answer.executed(plan, touched: touched)
        var letters = DeadLetterUsage(rows: 0, bytes: 0)
        // Behind the last savepoint the entry would be written in a subtransaction of its own, one more than `limit`.
        var statements = [PostgresStatement("RELEASE SAVEPOINT psb")]
        let role = context.role ?? roles.first
        if role != nil { statements.append(RoleStatements.release) }
        for (index, refusal) in refusals.sorted(by: { $0.key < $1.key }) {
            let id = letterID()
            answer.reject(refusal, [index], letterID: id)
            let rejected = claim.of([transaction.operations[index]])
            let letter = DeadLetter(
                id: id, refusal: refusal, payload: .array([payload[index]]),
                rows: LetterRows(rejected.operations, in: plan.tables), claim: rejected,
                context: context,
                failedIndex: 0)
            letters.rows += letter.usage.rows
            letters.bytes += letter.usage.bytes
            statements.append(letter.statement)
            guard rejected.clientID != nil else { continue }
            var own = AttemptAnswer(transaction)
            own.reject(refusal, [index], letterID: id)
            statements.append(rejected.entry(.rejected, result: own.result(of: [index]).json.text))
        }
        if claim.clientID == nil {
            statements.append(claim.entry(.applied, result: answer.result.json.text))
        } else {
            // What changed nothing was executed, too: it must not be executed later.
            let applied = claim.operations.filter { operation in
                !refusals.keys.contains { transaction.operations[$0].opID == operation.opID }
            }
            if !applied.isEmpty { statements.append(claim.of(applied).entry(.applied)) }
        }
        // What waits for the end of the transaction, deferred triggers among it, is the role's.
        if let role { statements.append(RoleStatements.take(role)) }
        let outcomes = try await connection.pipeline(
            statements + [PostgresStatement("COMMIT")], until: deadline)
        if let index = outcomes.firstIndex(where: { $0.error != nil }), let error = outcomes[index].error {
            try await close(connection, after: error, DatabaseVerdict(error))
            if index == statements.count { return .failed(.commit, nil, error) }
            return error.sqlstate == "23505" ? .claimTaken : .failed(.ours, nil, error)
        }
        guard outcomes.last?.result?.commandTag == "COMMIT" else {
            throw PostgresError(.malformedMessage, "the transaction ended without COMMIT")
        }
        return .committed(answer, letters)
    }
}
