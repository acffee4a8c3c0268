import PowerSyncPostgres
import PowerSyncWire

/// Applies a batch of unknown transactions operation by operation and cuts out the bad ones with savepoints
/// (`LEGACY_BATCH_MODE=isolate`, backend 1.6).
///
/// What is applied, the ledger entry and the dead letters of what is not commit together.
struct IsolatedTransaction: Sendable {
    enum Outcome: Sendable {
        case finished(UploadResult)
        case claimTaken
        case failed(PostgresError)
    }

    let context: UploadContext
    let transaction: UploadTransaction
    let claim: LedgerClaim
    let planner: UploadPlanner
    let payload: JSON
    let replayed: Set<Int>
    let letterIDs: @Sendable () -> String

    func run(on connection: PostgresConnection) async throws -> Outcome {
        var refusals: [Int: Refusal] = [:]
        let plans = planAll(&refusals)
        let opening = TransactionPipeline.session(context)
        let claims = claim.statements(.applied)
        for (index, outcome) in try await connection.pipeline(opening + claims).enumerated() {
            guard let error = outcome.error else { continue }
            let isTaken = error.sqlstate == "23505" || error.sqlstate == BackendSchema.overlap
            return index >= opening.count && isTaken ? .claimTaken : .failed(error)
        }
        var touched: [Int: [String]] = [:]
        var next = 0
        while next < plans.count {
            let rest = plans[next...]
            let outcomes = try await connection.pipeline(try rest.flatMap { try statements($0) })
            for (position, plan) in rest.enumerated() {
                let triple = outcomes[(position * 3)..<(position * 3 + 3)]
                next += 1
                if let result = triple.dropFirst().first?.result { touched[plan.index] = result.firstColumn }
                guard let error = triple.compactMap(\.error).first else { continue }
                let verdict = DatabaseVerdict(error)
                if verdict.dropsConnection { throw error }
                guard verdict.kind == .rejected else { return .failed(error) }
                refusals[plan.index] = Refusal(verdict, error, plan, transaction)
                try await connection.query("ROLLBACK TO SAVEPOINT psb")
                break
            }
        }
        return try await commit(connection, plans, refusals, touched)
    }

    private func planAll(_ refusals: inout [Int: Refusal]) -> [PlannedOperation] {
        var plans: [PlannedOperation] = []
        for (index, operation) in transaction.operations.enumerated() where !replayed.contains(index) {
            do {
                let plan = try planner.plan(operation, at: index)
                if !plan.isEmpty { plans.append(plan) }
            } catch {
                refusals[index] = error
            }
        }
        return plans
    }

    private func statements(_ plan: PlannedOperation) throws -> [PostgresStatement] {
        let sql = UploadSQL(UploadRun(plan), owner: try planner.owner(of: plan.table))
        return [
            PostgresStatement("SAVEPOINT psb"), PostgresStatement(sql.text, sql.parameters),
            PostgresStatement("RELEASE SAVEPOINT psb"),
        ]
    }

    private func commit(
        _ connection: PostgresConnection, _ plans: [PlannedOperation], _ refusals: [Int: Refusal],
        _ touched: [Int: [String]]
    ) async throws -> Outcome {
        let applied = plans.filter { refusals[$0.index] == nil }
        var states = UploadStates.states(
            of: transaction.operations, replayed: replayed, plans: applied,
            runs: applied.map { UploadRun($0) },
            touched: applied.map { touched[$0.index] ?? [] })
        let elements = payload.arrayValue ?? []
        var letters: [DeadLetter] = []
        for (index, refusal) in refusals.sorted(by: { $0.key < $1.key }) {
            states[index].status = "rejected"
            states[index].code = refusal.code
            letters.append(
                DeadLetter(
                    id: letterIDs(), refusal: refusal,
                    payload: .array(elements.indices.contains(index) ? [elements[index]] : elements),
                    claim: claim,
                    context: context))
        }
        let result = UploadResult(
            status: letters.isEmpty ? .success : .fatalError, txID: transaction.id, operations: states,
            failure: letters.first?.refusal.failure, rejectionID: letters.first?.id)
        let outcomes = try await connection.pipeline(letters.map(\.statement) + [PostgresStatement("COMMIT")])
        if let error = outcomes.compactMap(\.error).first {
            if DatabaseVerdict(error).dropsConnection { throw error }
            return .failed(error)
        }
        guard outcomes.last?.result?.commandTag == "COMMIT" else {
            throw PostgresError(.malformedMessage, "the transaction ended without COMMIT")
        }
        return .finished(result)
    }
}
