import PowerSync
import PowerSyncSystem

/// A clock that moves only when a test says so.
final class SteppedClock: Sendable {
    private struct Sleeper {
        let deadline: Duration
        let continuation: Resumption<Void, any Error>
    }

    private struct State {
        var now = Duration.zero
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var random = 0.5
    }

    private let state = Lock(State())
    /// 2025-03-01 10:00:00 UTC in microseconds.
    static let start: Int64 = 1_740_823_200_000_000

    var environment: SyncEnvironment {
        SyncEnvironment(
            now: { Self.start + Self.microseconds(self.state.withLock { $0.now }) },
            uptime: { self.state.withLock { $0.now } },
            sleep: { try await self.sleep($0) },
            random: { self.state.withLock { $0.random } })
    }

    /// How far it has been moved.
    var now: Duration { state.withLock { $0.now } }

    /// How long each sleeper still has to wait, ascending.
    var waiting: [Duration] {
        state.withLock { state in state.sleepers.values.map { $0.deadline - state.now }.sorted() }
    }

    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    private func sleep(_ duration: Duration) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Void, any Error>) in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.sleepers[id] = Sleeper(deadline: state.now + duration, continuation: continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation
                .resume(throwing: CancellationError())
        }
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
    }
}
