import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Drives `AttemptMachine` for one transaction of a client, or for a piece of a batch that is cut: does what a phase asks
/// for and feeds back what came of it.
struct TransactionAttempt {
    /// What decides.
    typealias Machine = AttemptMachine<AttemptPlan>

    /// What came of it.
    enum Outcome: Sendable {
        /// A result for the client.
        case result(UploadResult)
        /// It would be rejected, and can be cut into smaller pieces; if because it failed so often, this is how.
        case cut(poison: Refusal?)
    }

    let tools: UploadTools
    let context: UploadContext
    let transaction: UploadTransaction
    /// The operations as they came.
    let payload: [JSON]
    /// Operations that are refused before they are looked at.
    let refusals: [Int: Refusal]
    /// Whether bad operations are cut out and the rest is applied (`LEGACY_BATCH_MODE=isolate`).
    let isolates: Bool
    /// Whether it is a piece: what is bad in it is left out.
    let isPiece: Bool
    private let clientID: String?
    private let confirmedOpID: Int64
    private let attemptID: String
    private let arrival = ContinuousClock.now
    private let times: UploadApplier.Times
    private var deadline: ContinuousClock.Instant
    /// When the pipeline of the present plan was sent.
    private let sent = Lock<ContinuousClock.Instant?>(nil)

    private var machine = Machine()
    /// The number of the knowledge of the catalog that was planned with last.
    private var knownNumber = 0
    /// The tables that were planned with last, as they were read.
    private var catalog: [CatalogEntry] = []
    private var tables: UploadTables?
    /// What the plan that was sent last does.
    private var plan: AttemptPlan?
    private var answer: AttemptAnswer
    private var considered: Int64 = 0
    private var isConsulted = false
    private var alone: Set<Int> = []
    /// Whether an answer to COMMIT may have been lost since the ledger was asked last.
    private var isInDoubt = false
    private var failures = 0
    private var firstFailure: ContinuousClock.Instant?
    /// How it, or what it is a piece of, failed so often that it is to blame.
    private var poison: Refusal?

    /// Makes an attempt.
    ///
    /// - Parameters:
    ///   - tools: what all attempts share.
    ///   - context: who uploads.
    ///   - transaction: what.
    ///   - request: the request that it is of.
    ///   - payload: the operations as they came.
    ///   - refusals: those that are refused before they are looked at.
    ///   - isolates: whether it may be cut.
    ///   - isPiece: whether it is a piece.
    ///   - poison: how what it is a piece of failed so often that it was cut.
    ///   - times: how long it may take.
    ///   - end: when the request must have ended, which may be before.
    init(
        tools: UploadTools, context: UploadContext, transaction: UploadTransaction, of request: UploadRequest,
        payload: [JSON], refusals: [Int: Refusal], isolates: Bool, isPiece: Bool = false,
        poison: Refusal? = nil, times: UploadApplier.Times, until end: ContinuousClock.Instant
    ) {
        self.tools = tools
        self.context = context
        self.transaction = transaction
        self.payload = payload
        self.refusals = refusals
        self.isolates = isolates
        self.isPiece = isPiece
        self.poison = poison
        self.times = times
        deadline = min(end, arrival + times.transaction)
        clientID = request.clientID
        // The client sends from the head of its queue: all before is done.
        let first = request.transactions.lazy.flatMap(\.operations).first?.opID ?? 0
        confirmedOpID = first > .min ? first - 1 : first
        attemptID = tools.environment.uniqueName()
        answer = AttemptAnswer(transaction)
    }

    /// Runs to the end.
    ///
    /// - Returns: the result.
    /// - Throws: `UploadFailure`, where the client is to come again; `CancellationError`.
    mutating func run() async throws -> Outcome {
        while true {
            try Task.checkCancellation()
            switch machine.phase {
            case .ended(.comeAgain(let code)): throw UploadFailure(code: code)
            case .ended(.mistake): throw UploadFailure(code: "INTERNAL", isBug: true)
            case .ended:
                let result = answer.result
                let isFast = result.status == .success && !isConsulted && failures == 0 && alone.isEmpty
                tools.metrics.count(.paths, [isFast ? "fast" : "slow"])
                return .result(result)
            case .rejecting where isolates && transaction.operations.count > 1:
                // The pieces have other names in the ledger: what is committed already they would do again, or reject.
                guard isInDoubt else { return .cut(poison: poison) }
                machine.advance(.taken)
            default:
                let event = await event()
                if isolates, transaction.operations.count > 1,
                    case .failed(let verdict, .severalRows, _) = event,
                    verdict.kind == .rejected
                {
                    return .cut(poison: poison)
                }
                try Task.checkCancellation()
                machine.advance(event)
            }
        }
    }

