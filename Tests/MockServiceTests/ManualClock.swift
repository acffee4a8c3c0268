import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// A clock that stands still until it is moved; its monotonic time counts from 1970 too, so that both are equal until
/// somebody sets the one on the wall.
final class ManualClock: Sendable {
    private struct State {
        var now: Double
        /// By how much the clock on the wall was set forward.
        var ahead = 0.0
        var sleepers: [UInt64: (until: Double, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var next: UInt64 = 0
    }

    private let state: Lock<State>

    init(_ now: Double) { state = Lock(State(now: now)) }

    var clock: ServiceClock {
        ServiceClock(
            now: { self.state.withLock { $0.now + $0.ahead } },
            monotonic: { self.state.withLock { $0.now } }, sleep: { try await self.sleep(until: $0) },
            random: { 0.5 })
    }

    /// Moves the time once somebody waits for a moment up to `until`.
    func advance(to now: Double, whenWaitedFor until: Double) async throws {
        try await waitForSleeper(until: until)
        set(now)
    }

    /// Returns once somebody waits for a moment up to `until`.
    func waitForSleeper(until: Double) async throws {
        try await wait(for: "somebody to wait until \(until)") {
            self.state.withLock { $0.sleepers.values.contains { $0.until <= until } }
        }
    }

    /// How many wait.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Sets the clock on the wall, forward or back; nobody who waits is told.
    func setWall(by seconds: Double) { state.withLock { $0.ahead += seconds } }

    func set(_ now: Double) {
        let due = state.withLock { state in
            state.now = now
            let due = state.sleepers.filter { $0.value.until <= now }
            for key in due.keys { state.sleepers[key] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    private func sleep(until: Double) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if until <= state.now { return .success(()) }
                    state.sleepers[id] = (until, continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id)?.continuation }?.resume(
                throwing: CancellationError())
        }
    }
}
