import PowerSyncSystem

/// What the probes tell of replication (service 1.9).
final class ServiceHealth: Sendable {
    private struct State {
        var step = ContinuousClock.now
        /// The links that are down, or silent, by configuration: there are two while one takes the other's place.
        var down: Set<String> = []
    }

    private let state = Lock(State())
    private let liveness: Duration

    init(liveness: Duration) { self.liveness = liveness }

    /// Replication has taken a step, be it a failed try.
    func step() { state.withLock { $0.step = .now } }

    /// The source has been heard on a link.
    func heard(_ link: String) {
        state.withLock { state in
            state.step = .now
            state.down.remove(link)
        }
    }

    /// A link is silent, or lost.
    func isDown(_ link: String) {
        state.withLock { state in
            state.step = .now
            state.down.insert(link)
        }
    }

    /// Forgets a link that is over.
    func forget(_ link: String) { state.withLock { _ = $0.down.remove(link) } }

    /// Whether replication goes on as it should; readiness is more than this.
    var isConnected: Bool { state.withLock { $0.down.isEmpty } }

    /// How long ago replication took a step.
    var sinceStep: Duration { state.withLock { .now - $0.step } }

    /// Whether replication took a step not long ago.
    var isAlive: Bool { sinceStep < liveness }
}