    /// Does what the phase asks for.
    private mutating func event() async -> Machine.Event {
        guard .now < deadline else { return await over() }
        do {
            switch machine.phase {
            case .planning: return try await planning()
            case .applying(let plan): return try await applying(plan)
            case .consulting: return try await consulting()
            case .looking(let doubt): return try await looking(doubt)
            case .rejecting(let refusal): return try await rejecting(refusal)
            case .counting(let refusal, _): return try await counting(refusal)
            case .waiting: return try await waiting()
            case .ended: return .waited
            }
        } catch let error as PostgresError {
            if error.isOutcomeUnknown { forgetLetters() }
            if error.code == .timedOut, .now >= deadline { return await over() }
            isInDoubt = isInDoubt || error.isOutcomeUnknown
            return failed(error, .ours)
        } catch {
            forgetLetters()
            // Of what is thrown besides, only the end of the task is not a mistake of ours, and `run` looks for that.
            if !(error is CancellationError) {
                tools.log.error(
                    "an upload met what should not be",
                    ["request.id": context.requestID, "error": "\(error)"])
            }
            return failed(PostgresError(.invalidInput, "\(error)"), .ours)
        }
    }

    /// Has the letters of the user looked at again where some may have been left that nobody has heard of.
    private func forgetLetters() {
        switch machine.phase {
        case .rejecting: tools.quota.forget(context.subject)
        case .applying where isPiece: tools.quota.forget(context.subject)
        default: break
        }
    }

    /// The operations that nobody has executed yet.
    private var rest: [Int] { transaction.operations.indices.filter { answer.known[$0] == nil } }

    private func claim(_ indices: [Int]) -> LedgerClaim {
        // All of them are mostly all that the transaction has.
        let operations =
            indices.count == transaction.operations.count
            ? transaction.operations : indices.map { transaction.operations[$0] }
        var claim = LedgerClaim(
            operations, txID: transaction.id, userID: context.subject, clientID: clientID,
            attemptID: attemptID, confirmedOpID: confirmedOpID)
        claim.considered = considered
        return claim
    }

    // MARK: Phases

    private mutating func planning() async throws -> Machine.Event {
        sent.withLock { $0 = nil }
        plan = nil
        let knowledge = try await tools.catalog.knowledge()
        let planner = UploadPlanner(shapes: tools.shapes(of: knowledge), subject: context.subject)
        knownNumber = knowledge.number
        tables = knowledge.tables
        let rest = rest
        catalog = knowledge.tables.entries(of: transaction.operations, at: rest)
        var plans: [PlannedOperation] = []
        plans.reserveCapacity(rest.count)
        var refused: [Int: Refusal] = [:]
        var shape: PlanShape?
        for index in rest {
            do throws(Refusal) {
                if let refusal = refusals[index] { throw refusal }
                let planned = try planner.plan(transaction.operations[index], at: index, like: shape)
                shape = planned.shape
                plans.append(planned)
            } catch {
                var refusal = error
                if let event = await doubt(&refusal, knowledge) {
                    // Before the client is asked to come again for long: it may be a repetition of what was applied then.
                    guard case .absent = event, !isConsulted else { return event }
                    return .taken
                }
                guard isPiece else { return .refused(refusal) }
                refused[index] = refusal
            }
        }
        do throws(Refusal) {
            return .planned(
                try AttemptPlan(
                    planner, catalog, plans, refusals: refused, alone: isPiece ? Set(rest) : alone,
                    strict: tools.roles.probe.map { [context, tools] in
                        StrictProbe($0, role: context.role ?? tools.roles.first)
                    }))
        } catch {
            return .refused(error)
        }
    }

