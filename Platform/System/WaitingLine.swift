/// Decides who of those that wait for something may have it; a value, so that it can be tried without anybody waiting.
package protocol WaitingRule: Sendable {
    /// What somebody waits for.
    associatedtype Wish: Sendable

    /// Chooses who is next.
    ///
    /// - Parameter wishes: What is waited for, in the order in which it was asked for; at least one.
    /// - Returns: The index of a wish that can be granted now; nil while there is none.
    func next(_ wishes: [Wish]) -> Int?

    /// Grants a wish.
    mutating func grant(_ wish: Wish)
}

/// Why a wait was for nothing.
package enum WaitingRefusal: Error, Sendable, Hashable {
    /// As many wait as may.
    case lineIsFull
    /// There was nothing before the deadline.
    case tooLate
}

/// Tasks that wait for something until a rule lets them have it, a deadline passes or they are cancelled.
package final class WaitingLine<Rule: WaitingRule>: Sendable {
    private struct State {
        var rule: Rule
        var wishes: [Rule.Wish] = []
        /// Who waits for each wish.
        var waiters: [(id: UInt64, continuation: Resumption<Void, any Error>)] = []
        var lastID: UInt64 = 0

        /// Grants a wish at once, if those that wait are not before it.
        mutating func grants(_ wish: Rule.Wish) -> Bool {
            wishes.append(wish)
            defer { wishes.removeLast() }
            guard rule.next(wishes) == wishes.count - 1 else { return false }
            rule.grant(wish)
            return true
        }

        mutating func grantAll() -> [Resumption<Void, any Error>] {
            var granted: [Resumption<Void, any Error>] = []
            while !wishes.isEmpty, let index = rule.next(wishes) {
                rule.grant(wishes.remove(at: index))
                granted.append(waiters.remove(at: index).continuation)
            }
            return granted
        }
    }

    private let mostWaiting: Int
    private let poller: Poller
    private let state: Lock<State>

    /// Makes a line in which nobody waits.
    ///
    /// - Parameters:
    ///   - rule: Who may have what.
    ///   - mostWaiting: How many tasks may wait; one more is refused.
    ///   - poller: Tells when deadlines have passed.
    package init(_ rule: Rule, mostWaiting: Int = .max, poller: Poller) {
        self.mostWaiting = mostWaiting
        self.poller = poller
        state = Lock(State(rule: rule))
    }

    /// How many tasks wait.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Returns something of the rule.
    package func read<Value>(_ body: (Rule) -> Value) -> Value { state.withLock { body($0.rule) } }

    /// Changes the rule, as giving back does, and grants what can be granted now.
    package func change<Value>(_ body: (inout Rule) -> Value) -> Value {
        let (value, granted) = state.withLock { state in (body(&state.rule), state.grantAll()) }
        for continuation in granted { continuation.resume() }
        return value
    }

    /// Waits for something.
    ///
    /// - Parameters:
    ///   - wish: What.
    ///   - deadline: Until when; a moment that has passed means not at all.
    /// - Throws: `WaitingRefusal`, `CancellationError`; nothing is granted then.
    package func take(_ wish: Rule.Wish, until deadline: ContinuousClock.Instant) async throws {
        let id = state.withLock { state -> UInt64? in
            if state.grants(wish) { return nil }
            state.lastID += 1
            return state.lastID
        }
        guard let id else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [poller] in
                // It throws when the wish was granted first, or the task was cancelled: then there is no wait to end.
                guard (try? await poller.sleep(until: deadline)) != nil else { return }
                self.endWait(id, WaitingRefusal.tooLate)
            }
            defer { group.cancelAll() }
            try await wait(id, wish, until: deadline)
        }
    }

    private func wait(_ id: UInt64, _ wish: Rule.Wish, until deadline: ContinuousClock.Instant) async throws {
        try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                let answer = state.withLock { state -> Result<Void, any Error>? in
                    // Whoever ends the wait may have come already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.grants(wish) { return .success(()) }
                    if state.waiters.count >= mostWaiting { return .failure(WaitingRefusal.lineIsFull) }
                    if deadline <= .now { return .failure(WaitingRefusal.tooLate) }
                    state.wishes.append(wish)
                    state.waiters.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            endWait(id, CancellationError())
        }
    }

    /// Ends a wait unless it is over.
    private func endWait(_ id: UInt64, _ error: any Error) {
        let (ended, granted) = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                return (
                    nil as Resumption<Void, any Error>?, [Resumption<Void, any Error>]()
                )
            }
            state.wishes.remove(at: index)
            // What waited behind it may be granted now.
            return (state.waiters.remove(at: index).continuation, state.grantAll())
        }
        ended?.resume(throwing: error)
        for continuation in granted { continuation.resume() }
    }
}
