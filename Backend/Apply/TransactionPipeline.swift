import PowerSyncPostgres

/// The statements of one transaction, sent in one round trip (backend 2.10): session, catalog, ledger, work, commit.
package struct TransactionPipeline: Sendable {
    /// How it ended.
    package enum Outcome: Sendable {
        /// Everything is committed; the results are those of the work.
        case committed([PostgresResult])
        /// Nothing is: the ledger has entries that were not consulted.
        case claimTaken
        /// Nothing is: the catalog is not that of the plan.
        case otherCatalog
        /// Nothing is: the user may do nothing any more.
        case disabled
        /// Nothing is: a statement failed.
        case failed(Failure, PostgresError)
    }

    /// Which statement failed.
    package enum Failure: Sendable, Hashable {
        /// One of the work.
        case work(Int)
        /// The commit.
        case commit
        /// One of the backend's own.
        case ours
    }

    private let opening: TransactionOpening
    private let work: [PostgresStatement]

    /// Makes the pipeline of a transaction.
    ///
    /// - Parameters:
    ///   - opening: how it begins.
    ///   - work: what is done.
    package init(_ opening: TransactionOpening, work: [PostgresStatement]) {
        self.opening = opening
        self.work = work
    }

    /// Runs it; what failed is still to be rolled back, which the pool does.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - deadline: when it must have ended.
    /// - Returns: how it ended.
    /// - Throws: `PostgresError` where the connection is of no more use: whether it committed may be unknown.
    package func run(
        on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        let count = opening.statements.count
        let outcomes = try await connection.pipeline(
            opening.statements + work + [PostgresStatement("COMMIT", keepsRows: false)], until: deadline)
        guard let index = outcomes.firstIndex(where: { $0.error != nil }), let error = outcomes[index].error
        else {
            let results = outcomes.compactMap(\.result)
            guard results.count == outcomes.count, results.last?.commandTag == "COMMIT" else {
                throw PostgresError(.malformedMessage, "the transaction ended without COMMIT")
            }
            return .committed(Array(results[count..<(count + work.count)]))
        }
        if DatabaseVerdict(error).dropsConnection {
            await connection.close()
            throw error
        }
        guard index >= count else { return opening.outcome(index, error) }
        return .failed(work.indices.contains(index - count) ? .work(index - count) : .commit, error)
    }
}

extension DatabaseVerdict {
    /// Classifies an error that the driver threw or the server answered.
    package init(_ error: PostgresError) {
        switch error.code {
        case .overloaded: self.init(sqlstate: "53300")
        case .timedOut: self = .silence
        case .busy, .invalidInput, .malformedMessage: self.init(sqlstate: "42601")
        case .closed: self.init(sqlstate: "53300")
        default:
            // What a trigger of the team called has a context, and is none of our own refusals.
            let isOfTeam = error.sqlstate == SQLRefusal.state && error.context != nil
            self.init(sqlstate: error.sqlstate, function: isOfTeam ? nil : error.function)
        }
    }
}
