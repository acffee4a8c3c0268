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
        for statement in segments.joined() { try Self.refuseNULs(statement.sql, statement.parameters) }
        guard !segments.isEmpty else { return [] }
        return try await exclusively(until: deadline) {
            guard handle.enterPipeline() else { throw handle.lost() }
            activity = .pipeline
            segmentsLeft = segments.count
            do {
                for segment in segments {
                    for statement in segment { try handle.send(statement.sql, statement.parameters) }
                    guard handle.sync() else { throw handle.lost() }
                }
            } catch {
                // Some statements may be on their way without a Sync that ends them.
                handle.finish()
                throw error
            }
            var outcomes: [[PostgresStatementOutcome]] = []
            outcomes.reserveCapacity(segments.count)
            for segment in segments {
                outcomes.append(try await collectOutcomes(of: segment, until: deadline))
            }
            guard handle.exitPipeline() else {
                handle.finish()
                throw PostgresError(.malformedMessage, "more results than statements")
            }
            activity = .idle
            return outcomes
        }
    }

    private func collectOutcomes(
        of statements: [PostgresStatement], until deadline: ContinuousClock.Instant?
    ) async throws -> [PostgresStatementOutcome] {
        var outcomes: [PostgresStatementOutcome] = []
        outcomes.reserveCapacity(statements.count)
        while true {
            // Nil stands between the results of two statements.
            guard let result = try await nextResult(until: deadline) else {
                guard handle.isFine else { throw handle.lost() }
                continue
            }
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                let index = outcomes.count
                let keepsRows = index < statements.count && statements[index].keepsRows
                outcomes.append(.result(PostgresResult(result, keepsRows: keepsRows)))
            case PGRES_PIPELINE_ABORTED:
                outcomes.append(.aborted)
            case PGRES_PIPELINE_SYNC:
                segmentsLeft -= 1
                guard outcomes.count == statements.count else {
                    handle.finish()
                    throw PostgresError(
                        .malformedMessage, "\(outcomes.count) results for \(statements.count) statements")
                }
                return outcomes
            case PGRES_COPY_OUT, PGRES_COPY_IN, PGRES_COPY_BOTH:
                handle.finish()
                throw PostgresError(.invalidInput, "COPY cannot be used in a pipeline")
            default:
                let error = result.error()
                guard handle.isFine else { throw error }
                outcomes.append(.error(error))
            }
        }
    }
}
