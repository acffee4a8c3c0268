import PowerSyncPostgres
import PowerSyncSystem

/// Whether the database answers, asked at most every two seconds (backend 8.3).
package actor Readiness {
    private let pool: PostgresPool
    private let poller: Poller
    private var last: (answer: Bool, at: ContinuousClock.Instant)?
    private var asking: Task<Bool, Never>?

    /// Makes a probe of the pool's database.
    package init(pool: PostgresPool, poller: Poller) {
        self.pool = pool
        self.poller = poller
    }

    /// Asks the database, or gives the answer of less than two seconds ago.
    package func isDatabaseReachable() async -> Bool {
        if let last, ContinuousClock.now - last.at < .seconds(2) { return last.answer }
        let task = asking ?? Task { await Readiness.ask(pool, poller) }
        asking = task
        let answer = await task.value
        if asking == task {
            asking = nil
            last = (answer, .now)
        }
        return answer
    }

    private static func ask(_ pool: PostgresPool, _ poller: Poller) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    return try await pool.withConnection { try await $0.query("SELECT 1").rowCount == 1 }
                } catch {
                    return false
                }
            }
            group.addTask {
                // It is cancelled as soon as the database has answered; either way the answer is no.
                try? await poller.sleep(until: .now + .seconds(1))
                return false
            }
            let answer = await group.next() ?? false
            group.cancelAll()
            return answer
        }
    }
}
