import PowerSyncSystem
import PowerSyncWire

/// Lets something be done for each user so many times at once; what comes on top waits in its order.
///
/// Nothing that all users share is held by those who wait, such as a connection to the database.
final class UserTurns: Sendable {
    private struct Line {
        let turns: Budget
        /// Those that wait and those in work; with the last of them the line goes.
        var count = 0
    }

    private let limit: Int
    private let mostWaiting: Int
    private let poller: Poller
    private let lines = Lock<[ExactText: Line]>([:])

    /// Makes turns of which nobody has one.
    ///
    /// - Parameters:
    ///   - limit: how many of a user are in work at once.
    ///   - mostWaiting: how many more of a user may wait; one more is refused.
    ///   - poller: tells when somebody has waited too long.
    init(limit: Int, mostWaiting: Int = 64, poller: Poller) {
        self.limit = limit
        self.mostWaiting = mostWaiting
        self.poller = poller
    }

    /// The users of whom something is in work or waits.
    var users: Int { lines.withLock { $0.count } }

    /// How many of a user wait.
    func waiting(_ user: String) -> Int { lines.withLock { $0[ExactText(user)]?.turns.waiting ?? 0 } }

    /// Does something when it is its turn.
    ///
    /// - Parameters:
    ///   - user: for whom.
    ///   - deadline: until when to wait.
    ///   - body: what is done.
    /// - Returns: what it returns.
    /// - Throws: what it throws; `Budget.Refusal`, `CancellationError`.
    func run<Value: Sendable>(
        _ user: String, until deadline: ContinuousClock.Instant, _ body: () async throws -> Value
    ) async throws -> Value {
        let name = ExactText(user)
        let turns = enter(name)
        defer { leave(name) }
        try await turns.take(1, until: deadline)
        defer { turns.giveBack(1) }
        return try await body()
    }

    private func enter(_ name: ExactText) -> Budget {
        lines.withLock { lines in
            var line = lines[name] ?? Line(turns: Budget(limit, mostWaiting: mostWaiting, poller: poller))
            line.count += 1
            lines[name] = line
            return line.turns
        }
    }

    private func leave(_ name: ExactText) {
        lines.withLock { lines in
            lines[name]?.count -= 1
            if lines[name]?.count == 0 { lines[name] = nil }
        }
    }
}
