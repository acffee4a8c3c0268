import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Everything that applying a transaction needs and that all transactions share.
package struct UploadTools: Sendable {
    let pool: PostgresPool
    let schema: SchemaWatch
    let policy: RetryPolicy
    let environment: BackendEnvironment
    let poller: Poller
    let log: Log

    /// Makes the tools of their parts.
    package init(
        pool: PostgresPool, schema: SchemaWatch, policy: RetryPolicy, environment: BackendEnvironment,
        poller: Poller,
        log: Log
    ) {
        self.pool = pool
        self.schema = schema
        self.policy = policy
        self.environment = environment
        self.poller = poller
        self.log = log
    }
}

/// Applies one transaction of a client as one transaction of the database, until a verdict stands.
///
/// Every way through the loop ends in one of: committed, committed before (ledger), rejected and kept as a
/// dead letter, or an `UploadFailure` with nothing of it committed that the ledger does not know.
struct TransactionAttempt {
    let tools: UploadTools
    let context: UploadContext
    let transaction: UploadTransaction
    let payload: JSON
    /// Whether bad operations are cut out and the rest is applied (`LEGACY_BATCH_MODE=isolate`).
    let isolates: Bool

    var claim: LedgerClaim
    var replayed: Set<Int> = []
    private var refusal: Refusal?
    private var isRowWise = false
    private var failures = 0
    private var firstFailure: ContinuousClock.Instant?
    let letterID: String

    init(
        tools: UploadTools, context: UploadContext, transaction: UploadTransaction, clientID: String?,
        payload: JSON,
        refusal: Refusal?, isolates: Bool
    ) {
        self.tools = tools
        self.context = context
        self.transaction = transaction
        self.payload = payload
        self.refusal = refusal
        self.isolates = isolates
        letterID = tools.environment.uniqueName()
        claim = LedgerClaim(
            transaction.operations, txID: transaction.id, userID: context.subject, clientID: clientID,
            attemptID: tools.environment.uniqueName())
    }

    /// Runs to the verdict.
    ///
    /// - Throws: `UploadFailure`, `CancellationError`.
    mutating func run() async throws -> UploadResult {
        while true {
            try Task.checkCancellation()
            do {
                if let result = try await step() { return result }
            } catch let error as PostgresError {
                try await wait(after: error)
            }
        }
    }

    /// Goes once to the database; nil where another step is needed.
    private mutating func step() async throws -> UploadResult? {
        if let refusal { return try await reject(refusal) }
        let planner = UploadPlanner(tables: await tools.schema.tables, subject: context.subject)
        do {
            let plans = try planner.plan(transaction.operations)
            return try await apply(plans.filter { !replayed.contains($0.index) }, planner)
        } catch let refusal as Refusal {
            if refusal.isUnknownName, await tools.schema.refresh() { return nil }
            if isolates, refusal.index != nil { return try await isolate() }
            self.refusal = refusal
            return nil
        }
    }

    // MARK: Applying

    private mutating func apply(_ plans: [PlannedOperation], _ planner: UploadPlanner) async throws
        -> UploadResult?
    {
        let runs = UploadRun.runs(of: plans, isRowWise: isRowWise)
        let work = try runs.map { run throws(Refusal) in
            let sql = UploadSQL(run, owner: try planner.owner(of: run.operations[0].table))
            return PostgresStatement(sql.text, sql.parameters)
        }
        let pipeline = TransactionPipeline(context: context, claim: claim.statements(.applied), work: work)
        switch try await tools.pool.withConnection({ try await pipeline.run(on: $0) }) {
        case .committed(let results):
            let states = UploadStates.states(
                of: transaction.operations, replayed: replayed, plans: plans, runs: runs,
                touched: results.map(\.firstColumn))
            return UploadResult(status: .success, txID: transaction.id, operations: states)
        case .claimTaken: return try await consultLedger()
        case .failed(let work, let error): return try await judge(error, run: work.map { runs[$0] })
        }
    }

