import CPowerSyncPQ

extension PostgresConnection {
    /// Runs one statement with parameters in text form (`$1`…; nil is NULL), by the extended protocol.
    ///
    /// An error of the server is thrown with its SQLSTATE and leaves the connection usable.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - parameters: The values of its parameters.
    ///   - deadline: When the call is over; nil leaves it to the connection's patience (`setPatience`).
    /// - Returns: Its rows and its command tag.
    /// - Throws: `PostgresError`, of which `isOutcomeUnknown` tells whether the statement may have been done all the same;
    ///   after the deadline it is `timedOut`, at most a second later, and the connection is closed if the server did not
    ///   stop the statement in that second. `CancellationError`.
    @discardableResult
    package func query(
        _ sql: String, _ parameters: [String?] = [], until deadline: ContinuousClock.Instant? = nil
    ) async throws -> PostgresResult {
        let values = PostgresParameters(parameters)
        try Self.refuseNULs(sql, values)
        return try await exclusively(until: deadline) {
            try handle.send(sql, values)
            activity = .statement
            let results = try await collectResults(until: deadline)
            guard let result = results.last else {
                throw PostgresError(.malformedMessage, "the server sent no result")
            }
            return result
        }
    }

    /// Runs the statements of a text by the simple protocol, as one transaction unless it says otherwise.
    ///
    /// The first error ends it and is thrown. Also for replication commands, which know no other protocol.
    ///
    /// - Parameters:
    ///   - sql: The statements.
    ///   - deadline: When the call is over, as for `query`.
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`, `CancellationError`.
    @discardableResult
    package func script(
        _ sql: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> [PostgresResult] {
        try refuseNUL(sql, "a script")
        return try await exclusively(until: deadline) {
            try handle.send(sql)
            activity = .statement
            return try await collectResults(until: deadline)
        }
    }

    /// Reads results up to the end of what was sent, then throws the first error, if there was one.
    func collectResults(until deadline: ContinuousClock.Instant? = nil) async throws -> [PostgresResult] {
        var results: [PostgresResult] = []
        var failure: PostgresError?
        while let result = try await nextResult(until: deadline) {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                results.append(PostgresResult(result))
            case PGRES_COPY_OUT, PGRES_COPY_IN, PGRES_COPY_BOTH:
                // Thrown while the COPY is under way, so that `exclusively` ends it.
                throw PostgresError(.invalidInput, "COPY and replication have calls of their own")
            default:
                failure = failure ?? result.error()
            }
        }
        activity = .idle
        if let failure { throw failure }
        return results
    }

    static func refuseNULs(_ sql: String, _ parameters: PostgresParameters) throws(PostgresError) {
        try refuseNUL(sql, "a statement")
        guard parameters.hasNUL else { return }
        throw PostgresError.nul(in: "a parameter")
    }
}
