import PowerSyncSystem

/// What the probes tell of replication (service 1.9).
package final class ServiceHealth: Sendable {
    private struct State {
        var step: ContinuousClock.Instant
        /// When the next step is due at the latest.
        var due: ContinuousClock.Instant
        var isDown = false
        /// Why it is down, if that is known.
        var failure: String?
    }

    /// One link to the source: there are two while one configuration takes the other's place.
    package struct Link: Sendable {
        fileprivate let health: ServiceHealth
        fileprivate let name: String

        /// Notes that replication has taken a step, be it a failed try.
        ///
        /// - Parameter patience: How long the next one takes by its nature, as a wait with a deadline of its own does.
        package func step(before patience: Duration = .zero) { health.note(name, patience) { _ in } }

        /// Notes that something goes on beside the step that is being taken, whose time is not cut short by that.
        package func goesOn() { health.extend(name) }

        /// Notes that the source has been heard.
        package func isHeard() {
            health.note(name) { state in
                state.isDown = false
                state.failure = nil
            }
        }

        /// Notes that the source is silent, or lost, or has yet to be heard.
        ///
        /// - Parameter failure: Why; as before unless it is said.
        package func isDown(because failure: String? = nil) {
            health.note(name) { state in
                state.isDown = true
                state.failure = failure ?? state.failure
            }
        }

        /// Forgets the link: it is over.
        package func end() { health.links.withLock { $0[name] = nil } }
    }

    private let links = Lock<[String: State]>([:])
    private let liveness: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant

    /// Begins without a link.
    ///
    /// - Parameters:
    ///   - liveness: How long a link may take no step.
    ///   - now: The time.
    package init(
        liveness: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.liveness = liveness
        self.now = now
        start = now()
    }

    /// The link of a configuration.
    package func link(_ name: String) -> Link { Link(health: self, name: name) }

    private func note(_ link: String, _ patience: Duration = .zero, _ change: (inout State) -> Void) {
        let now = now()
        links.withLock { links in
            var state = links[link] ?? State(step: now, due: now)
            state.step = now
            state.due = now + patience + liveness
            change(&state)
            links[link] = state
        }
    }

    private func extend(_ link: String) {
        let now = now()
        links.withLock { links in
            guard let state = links[link] else { return }
            links[link]?.step = now
            links[link]?.due = max(state.due, now + liveness)
        }
    }

    /// Whether every link is heard; readiness is more than this.
    package var isConnected: Bool { links.withLock { $0.values.allSatisfy { !$0.isDown } } }

    /// Why the link of a configuration is down; nil if it is not, or nobody knows.
    package func failure(of link: String) -> String? { links.withLock { $0[link]?.failure } }

    /// How long ago replication took a step.
    package var sinceStep: Duration { now() - links.withLock { $0.values.map(\.step).max() ?? start } }

    /// Whether no step is overdue.
    package var isAlive: Bool {
        let now = now()
        return links.withLock { links in links.values.allSatisfy { now < $0.due } }
    }
}
