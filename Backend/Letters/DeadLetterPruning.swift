import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Removes, every hour, dead letters that are older than they are kept (backend 3.4).
package struct DeadLetterPruning: Sendable {
    /// The most letters that one statement removes, so that none takes long.
    private static let batch = 500

    private let policy: DeadLetterPolicy
    private let pool: PostgresPool
    private let poller: Poller
    private let log: Log

    /// Makes a pruning.
    package init(policy: DeadLetterPolicy, pool: PostgresPool, poller: Poller, log: Log) {
        self.policy = policy
        self.pool = pool
        self.poller = poller
        self.log = log
    }

    /// Runs until its task is cancelled.
    func run() async {
        while true {
            do {
                let count = try await prune()
                if count > 0 { log.info("dead letters pruned", ["letters.rows": String(count)]) }
            } catch is CancellationError {
                return
            } catch {
                log.warning("dead letters not pruned to their end", ["error": "\(error)"])
            }
            do {
                let going = try await going()
                if going > 0 {
                    log.warning(
                        "open dead letters are about to be pruned, and nobody has seen to them",
                        ["letters.rows": String(going), "letters.look": "powersync-backend letters list"])
                }
            } catch is CancellationError {
                return
            } catch {
                log.warning("dead letters that are about to be pruned not counted", ["error": "\(error)"])
            }
            // It only throws when the task is cancelled.
            guard (try? await poller.sleep(until: .now + .seconds(3_600))) != nil else { return }
        }
    }

    /// How many letters will be removed soon although nobody has seen to them.
    ///
    /// - Throws: `PostgresError`, `CancellationError`.
    package func going() async throws -> Int {
        var pace = pace
        return try await pace.run { _ in
            try await pool.withConnection { [policy] in
                try await DeadLetterTable.open(olderThan: policy.warned, on: $0)
            }
        }
    }

    /// Removes what is too old, batch by batch.
    ///
    /// - Returns: how many letters.
    /// - Throws: `PostgresError`, `CancellationError`; what was removed before stays so.
    package func prune() async throws -> Int {
        var pace = pace
        var total = 0
        while true {
            let count = try await pace.run { most in
                try await pool.withConnection { [policy] connection in
                    try await DeadLetterTable.prune(olderThan: policy.kept, most: most, on: connection)
                }
            }
            total += count
            if count < pace.size { return total }
        }
    }

    private var pace: PruningPace { PruningPace(most: Self.batch, poller: poller, log: log) }
}
