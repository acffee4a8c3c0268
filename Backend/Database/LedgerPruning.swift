import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Forgets, every hour, what the ledger no longer needs (backend 3.5).
///
/// It walks through all that is old enough in the order of its age, a batch at a time, each with a timeout of its own, at the
/// pace that the database allows.
struct LedgerPruning: Sendable {
    let pool: PostgresPool
    let poller: Poller
    let log: Log

    /// The most entries that a batch looks at.
    private static let batch = 1_000
    /// How long a batch may take.
    private static let timeout = Duration.seconds(5)

    /// Where a walk is: behind the entry of this age and number.
    struct Position: Sendable, Equatable {
        /// When the entry was made, as Postgres prints it.
        let createdAt: String
        /// Its number.
        let id: String

        /// Before all entries.
        static let start = Position(createdAt: "-infinity", id: "0")
    }

    /// Runs until its task is cancelled.
    func run() async {
        while true {
            do {
                let removed = try await walk()
                if removed > 0 { log.info("ledger pruned", ["ledger.entries": String(removed)]) }
            } catch is CancellationError {
                return
            } catch {
                log.warning("ledger not pruned to its end", ["error": "\(error)"])
            }
            // It only throws when the task is cancelled.
            guard (try? await poller.sleep(until: .now + .seconds(3_600))) != nil else { return }
        }
    }

    /// Prunes everything that may be forgotten now.
    ///
    /// - Returns: how many entries there were.
    /// - Throws: `PostgresError`, `CancellationError`; the next walk begins anew.
    func walk() async throws -> Int {
        var removed = 0
        var pace = PruningPace(most: LedgerPruning.batch, poller: poller, log: log)
        var position: Position? = .start
        while let from = position {
            let batch = try await pace.run { try await prune(from: from, most: $0) }
            position = batch.next
            removed += batch.removed
        }
        for sql in LedgerPruning.others {
            var count: Int
            repeat {
                count = try await pace.run { try await prune(sql, most: $0) }
                removed += count
            } while count == pace.size
        }
        return removed
    }

    /// A batch of the ledger: an entry goes once it is a day old and the client has confirmed all of it by a later request.
    ///
    /// The client's last entry alone says what is confirmed, so that a batch costs the same however many entries a client
    /// has: those of one request, of which there may be tens of thousands, confirm nothing of each other.
    ///
    /// What nobody ever confirms is bounded, too, or whoever makes up clients would fill the table: of what is older than 60
    /// days a user keeps the newest 10,000 entries, more or less a batch.
    private func prune(
        from position: Position, most size: Int
    ) async throws -> (next: Position?, removed: Int) {
        let results = try await transaction(
            PostgresStatement(
                """
                WITH looked AS (
                    SELECT user_id, client_id, last_op_id, id, created_at FROM psb.ledger
                    WHERE (created_at, id) > ($1::timestamptz, $2::bigint) AND created_at < now() - interval '1 day'
                    ORDER BY created_at, id LIMIT $3::bigint
                ), crowded AS MATERIALIZED (
                    SELECT o.user_id
                    FROM (SELECT DISTINCT user_id FROM looked WHERE created_at < now() - interval '60 days') AS o
                    WHERE 10000 < (SELECT count(*) FROM (SELECT FROM psb.ledger l
                        WHERE l.user_id = o.user_id AND l.created_at < now() - interval '60 days' LIMIT 10001) AS aged)
                ), removed AS (
                    DELETE FROM psb.ledger l USING looked o
                    WHERE l.user_id = o.user_id AND l.client_id = o.client_id AND l.last_op_id = o.last_op_id AND l.id = o.id
                        AND (o.last_op_id <= (SELECT n.confirmed_op_id FROM psb.ledger n
                                WHERE n.user_id = o.user_id AND n.client_id = o.client_id
                                ORDER BY n.last_op_id DESC, n.id DESC LIMIT 1)
                            OR o.created_at < now() - interval '60 days'
                                AND o.user_id IN (SELECT c.user_id FROM crowded c))
                    RETURNING 1
                )
                SELECT (SELECT count(*) FROM removed)::text, o.created_at::text, o.id::text FROM looked o
                ORDER BY o.created_at DESC, o.id DESC LIMIT 1
                """, [position.createdAt, position.id, String(size)]))
        guard let last = results.first, last.rowCount > 0, let createdAt = last[0, 1], let id = last[0, 2]
        else {
            return (nil, 0)
        }
        return (Position(createdAt: createdAt, id: id), last[0, 0].flatMap { Int($0) } ?? 0)
    }

    private func prune(_ sql: String, most size: Int) async throws -> Int {
        try await transaction(PostgresStatement(sql, [String(size)])).first?.affectedRows ?? 0
    }

    /// What guarded a server's own retries goes after an hour, counters of failures after 14 days.
    private static let others = [
        """
        DELETE FROM psb.commits WHERE id IN (SELECT id FROM psb.commits
            WHERE created_at < now() - interval '1 hour' ORDER BY created_at LIMIT $1::bigint)
        """,
        """
        DELETE FROM psb.upload_attempts WHERE ctid IN (SELECT ctid FROM psb.upload_attempts
            WHERE last_at < now() - interval '14 days' LIMIT $1::bigint)
        """,
    ]

    private func transaction(_ statement: PostgresStatement) async throws -> [PostgresResult] {
        let outcomes = try await pool.withConnection { connection in
            try await connection.pipeline([
                PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"),
                PostgresStatement(
                    "SELECT set_config('statement_timeout', $1::text, true)",
                    [String(LedgerPruning.timeout.milliseconds)]),
                statement, PostgresStatement("COMMIT"),
            ])
        }
        if let error = outcomes.compactMap(\.error).first { throw error }
        return [outcomes[2].result].compactMap { $0 }
    }
}
