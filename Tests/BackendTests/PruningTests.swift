import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The ledger is pruned while uploads arrive (backend 3.5).
///
/// Where `POWERSYNC_PRUNING_SECONDS` says for how long, uploads are measured beside a ledger of `POWERSYNC_LEDGER_ENTRIES`;
/// 600 and 5,000,000 are what is promised.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .serialized)
struct PruningTests {
    private static let seconds = TestOptions.number("POWERSYNC_PRUNING_SECONDS", standard: 0)
    private static let entries = TestOptions.number("POWERSYNC_LEDGER_ENTRIES", standard: 5_000_000)
    /// How often uploads are measured without pruning, and how often with it.
    private static let phases = 3

    // MARK: A ledger of before

    /// The operations that each client has in it, in requests of 50, over five days.
    private static let operationsOfBefore = 1_000

    /// Makes a list of entries and fills the ledger with them.
    ///
    /// Four fifths of the entries are a day old. One client of ten has not confirmed any: all of it came in one request.
    private static func fill(_ backend: TestBackend, entries: Int) async throws {
        let clients = entries / operationsOfBefore
        _ = try await backend.query(
            """
            CREATE TABLE before AS SELECT 'u' || client AS user_id, 'c' AS client_id, op AS last_op_id,
                    CASE client % 10 WHEN 0 THEN 0 ELSE (op - 1) / 50 * 50 END AS confirmed_op_id,
                    now() - interval '5 days' * (1 - n::float8 / \(entries)) AS created_at
                FROM (SELECT n, n % \(clients) AS client, n / \(clients) + 1 AS op
                    FROM generate_series(0, \(entries - 1)) AS n) AS made
            """)
        _ = try await backend.query(
            """
            INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, tx_id, op_ids, op_hashes,
                    hashing, verdict, created_at)
                SELECT user_id, client_id, last_op_id, last_op_id, confirmed_op_id, last_op_id, ARRAY[last_op_id],
                    ARRAY[last_op_id], 2, 1, created_at
                FROM before ORDER BY created_at
            """)
        // As it is days later.
        _ = try await backend.query("VACUUM (ANALYZE) psb.ledger")
        _ = try await backend.query("CHECKPOINT")
    }

    /// Prunes to the end and compares what is left with what must be.
    private static func expectThatOnlyTheConfirmedIsGone(_ backend: TestBackend) async throws {
        // What becomes a day old from here on may be left over.
        let moment = try await backend.scalar("SELECT (now() - interval '1 day')::text")
        _ = try await backend.backend.pruneLedger()
        let counts = try await backend.query(
            """
            SELECT count(*) FILTER (WHERE l.id IS NULL AND NOT (b.created_at < now() - interval '1 day' AND is_confirmed)),
                count(*) FILTER (WHERE l.id IS NOT NULL AND b.created_at < $1::timestamptz AND is_confirmed),
                count(*) FILTER (WHERE l.id IS NULL) > 0
            FROM before b LEFT JOIN psb.ledger l USING (user_id, client_id, last_op_id)
                LEFT JOIN (SELECT user_id, client_id, max(confirmed_op_id) AS confirmed FROM psb.ledger GROUP BY 1, 2) AS c
                    USING (user_id, client_id)
                CROSS JOIN LATERAL (SELECT b.last_op_id <= coalesce(c.confirmed, 0) AS is_confirmed) AS known
            """, [moment])
        #expect(counts == [["0", "0", "t"]], "lost, left over, whether any is gone")
    }

    // MARK: Uploads

    /// A client that was there before, and sends 50 transactions a time.
    private final class Client: Sendable {
        private let backend: TestBackend
        private let user: Int
        private let fields: HTTPFields
        private let last = Lock(operationsOfBefore)

        init(_ backend: TestBackend, user: Int) async throws {
            self.backend = backend
            self.user = user
            fields = ["authorization": "Bearer \(try await backend.token("u\(user)"))"]
        }

        /// How many operations it has sent.
        var sent: Int { last.withLock { $0 } - operationsOfBefore }

        /// Sends the next transactions.
        func upload() async throws { try await upload(after: last.withLock { $0 }, "applied") }

        /// Sends the last transactions again.
        func repeatUpload() async throws { try await upload(after: last.withLock { $0 } - 50, "replayed") }

        private func upload(after first: Int, _ state: String) async throws {
            let transactions = (1...50).map { number in
                #"{"crud":[{"op_id":\#(first + number),"op":"PUT","table":"lists","id":"\#(user)-\#(number)","#
                    + #""data":{"name":"\#(first + number)"}}]}"#
            }
            let answer = try await backend.send(
                "POST", "/api/data",
                #"{"v":1,"client_id":"c","transactions":[\#(transactions.joined(separator: ","))]}"#,
                fields: fields)
            try #require(answer.states == Array(repeating: state, count: 50), "status \(answer.status)")
            last.withLock { $0 = first + 50 }
        }
    }

    private static func clients(_ count: Int, _ backend: TestBackend) async throws -> [Client] {
        var clients: [Client] = []
        for user in 0..<count { clients.append(try await Client(backend, user: user)) }
        return clients
    }

    /// What the clients have sent is entered, and known when it comes again.
    private static func expectThatEverythingSentIsKnown(
        _ clients: [Client], _ backend: TestBackend
    ) async throws {
        let entered = try await backend.scalar(
            "SELECT count(*) FROM psb.ledger WHERE last_op_id > \(operationsOfBefore)")
        #expect(entered == String(clients.reduce(0) { $0 + $1.sent }))
        for client in clients { try await client.repeatUpload() }
    }

    // MARK: Tests

