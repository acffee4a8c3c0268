import PowerSyncPostgres

/// The statements of one transaction, sent in one round trip (backend 2.10): session, ledger, work, commit.
package struct TransactionPipeline: Sendable {
    /// How it ended.
    package enum Outcome: Sendable {
        /// Everything is committed; the results are those of the work.
        case committed([PostgresResult])
        /// Nothing is: the ledger has the transaction, or some of its operations, already.
        case claimTaken
        /// Nothing is: a statement of the work failed, or the commit where there is no index.
        case failed(work: Int?, PostgresError)
    }

    private let opening: [PostgresStatement]
    private let work: [PostgresStatement]
    private let firstClaim: Int

    /// Makes the pipeline of a transaction.
    ///
    /// - Parameters:
    ///   - context: who uploads.
    ///   - claim: the statements of the ledger.
    ///   - work: what is done.
    package init(context: UploadContext, claim: [PostgresStatement], work: [PostgresStatement]) {
        opening = TransactionPipeline.session(context) + claim
        firstClaim = opening.count - claim.count
        self.work = work
    }

    /// The beginning of a transaction: policies and triggers see who writes (backend 2.9).
    package static func session(_ context: UploadContext) -> [PostgresStatement] {
        [
            PostgresStatement("BEGIN"),
            PostgresStatement(
                """
                SELECT set_config('request.jwt.claims', $1::text, true),
                    set_config('request.jwt.claim.sub', $2::text, true), set_config('app.user_id', $2::text, true)
                """, [context.claims, context.subject]),
        ]
    }

    /// Runs it; what failed is still to be rolled back, which the pool does.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: how it ended.
    /// - Throws: `PostgresError` where the connection is of no more use: whether it committed may be unknown.
    package func run(on connection: PostgresConnection) async throws -> Outcome {
        let outcomes = try await connection.pipeline(opening + work + [PostgresStatement("COMMIT")])
        guard let index = outcomes.firstIndex(where: { $0.error != nil }), let error = outcomes[index].error
        else {
            let results = outcomes.compactMap(\.result)
            guard results.count == outcomes.count, results.last?.commandTag == "COMMIT" else {
                throw PostgresError(.malformedMessage, "the transaction ended without COMMIT")
            }
            return .committed(Array(results[opening.count..<(opening.count + work.count)]))
        }
        if DatabaseVerdict(error).dropsConnection {
            await connection.close()
            throw error
        }
        return outcome(index, error)
    }

    private func outcome(_ index: Int, _ error: PostgresError) -> Outcome {
        if index >= firstClaim, index < opening.count {
            let isTaken = error.sqlstate == "23505" || error.sqlstate == BackendSchema.overlap
            return isTaken ? .claimTaken : .failed(work: nil, error)
        }
        let work = index - opening.count
        return .failed(work: self.work.indices.contains(work) ? work : nil, error)
    }
}

extension DatabaseVerdict {
    /// Classifies an error that the driver threw or the server answered.
    package init(_ error: PostgresError) {
        switch error.code {
        case .overloaded, .timedOut: self.init(sqlstate: "53300", message: "")
        case .busy, .invalidInput, .malformedMessage: self.init(sqlstate: "42601", message: "")
        case .closed: self.init(sqlstate: "53300", message: "")
        default: self.init(sqlstate: error.sqlstate, message: error.message)
        }
    }
}