    /// What stands against a refusal: a name that is missing may be a migration on its way.
    ///
    /// - Returns: the event instead of the refusal; nil if it stands.
    private func doubt(_ refusal: inout Refusal, _ knowledge: CatalogKnowledge) async -> Machine.Event? {
        guard let name = refusal.unknown else { return nil }
        let isSeen = knowledge.readAt >= arrival
        switch knowledge.absence(of: name, at: .now) {
        case .gone(let age):
            if !isSeen { return .refusedUnseen(refusal) }
            if age < tools.policy.driftGrace { return .absent }
            refusal.code = "SCHEMA_MISMATCH"
            return nil
        case .never:
            // Of the tables of a map a rejection compares the digests; what is published no digest tells.
            let isOpen = await tools.catalog.isOpen
            return isOpen && !isSeen ? .refusedUnseen(refusal) : nil
        }
    }

    private mutating func applying(_ plan: AttemptPlan) async throws -> Machine.Event {
        self.plan = plan
        let claim = claim(rest)
        if isPiece { return try await applyingPiece(plan, claim) }
        let pipeline = TransactionPipeline(
            TransactionOpening(
                context, tools.settings, tools.roles, catalog: plan.catalog, claim: claim, verdict: .applied,
                entry: claim.entry(.applied)),
            work: plan.steps.map(\.statement))
        let asked = ContinuousClock.now
        let outcome = try await tools.pool.withConnection(until: deadline) {
            [sent, deadline, metrics = tools.metrics] connection in
            let begun = ContinuousClock.now
            metrics.measure((begun - asked).inSeconds, of: .acquireSeconds)
            sent.withLock { $0 = begun }
            let outcome = try await pipeline.run(on: connection, until: deadline)
            metrics.measure((ContinuousClock.now - begun).inSeconds, of: .transactionSeconds)
            return outcome
        }
        switch outcome {
        case .disabled: return .disabled
        case .committed(let results):
            answer.executed(plan, touched: plan.touched(results))
            await tools.catalog.committed(plan.work(), at: .now)
            return .committed
        case .claimTaken: return .taken
        case .otherCatalog: return .stale
        case .failed(.work(let index), let error):
            let step = plan.steps[index]
            // A role that is gone is the operator's to bring back.
            if case .takingRole = step.part { return failed(error, .ours) }
            let run = plan.runs[step.run]
            guard run.operations.count > 1 else {
                let probe = step.isWriting ? ValueProbe(run.operations[0], after: error) : nil
                let explained = try await probe?.explanation(
                    from: tools.pool, tools.settings, until: deadline)
                return failed(explained ?? error, .oneRow, run.operations[0].index, step.part)
            }
            alone.formUnion(run.operations.map(\.index))
            return failed(error, .severalRows)
        case .failed(.commit, let error): return failed(error, .commit)
        case .failed(.ours, let error): return failed(error, .ours)
        }
    }

    private mutating func applyingPiece(
        _ plan: AttemptPlan, _ claim: LedgerClaim
    ) async throws -> Machine.Event {
        let piece = UploadPiece(
            context: context, settings: tools.settings, roles: tools.roles, plan: plan, claim: claim,
            transaction: transaction, payload: payload,
            answer: answer,
            letterID: tools.environment.uniqueName, deadline: deadline)
        let outcome = try await tools.pool.withConnection(until: deadline) { [sent] in
            sent.withLock { $0 = .now }
            return try await piece.run(on: $0)
        }
        switch outcome {
        case .disabled: return .disabled
        case .committed(let answer, let letters):
            self.answer = answer
            tools.quota.add(letters, of: context.subject)
            let executed = answer.result.operations.filter { $0.status != "rejected" }.map(\.index)
            await tools.catalog.committed(plan.work(of: Set(executed)), at: .now)
            return .committed
        case .claimTaken: return .taken
        case .otherCatalog: return .stale
        case .failed(let place, let index, let error): return failed(error, place, index)
        }
    }

