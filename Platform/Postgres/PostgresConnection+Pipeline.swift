import CPowerSyncPQ

extension PostgresConnection {
    /// Sends all statements and one Sync at once and returns one outcome for each: a single round trip.
    ///
    /// After an error the rest is `aborted`. Statements without BEGIN are one transaction. A transaction that began
    /// with BEGIN and failed is still open, in error, so roll it back. COPY cannot be used (backend 2.10). Errors of
    /// the server are outcomes; thrown is what concerns the connection, and then the outcome of a COMMIT is unknown.
    package func pipeline(_ statements: [PostgresStatement]) async throws -> [PostgresStatementOutcome] {
        for statement in statements { try Self.refuseNULs(statement.sql, statement.parameters) }
        guard !statements.isEmpty else { return [] }
        return try await exclusively {
            guard handle.enterPipeline() else { throw handle.lost() }
            activity = .pipeline
            do {
                for statement in statements { try handle.send(statement.sql, statement.parameters) }
                guard handle.sync() else { throw handle.lost() }
            } catch {
                // Some statements may be on their way without a Sync that ends them.
                handle.finish()
                throw error
            }
            return try await collectOutcomes(statements.count)
        }
    }

    private func collectOutcomes(_ count: Int) async throws -> [PostgresStatementOutcome] {
        var outcomes: [PostgresStatementOutcome] = []
        outcomes.reserveCapacity(count)
        while true {
            // Nil stands between the results of two statements.
            guard let result = try await nextResult() else {
                guard handle.isFine else { throw handle.lost() }
                continue
            }
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                outcomes.append(.result(PostgresResult(result)))
            case PGRES_PIPELINE_ABORTED:
                outcomes.append(.aborted)
            case PGRES_PIPELINE_SYNC:
                guard handle.exitPipeline(), outcomes.count == count else {
                    handle.finish()
                    throw PostgresError(
                        .malformedMessage, "\(outcomes.count) results for \(count) statements")
                }
                activity = .idle
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