    @Test func whatMustBeKeptIsKeptWhileUploadsArrive() async throws {
        try await TestBackend.with { backend in
            try await Self.fill(backend, entries: 20_000)
            let clients = try await Self.clients(4, backend)
            let isPruned = Lock(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in clients {
                    group.addTask {
                        repeat { try await client.upload() } while !isPruned.withLock { $0 }
                    }
                }
                group.addTask {
                    defer { isPruned.withLock { $0 = true } }
                    try await wait(for: "uploads to arrive") { clients.contains { $0.sent > 0 } }
                    _ = try await backend.backend.pruneLedger()
                }
                try await group.waitForAll()
            }
            try await Self.expectThatOnlyTheConfirmedIsGone(backend)
            try await Self.expectThatEverythingSentIsKnown(clients, backend)
        }
    }

    /// A batch that the database stops is tried again soon, from where it began and with half as many entries.
    @Test func aBusyMomentEndsNoWalk() async throws {
        let first = try await TestBackend.start()
        await first.stop()
        let poller = try Poller()
        defer { poller.stop() }
        let holder = try await PostgresConnection.connect(first.uri, poller: poller)
        let insert = """
            INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, tx_id, op_ids, op_hashes,
                hashing, verdict, created_at)
            """
        try await holder.query(
            """
            \(insert) SELECT 'u1', 'c', n, n, n - 1, n, ARRAY[n], ARRAY[n], 2, 1,
                now() - interval '2 days' + n * interval '1 second'
            FROM generate_series(1, 1500) AS n
            """)
        // In the second batch.
        try await holder.script("BEGIN; SELECT FROM psb.ledger WHERE last_op_id = 1200 FOR UPDATE")
        try await TestBackend.with(schema: "SELECT 1", uri: first.uri) { backend in
            try await backend.waitForLocked(1)
            // Older than what the walk has passed: one that begins anew removes the first.
            _ = try await backend.query(
                """
                \(insert) SELECT 'u2', 'c', n, n, n - 1, n, ARRAY[n], ARRAY[n], 2, 1, now() - interval '3 days'
                FROM generate_series(1, 2) AS n
                """)
            // Unless it has come to its own timeout.
            try await backend.cancelLocked()
            try await wait(for: "a smaller batch") {
                backend.lines.withLock { $0.contains { $0.contains("pruning.batch=500") } }
            }
            try await holder.script("ROLLBACK")
            try await wait(for: "the end of the walk") {
                backend.lines.withLock { $0.contains { $0.contains("ledger pruned") } }
            }
            let left = try await backend.query(
                "SELECT user_id, count(*), min(last_op_id) FROM psb.ledger GROUP BY user_id ORDER BY user_id")
            #expect(left == [["u1", "1", "1500"], ["u2", "2", "1"]])
        }
        await holder.close()
    }

    @Test(.enabled(if: seconds > 0)) func uploadsAreHardlySlowerWhileALedgerOfMillionsShrinks() async throws {
        try await TestBackend.with({ $0.poolSize = 8 }) { backend in
            try await Self.fill(backend, entries: Self.entries)
            let clients = try await Self.clients(20, backend)
            // The first ones open connections and plan statements.
            _ = try await Self.arrivals(from: clients, seconds: 5)
            let before = try await Self.count(backend)
            var quiet: [Duration] = []
            var pruned: [Duration] = []
            let start = ContinuousClock.now
            for _ in 0..<Self.phases {
                let part = Self.seconds / (2 * Self.phases)
                quiet += try await Self.arrivals(from: clients, seconds: part)
                pruned += try await Self.whilePruning(backend) {
                    try await Self.arrivals(from: clients, seconds: part)
                }
            }
            let took = start.duration(to: .now)
            let after = try await Self.count(backend)
            let (without, with) = (quiet.percentile99, pruned.percentile99)
            let arrived = (quiet.count + pruned.count) * 50
            let figures =
                "pruning: p99 \(without) without, \(with) with, ratio \(with / without); entries \(before) before, "
                + "\(after) after, \(arrived) arrived in \(took)"
            print(figures)
            #expect(after < before, "\(figures)")
            #expect(with <= without.doubled, "\(figures)")
            try await Self.expectThatOnlyTheConfirmedIsGone(backend)
            try await Self.expectThatEverythingSentIsKnown(clients, backend)
        }
    }

    private static func count(_ backend: TestBackend) async throws -> Int {
        let count = try await backend.scalar("SELECT count(*) FROM psb.ledger")
        return try #require(count.flatMap { Int($0) })
    }

    /// Sends a request of each client in each second, one after another, however long the former ones take.
    ///
    /// - Returns: how long each took, from when it was due.
    private static func arrivals(from clients: [Client], seconds: Int) async throws -> [Duration] {
        let start = ContinuousClock.now
        return try await withThrowingTaskGroup(of: [Duration].self) { group in
            for (number, client) in clients.enumerated() {
                group.addTask {
                    var durations: [Duration] = []
                    for second in 0..<seconds {
                        let due = start + .seconds(second) + .seconds(1) * number / clients.count
                        try await ContinuousClock().sleep(until: due)
                        try await client.upload()
                        durations.append(due.duration(to: .now))
                    }
                    return durations
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Does something while the ledger is pruned, again and again.
    private static func whilePruning<Value: Sendable>(
        _ backend: TestBackend, _ body: () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled { _ = try await backend.backend.pruneLedger() }
            }
            let value = try await body()
            group.cancelAll()
            do {
                try await group.waitForAll()
            } catch is CancellationError {
                // In the midst of a batch.
            }
            return value
        }
    }
}
