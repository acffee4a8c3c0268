import CPowerSyncPQ

extension PostgresConnection {
    /// Sends all statements and one Sync at once and returns one outcome for each: a single round trip.
    ///
    /// After an error the rest is `aborted`. Statements without BEGIN are one transaction. A transaction that began
    /// with BEGIN and failed is still open, in error, so roll it back. COPY cannot be used (backend 2.10).
    ///
    /// - Parameters:
    ///   - statements: What is done.
    ///   - deadline: When the call is over, as for `query`.
    /// - Returns: Errors of the server are outcomes, too.
    /// - Throws: `PostgresError` for what concerns the connection: if a COMMIT was among the statements and the error
    ///   `isOutcomeUnknown`, nobody knows whether it took place. `CancellationError`, of which the same is true.
    package func pipeline(
        _ statements: [PostgresStatement], until deadline: ContinuousClock.Instant? = nil
    ) async throws -> [PostgresStatementOutcome] {
        guard !statements.isEmpty else { return [] }
        return try await pipeline(segments: [statements], until: deadline)[0]
    }

    /// Sends all segments at once, each with a Sync behind it: still a single round trip.
    ///
    /// An error aborts the rest of its own segment alone, so a later segment can roll back to a savepoint and go on. That
    /// is also why COMMIT does not belong into a later segment than what it commits: when the call is cancelled, or its
    /// deadline passes, the server is told to stop one statement and goes on with the next segment.
    ///
    /// - Parameters:
    ///   - segments: What is done. The rows of a statement with `keepsRows` false are dropped as they are read.
    ///   - deadline: When the call is over, as for `query`.
    /// - Returns: The outcomes of each segment, one for each of its statements.
    /// - Throws: As the form with one segment does.
    package func pipeline(
        segments: [[PostgresStatement]], until deadline: ContinuousClock.Instant? = nil
    ) async throws -> [[PostgresStatementOutcome]] {
        for statement in segments.joined() { try Self.refuseNULs(statement.sql, statement.values) }
        guard !segments.isEmpty else { return [] }
        return try await exclusively(until: deadline) {
            // Within a transaction a name that is not there would end it.
            let drops = transactionStatus == .idle ? prepared?.takeDrops() ?? [] : []
            let uses = prepared?.uses(of: segments)
            guard handle.enterPipeline() else { throw handle.lost() }
            activity = .pipeline
            segmentsLeft = drops.count + segments.count
            do {
                for drop in drops {
                    try handle.send(drop.sql, drop.values)
                    guard handle.sync() else { throw handle.lost() }
                }
                for (index, segment) in segments.enumerated() {
                    for (place, statement) in segment.enumerated() {
                        try send(statement, uses?[index][place] ?? .unnamed)
                    }
                    guard handle.sync() else { throw handle.lost() }
                }
            } catch {
                // Some statements may be on their way without a Sync that ends them.
                handle.finish()
                throw error
            }
            do {
                for drop in drops { _ = try await collectOutcomes(of: [drop], nil, until: deadline) }
                var outcomes: [[PostgresStatementOutcome]] = []
                outcomes.reserveCapacity(segments.count)
                for (index, segment) in segments.enumerated() {
                    outcomes.append(try await collectOutcomes(of: segment, uses?[index], until: deadline))
                }
                guard handle.exitPipeline() else {
                    handle.finish()
                    throw PostgresError(.malformedMessage, "more results than statements")
                }
                activity = .idle
                if prepared != nil,
                    outcomes.joined().contains(where: { $0.error.map(PreparedStatements.ends(by:)) ?? false })
                {
                    prepared?.forget()
                }
                return outcomes
            } catch {
                // Nobody knows what was prepared of that which was on its way.
                prepared?.forget()
                throw error
            }
        }
    }

    private func send(
        _ statement: PostgresStatement, _ use: PreparedStatements.Use
    ) throws(PostgresError) {
        switch use {
        case .unnamed: try handle.send(statement.sql, statement.values)
        case .preparing(let name):
            try handle.prepare(name, statement.sql)
            try handle.send(prepared: name, statement.values)
        case .named(let name): try handle.send(prepared: name, statement.values)
        }
    }

    /// Reads the results of a segment up to its Sync; of a statement that is prepared there are two.
    private func collectOutcomes(
        of statements: [PostgresStatement], _ uses: [PreparedStatements.Use]?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> [PostgresStatementOutcome] {
        var outcomes: [PostgresStatementOutcome] = []
        outcomes.reserveCapacity(statements.count)
        // What became of preparing the statement whose own result comes next.
        var preparing: PostgresStatementOutcome?
        while true {
            // Nil stands between the results of two statements.
            guard let result = try await nextResult(until: deadline) else {
                guard handle.isFine else { throw handle.lost() }
                continue
            }
            let index = outcomes.count
            if result.status == PGRES_PIPELINE_SYNC {
                segmentsLeft -= 1
                guard index == statements.count else {
                    handle.finish()
                    throw PostgresError(
                        .malformedMessage, "\(index) results for \(statements.count) statements")
                }
                return outcomes
            }
            let isAwaited = index < statements.count
            let outcome = try outcome(of: result, keepsRows: isAwaited && statements[index].keepsRows)
            guard isAwaited, let name = uses?[index].newName else {
                outcomes.append(outcome)
                continue
            }
            if let former = preparing {
                // Behind a statement that cannot be prepared its own result is that it was aborted.
                outcomes.append(former.result == nil ? former : outcome)
                preparing = nil
            } else {
                if outcome.result != nil { prepared?.made(statements[index].sql, name) }
                preparing = outcome
            }
        }
    }

    private func outcome(
        of result: ResultHandle, keepsRows: Bool
    ) throws(PostgresError) -> PostgresStatementOutcome {
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            return .result(PostgresResult(result, keepsRows: keepsRows))
        case PGRES_PIPELINE_ABORTED: return .aborted
        case PGRES_COPY_OUT, PGRES_COPY_IN, PGRES_COPY_BOTH:
            handle.finish()
            throw PostgresError(.invalidInput, "COPY cannot be used in a pipeline")
        default:
            let error = result.error()
            guard handle.isFine else { throw error }
            return .error(error)
        }
    }
}