    private mutating func consulting() async throws -> Machine.Event {
        let indices = rest
        let claim = claim(indices)
        tools.log.debug("the ledger is consulted", ["request.id": context.requestID])
        let reading = try await tools.pool.withConnection(until: deadline) { [deadline] in
            try await LedgerReading(claim, reading: $0, until: deadline)
        }
        isConsulted = true
        isInDoubt = false
        considered = max(considered, reading.considered)
        for (position, known) in reading.known { answer.known[indices[position]] = known }
        if reading.hasOtherContent {
            tools.metrics.count(.keyReuses)
            tools.log.info("ledger key used again", ["request.id": context.requestID])
        }
        if rest.isEmpty { return .known(.all) }
        return .known(reading.known.isEmpty ? .none : .some)
    }

    private func looking(_ doubt: Refusal?) async throws -> Machine.Event {
        do {
            let knowledge = try await tools.catalog.look(after: knownNumber, since: .now, until: deadline)
            if knowledge.number > knownNumber { return .looked(.newer) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            tools.log.warning(
                "the catalog could not be read", ["request.id": context.requestID, "error": "\(error)"])
            return .unreadable
        }
        guard let doubt else { return .looked(.same) }
        // At COMMIT nobody says which operation it was.
        let work = plan?.work(of: doubt.index.map { [$0] }) ?? []
        let isLasting = await tools.catalog.isLasting(
            work, sqlstate: doubt.sqlstate ?? "", at: .now, grace: tools.policy.driftGrace)
        return .looked(isLasting ? .lasting : .same)
    }

    private mutating func rejecting(_ refusal: Refusal) async throws -> Machine.Event {
        let indices = rest
        let claim = claim(indices)
        var rejected = answer
        // A letter that is refused again is the letter still.
        let letterID = context.replay?.letterID ?? attemptID
        rejected.reject(refusal, indices, letterID: letterID)
        let letter = DeadLetter(
            id: letterID, refusal: refusal, payload: .array(indices.map { payload[$0] }),
            rows: LetterRows(claim.operations, in: tables), claim: claim, context: context,
            failedIndex: refusal.index.flatMap { indices.firstIndex(of: $0) })
        // Of the siblings the ledger knows that they were skipped.
        let stored = rejected.result(of: refusal.index.map { [$0] } ?? []).json.text
        let pipeline = TransactionPipeline(
            TransactionOpening(
                context, tools.settings, tools.roles, catalog: catalog, claim: claim, verdict: .rejected,
                entry: claim.entry(.rejected, result: stored)), work: [letter.statement])
        let outcome = try await tools.pool.withConnection(until: deadline) { [deadline] in
            try await pipeline.run(on: $0, until: deadline)
        }
        switch outcome {
        case .disabled: return .disabled
        case .committed:
            answer = rejected
            tools.quota.add(letter.usage, of: context.subject)
            tools.log.info(
                "transaction rejected",
                [
                    "request.id": context.requestID, "upload.code": refusal.code,
                    "upload.rejection": letterID, "db.sqlstate": refusal.sqlstate ?? "",
                ])
            return .committed
        case .claimTaken: return .taken
        case .otherCatalog: return .stale
        case .failed(_, let error): return failed(error, .ours)
        }
    }

    /// Counts a suspect failure and tells whether the write itself is to blame by now (backend 3.4).
    ///
    /// What failed long ago was another incident, of which nothing counts.
    private mutating func counting(_ refusal: Refusal) async throws -> Machine.Event {
        // A part that fails as the whole did is what the whole failed for: it was counted with it.
        if let poison, poison.isSameFailure(as: refusal) { return .counted(isPoison: true) }
        let (user, hash) = (context.subject, claim(rest).contentHash)
        let gap = String(tools.policy.poisonGap.milliseconds)
        let counted = try await tools.pool.withConnection(until: deadline) { [deadline] connection in
            try await connection.query(
                """
                INSERT INTO psb.upload_attempts AS a (user_id, body_hash, sqlstate)
                VALUES ($1::text, decode($2::text, 'hex'), $3::text)
                ON CONFLICT (user_id, body_hash, sqlstate) DO UPDATE SET last_at = now(),
                    attempts = CASE WHEN now() - a.last_at > $4::float8 * interval '1 millisecond'
                        THEN 1 ELSE a.attempts + 1 END,
                    first_at = CASE WHEN now() - a.last_at > $4::float8 * interval '1 millisecond'
                        THEN now() ELSE a.first_at END
                RETURNING a.attempts::text, extract(epoch FROM now() - a.first_at)::bigint::text
                """, [user, hash, refusal.sqlstate ?? "", gap], until: deadline)
        }
        guard counted.rowCount > 0, let attempts = counted[0, 0].flatMap({ Int($0) }),
            let age = counted[0, 1].flatMap({ Int64($0) })
        else { return .counted(isPoison: false) }
        let isPoison = tools.policy.isPoison(
            code: refusal.code == "TIMEOUT_POISON" ? "TIMEOUT" : refusal.code, attempts: attempts,
            age: .seconds(age))
        if isPoison { poison = refusal }
        return .counted(isPoison: isPoison)
    }

    private mutating func waiting() async throws -> Machine.Event {
        failures += 1
        let start = firstFailure ?? .now
        firstFailure = start
        guard
            let delay = tools.policy.delay(
                after: failures, elapsed: .now - start, jitter: tools.environment.random())
        else { return .gaveUp }
        try await tools.poller.sleep(until: min(.now + delay, deadline))
        return .waited
    }

    // MARK: Trouble

    private func failed(
        _ error: PostgresError, _ place: Machine.Place, _ index: Int? = nil,
        _ part: AttemptPlan.Step.Part = .writing
    ) -> Machine.Event {
        let verdict = DatabaseVerdict(error)
        var refusal = Refusal(verdict, error, index, transaction, part)
        if verdict.code == "TIMEOUT" { refusal.code = "TIMEOUT_POISON" }
        tools.metrics.count(.errors, ["\(verdict.kind)"])
        if verdict.kind == .retry {
            tools.metrics.count(.retries, [DatabaseVerdict.label(of: error.sqlstate)])
        }
        let metadata: [LogKey: String] = [
            "request.id": context.requestID, "db.sqlstate": error.sqlstate ?? "", "upload.code": verdict.code,
        ]
        switch verdict.kind {
        case .bug where place != .severalRows, .misconfigured:
            tools.log.error("the database refuses the backend's own statements", metadata)
        case .drift where place == .ours:
            tools.log.error("the schema psb is not as this backend needs it: run migrate", metadata)
        case .retry, .unavailable, .suspect: tools.log.debug("the database failed", metadata)
        case .rejected, .drift, .bug: break
        }
        return .failed(verdict, place, refusal)
    }

    private mutating func over() async -> Machine.Event {
        let sent = sent.withLock { $0 }
        // A pipeline that hardly had time says nothing about the write.
        let since = sent.flatMap { $0 + times.transaction / 2 <= deadline ? $0 : nil }
        // What is still to be done, if the machine wants to count this, is short.
        deadline = .now + times.last
        tools.log.warning("an upload took too long", ["request.id": context.requestID])
        let tables = Set(transaction.operations.map { ExactText($0.table) })
        let refusal = Refusal(
            code: "TIMEOUT_POISON", message: "the write takes longer than the backend allows",
            table: transaction.operations.first?.table)
        guard let since else { return .over(othersCommit: false, refusal) }
        return .over(othersCommit: await tools.catalog.hasCommit(of: tables, since: since), refusal)
    }
}

extension Refusal {
    /// Makes the refusal of a statement's error, or of the commit's where there is no operation.
    init(
        _ verdict: DatabaseVerdict, _ error: PostgresError, _ index: Int?, _ transaction: UploadTransaction,
        _ part: AttemptPlan.Step.Part = .writing
    ) {
        let sent = index.map { transaction.operations[$0] }
        if case .guarding(let parent) = part, verdict == .missingParent {
            self = .missing(parent)
            (self.index, table, rowID) = (index, sent?.table, sent?.id)
            return
        }
        self.init(
            code: verdict.code, message: verdict.sentence(raised: error.message), index: index,
            table: sent?.table ?? error.table, column: error.column, constraint: error.constraint,
            rowID: sent?.id, sqlstate: error.sqlstate)
    }

    /// Whether a suspect failure is the same; a timeout has the server's state, or none where our own clock ended it.
    fileprivate func isSameFailure(as other: Refusal) -> Bool {
        code == other.code && (sqlstate == other.sqlstate || code == "TIMEOUT_POISON")
    }
}
