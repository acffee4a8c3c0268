import PowerSyncSystem

/// Whether a connection waits for a request; who has waited longest goes when there is no room for another.
final class Rest: Sendable {
    private enum State {
        case atWork
        case resting(since: ContinuousClock.Instant)
        case over
    }

    private let state = Lock(State.atWork)

    /// Since when the connection has been waiting for a request; nil while it has one, and at its end.
    var since: ContinuousClock.Instant? {
        state.withLock { state in
            if case .resting(let since) = state { since } else { nil }
        }
    }

    /// The connection waits for a request.
    func begin(since: ContinuousClock.Instant) { state.withLock { $0 = .resting(since: since) } }

    /// The connection looks at what has come; false if it was told to go.
    func end() -> Bool {
        state.withLock { state in
            if case .over = state { return false }
            state = .atWork
            return true
        }
    }

    /// Tells the connection to go, if it still waits and `isAlone` says that no request has arrived.
    func finish(if isAlone: () -> Bool) -> Bool {
        state.withLock { state in
            guard case .resting = state, isAlone() else { return false }
            state = .over
            return true
        }
    }
}
