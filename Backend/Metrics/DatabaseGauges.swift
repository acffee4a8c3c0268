import PowerSyncPostgres

/// What only the database knows of the state of things: letters that nobody has seen to, and slots of replication.
///
/// One question for all that is asked at once, of at most a second; its answer holds for ten. Where there is none, nothing is
/// told: a number of before would look as if all were well.
actor DatabaseGauges {
    /// What was found.
    struct Reading: Sendable, Hashable {
        /// The open letters.
        var openLetters: String
        /// How many seconds ago the oldest of them came; 0 without any.
        var oldestSeconds: String
        /// The bytes of the log that the slot furthest behind keeps; nil without a slot, or where the server cannot tell.
        var slotLag: String?
        /// How many slots are in each state.
        var slots: [String: String]
    }

    /// What a slot may be: of the log that it needs all is there (reserved, extended), some goes soon, or some is gone.
    static let states = ["reserved", "extended", "unreserved", "lost"]
    private static let holds = Duration.seconds(10)
    private static let patience = Duration.seconds(1)

    private let pool: PostgresPool
    private var last: (reading: Reading?, at: ContinuousClock.Instant)?
    private var asking: Task<Reading?, Never>?

    /// Makes gauges that have asked nothing yet.
    init(_ pool: PostgresPool) { self.pool = pool }

    /// What the database says, or has said in the last ten seconds; nil where it says nothing.
    func reading() async -> Reading? {
        if let last, ContinuousClock.now - last.at < Self.holds { return last.reading }
        let task = asking ?? Task { [pool] in await Self.ask(pool) }
        asking = task
        let reading = await task.value
        if asking == task {
            asking = nil
            last = (reading, .now)
        }
        return reading
    }

    /// Ends the question that is being asked.
    func close() { asking?.cancel() }

    private static func ask(_ pool: PostgresPool) async -> Reading? {
        let end = ContinuousClock.now + patience
        // Why there is no answer, whoever uploads is told, and the log.
        let found = try? await pool.withConnection(until: end) { try await $0.query(question, until: end) }
        guard let found, found.rowCount == 1, let letters = found[0, 0], let oldest = found[0, 1] else {
            return nil
        }
        let counts = states.indices.map { found[0, 3 + $0] ?? "0" }
        return Reading(
            openLetters: letters, oldestSeconds: oldest, slotLag: found[0, 2],
            slots: Dictionary(uniqueKeysWithValues: zip(states, counts)))
    }

    /// A standby has no place in the log that it writes.
    private static let question = """
        SELECT l.count::text, l.oldest::text, s.lag::bigint::text, \(states.map { "s.\($0)::text" }.joined(separator: ", "))
        FROM (SELECT count(*) AS count, coalesce(extract(epoch FROM now() - min(occurred_at)), 0)::bigint AS oldest
            FROM psb.dead_letters WHERE state = 'open') AS l
        CROSS JOIN (SELECT max(CASE WHEN NOT pg_catalog.pg_is_in_recovery()
                THEN pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), r.restart_lsn) END) AS lag,
            \(states.map { "count(*) FILTER (WHERE r.wal_status = '\($0)') AS \($0)" }.joined(separator: ", "))
            FROM pg_catalog.pg_replication_slots r WHERE r.database = pg_catalog.current_database()) AS s
        """
}
