import PowerSyncPostgres
import PowerSyncWire

/// Applies the transactions of a request in their order (backend 1.6).
package struct UploadApplier: Sendable {
    /// How long applying may take; after that the client is asked to come again (backend 1.8).
    package struct Times: Sendable, Hashable {
        /// All of a request.
        package var request = Duration.seconds(30)
        /// One transaction.
        package var transaction = Duration.seconds(10)
        /// What the database is asked behind that: whether the write is to blame.
        package var last = Duration.seconds(2)

        /// Makes the default times.
        package init() {}
    }

    /// What is shared by all transactions.
    package let tools: UploadTools
    /// Whether transactions behind a rejected one are tried in the same request
    /// (`BATCH_ON_FATAL_ERROR=skip`).
    package let continuesAfterFatalError: Bool
    /// Whether the bad operations of a legacy batch are cut out (`LEGACY_BATCH_MODE=isolate`).
    package let isolatesLegacyBatches: Bool
    /// How long it may take.
    package let times: Times

    /// Makes an applier of its parts.
    package init(
        tools: UploadTools, continuesAfterFatalError: Bool, isolatesLegacyBatches: Bool,
        times: Times = Times()
    ) {
        self.tools = tools
        self.continuesAfterFatalError = continuesAfterFatalError
        self.isolatesLegacyBatches = isolatesLegacyBatches
        self.times = times
    }

    /// Applies a request.
    ///
    /// - Parameters:
    ///   - body: the request.
    ///   - context: who sent it.
    /// - Returns: one result for each transaction.
    /// - Throws: `UploadFailure` where the first transaction failed and may succeed later, or the user is disabled, `PostgresError`
    ///   where nothing is to be applied and nobody can tell that, `DeadLetterQuota.Exhausted` where
    ///   its user came to the quota within it, `CancellationError`.
    package func apply(_ body: UploadBody, context: UploadContext) async throws -> [UploadResult] {
        let end = ContinuousClock.now + times.request
        // Whatever has operations asks within its transaction.
        if body.request.transactions.allSatisfy(\.operations.isEmpty) {
            try await requireEnabled(context.subject, until: end)
        }
        var results: [UploadResult] = []
        var isStopped = false
        for (index, transaction) in body.request.transactions.enumerated() {
            if isStopped {
                results.append(UploadResult(status: .notAttempted, txID: transaction.id))
                continue
            }
            if transaction.operations.isEmpty {
                results.append(UploadResult(status: .success, txID: transaction.id))
                continue
            }
            do {
                let result = try await apply(
                    Piece(
                        transaction: transaction, payload: body.payloads[index].arrayValue ?? [],
                        refusals: body.refusals[index]), of: body.request, context, until: end)
                results.append(result)
                guard result.status == .fatalError else { continue }
                isStopped = !continuesAfterFatalError
                guard !isStopped, index + 1 < body.request.transactions.count else { continue }
                do {
                    try await tools.quota.check(context.subject, until: end)
                } catch {
                    // What is committed is said; the rest would leave more letters, or nobody waits for it any more.
                    isStopped = true
                }
            } catch  where index > 0 && (error is UploadFailure || error is CancellationError) {
                // What is committed is said, whatever stopped the rest; that stays in the client's queue.
                let isDisabled = (error as? UploadFailure)?.code == BackendSchema.userDisabledCode
                let hasCommitted = results.contains { !$0.operations.isEmpty }
                if isDisabled, !hasCommitted { throw error }
                let failure = UploadResult.Failure(
                    operationIndex: nil, errorCode: BackendSchema.userDisabledCode,
                    message: "the user may not write any more")
                results.append(
                    UploadResult(
                        status: .retryableError, txID: transaction.id, failure: isDisabled ? failure : nil))
                isStopped = true
            }
        }
        return results
    }

    /// Requires that a user is not disabled.
    private func requireEnabled(_ subject: String, until end: ContinuousClock.Instant) async throws {
        let question = DisabledUsers.question(subject)
        let found = try await tools.pool.withConnection(until: end) {
            try await $0.query(question.sql, question.parameters, until: end)
        }
        if found.scalar == "true" { throw UploadFailure(code: BackendSchema.userDisabledCode) }
    }

    /// Some operations as they came.
    private struct Piece {
        var transaction: UploadTransaction
        var payload: [JSON]
        var refusals: [Int: Refusal]

        func cut(_ range: Range<Int>) -> Piece {
            var refusals: [Int: Refusal] = [:]
            for (index, refusal) in self.refusals where range.contains(index) {
                var refusal = refusal
                refusal.index = index - range.lowerBound
                refusals[index - range.lowerBound] = refusal
            }
            return Piece(
                transaction: UploadTransaction(
                    id: transaction.id, operations: Array(transaction.operations[range])),
                payload: Array(payload[range]), refusals: refusals)
        }
    }

    private func apply(
        _ whole: Piece, of request: UploadRequest, _ context: UploadContext,
        until end: ContinuousClock.Instant
    ) async throws -> UploadResult {
        let isolates = isolatesLegacyBatches && request.dialect == .batch
        switch try await run(whole, of: request, context, isolates: isolates, isPiece: false, until: end) {
        case .result(let result): return result
        case .cut(let poison):
            return try await applyPieces(of: whole, of: request, context, poison: poison, until: end)
        }
    }

    private func run(
        _ piece: Piece, of request: UploadRequest, _ context: UploadContext, isolates: Bool, isPiece: Bool,
        poison: Refusal? = nil, until end: ContinuousClock.Instant
    ) async throws -> TransactionAttempt.Outcome {
        var attempt = TransactionAttempt(
            tools: tools, context: context, transaction: piece.transaction, of: request,
            payload: piece.payload,
            refusals: piece.refusals, isolates: isolates, isPiece: isPiece, poison: poison,
            times: times, until: end)
        return try await attempt.run()
    }

    /// Applies what can be applied and rejects the rest, each operation for itself.
    private func applyPieces(
        of whole: Piece, of request: UploadRequest, _ context: UploadContext, poison: Refusal?,
        until end: ContinuousClock.Instant
    ) async throws -> UploadResult {
        var result = UploadResult(status: .success, txID: whole.transaction.id, replayed: true)
        let count = whole.transaction.operations.count
        var start = 0
        // A piece whose commit was refused, or that is a poison, is applied one by one.
        var aloneUntil = 0
        var alonePoison: Refusal?
        while start < count {
            let isAlone = start < aloneUntil
            let range = start..<min(count, start + (isAlone ? 1 : UploadPiece.limit))
            do {
                switch try await run(
                    whole.cut(range), of: request, context, isolates: true, isPiece: true,
                    poison: isAlone ? alonePoison : poison, until: end)
                {
                case .cut(let ofPiece):
                    aloneUntil = range.upperBound
                    // Many operations may be too slow together of which none is.
                    alonePoison = ofPiece?.code == "TIMEOUT_POISON" ? nil : ofPiece
                case .result(let part):
                    result.add(part, at: start)
                    start = range.upperBound
                    // The sender of a batch takes any answer of success for all of it.
                    if part.status == .fatalError, start < count {
                        try await tools.quota.check(context.subject, until: end)
                    }
                }
            } catch let failure as UploadFailure where failure.isBug && start > 0 {
                // Something is committed: behind a commit nothing is 500.
                throw UploadFailure(code: failure.code)
            }
        }
        return result
    }
}

extension UploadResult {
    /// Adds the result of the operations that follow; the first rejection is that of the whole.
    fileprivate mutating func add(_ part: UploadResult, at offset: Int) {
        replayed = replayed && part.replayed
        operations += part.operations.map { state in
            var state = state
            state.index += offset
            return state
        }
        guard part.status == .fatalError, status != .fatalError else { return }
        status = .fatalError
        failure = part.failure
        failure?.operationIndex = part.failure?.operationIndex.map { $0 + offset }
        rejectionID = part.rejectionID
    }
}