    /// Decides about an error that a statement or the commit met.
    mutating func judge(_ error: PostgresError, run: UploadRun?) async throws -> UploadResult? {
        let verdict = DatabaseVerdict(error)
        if let run, run.operations.count > 1, [.rejected, .drift, .bug].contains(verdict.kind) {
            // Which of them it was, only statements of one row tell.
            isRowWise = true
            return nil
        }
        let operation = run?.operations.first
        switch verdict.kind {
        case .rejected:
            if isolates, operation != nil { return try await isolate() }
            refusal = Refusal(verdict, error, operation, transaction)
        case .drift:
            if await tools.schema.refresh() { return nil }
            let name = "\(error.sqlstate ?? "") \(operation?.table.name ?? "")"
            guard await tools.schema.isMissingForGood(name, grace: tools.policy.driftGrace) else {
                throw UploadFailure(code: verdict.code)
            }
            refusal = Refusal(verdict, error, operation, transaction)
        case .suspect:
            guard try await isPoison(verdict, error) else { throw UploadFailure(code: verdict.code) }
            var refusal = Refusal(verdict, error, operation, transaction)
            if verdict.code == "TIMEOUT" { refusal.code = "TIMEOUT_POISON" }
            self.refusal = refusal
        case .retry, .unavailable, .misconfigured, .bug: try await wait(after: error)
        }
        return nil
    }

    /// Applies what can be applied and rejects the rest, each operation for itself.
    private mutating func isolate() async throws -> UploadResult? {
        let planner = UploadPlanner(tables: await tools.schema.tables, subject: context.subject)
        let isolation = IsolatedTransaction(
            context: context, transaction: transaction, claim: claim, planner: planner, payload: payload,
            replayed: replayed, letterIDs: tools.environment.uniqueName)
        switch try await tools.pool.withConnection({ try await isolation.run(on: $0) }) {
        case .finished(let result): return result
        case .claimTaken: return try await consultLedger()
        case .failed(let error):
            let verdict = DatabaseVerdict(error)
            guard verdict.kind == .rejected else { return try await judge(error, run: nil) }
            refusal = Refusal(verdict, error, nil, transaction)
            return nil
        }
    }

    // MARK: Trouble

    /// Waits before the next attempt, or gives up.
    private mutating func wait(after error: PostgresError) async throws {
        let verdict = DatabaseVerdict(error)
        let metadata: [LogKey: String] = [
            "request.id": context.requestID, "db.sqlstate": error.sqlstate ?? "", "upload.code": verdict.code,
        ]
        if verdict.kind == .bug || verdict.kind == .misconfigured {
            tools.log.error("the database refuses the backend's own statements", metadata)
            throw UploadFailure(code: verdict.code, isBug: verdict.kind == .bug)
        }
        failures += 1
        let start = firstFailure ?? .now
        firstFailure = start
        guard verdict.kind == .retry,
            let delay = tools.policy.delay(
                after: failures, elapsed: .now - start, jitter: tools.environment.random())
        else {
            tools.log.warning("transaction not applied", metadata)
            throw UploadFailure(code: verdict.code)
        }
        tools.log.debug("transaction tried again", metadata)
        try await tools.poller.sleep(until: .now + delay)
    }

    /// Counts a suspect failure and tells whether the write itself is to blame by now (backend 3.4).
    private func isPoison(_ verdict: DatabaseVerdict, _ error: PostgresError) async throws -> Bool {
        let hash = claim.bodyHash
        let counted = try await tools.pool.withConnection { connection in
            try await connection.query(
                """
                INSERT INTO psb.upload_attempts AS a (user_id, body_hash, sqlstate)
                VALUES ($1::text, decode($2::text, 'hex'), $3::text)
                ON CONFLICT (user_id, body_hash, sqlstate) DO UPDATE SET attempts = a.attempts + 1, last_at = now()
                RETURNING a.attempts::text, extract(epoch FROM now() - a.first_at)::bigint::text
                """, [context.subject, hash, error.sqlstate ?? ""])
        }
        guard counted.rowCount > 0, let attempts = counted[0, 0].flatMap({ Int($0) }),
            let age = counted[0, 1].flatMap({ Int64($0) })
        else { return false }
        return tools.policy.isPoison(code: verdict.code, attempts: attempts, age: .seconds(age))
    }
}

extension Refusal {
    /// Makes the refusal of a statement's error, or of the commit's where there is no operation.
    init(
        _ verdict: DatabaseVerdict, _ error: PostgresError, _ operation: PlannedOperation?,
        _ transaction: UploadTransaction
    ) {
        let sent = operation.map { transaction.operations[$0.index] }
        self.init(
            code: verdict.code, message: verdict.sentence(raised: error.message), index: operation?.index,
            table: sent?.table ?? error.table, column: error.column, constraint: error.constraint,
            rowID: sent?.id,
            sqlstate: error.sqlstate)
    }
}
