import PowerSyncSystem

/// Work that is done once for all who ask for it at the same time.
///
/// A success is kept until ``take()``; a failure is not, so that the next caller tries again. A caller that
/// is
/// cancelled stops waiting at once; when nobody waits any more, the work itself is cancelled.
final class SingleFlight<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case running(Task<Void, Never>?, waiters: [Int: CheckedContinuation<Value, any Error>])
        case done(Value)
    }

    private struct Box {
        var state = State.idle
        var flight = 0
        var nextWaiter = 0
    }

    private let box = Lock(Box())

    /// The value, if it is there.
    var current: Value? {
        box.withLock { if case .done(let value) = $0.state { value } else { nil } }
    }

    /// How many wait for the work.
    var waiterCount: Int {
        box.withLock { if case .running(_, let waiters) = $0.state { waiters.count } else { 0 } }
    }

    /// Returns the value, starting the work unless it runs or is done.
    func value(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let current { return current }
        try Task.checkCancellation()
        let id = box.withLock { box in
            box.nextWaiter += 1
            return box.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                join(id, continuation, work)
            }
        } onCancel: {
            abandon(id)
        }
    }

    /// Returns once no work is running, whatever comes of it.
    func settle() async {
        let isRunning = box.withLock { if case .running = $0.state { true } else { false } }
        // A failure belongs to those who asked for the value.
        if isRunning { _ = try? await value { throw CancellationError() } }
    }

    /// Forgets the value and returns it.
    func take() -> Value? {
        box.withLock { box in
            guard case .done(let value) = box.state else { return nil }
            box.state = .idle
            return value
        }
    }

    private func join(
        _ id: Int, _ continuation: CheckedContinuation<Value, any Error>,
        _ work: @escaping @Sendable () async throws -> Value
    ) {
        let (value, started): (Result<Value, any Error>?, Int?) = box.withLock { box in
            // The handler of a task that is cancelled already has run, and found nobody to wake.
            if Task.isCancelled { return (.failure(CancellationError()), nil) }
            switch box.state {
            case .done(let value): return (.success(value), nil)
            case .running(let task, var waiters):
                waiters[id] = continuation
                box.state = .running(task, waiters: waiters)
                return (nil, nil)
            case .idle:
                box.flight += 1
                box.state = .running(nil, waiters: [id: continuation])
                return (nil, box.flight)
            }
        }
        if let value { continuation.resume(with: value) }
        guard let started else { return }
        let task = Task {
            do {
                let value = try await work()
                self.land(started, .success(value))
            } catch {
                self.land(started, .failure(error))
            }
        }
        let isAbandoned = box.withLock { box in
            guard box.flight == started else { return true }
            if case .running(nil, let waiters) = box.state { box.state = .running(task, waiters: waiters) }
            return false
        }
        if isAbandoned { task.cancel() }
    }

    private func land(_ flight: Int, _ result: Result<Value, any Error>) {
        let waiters = box.withLock { box -> [CheckedContinuation<Value, any Error>] in
            guard box.flight == flight, case .running(_, let waiters) = box.state else { return [] }
            box.state = if case .success(let value) = result { .done(value) } else { .idle }
            return Array(waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func abandon(_ id: Int) {
        let (waiter, task) = box.withLock {
            box -> (CheckedContinuation<Value, any Error>?, Task<Void, Never>?) in
            guard case .running(let task, var waiters) = box.state else { return (nil, nil) }
            let waiter = waiters.removeValue(forKey: id)
            guard waiters.isEmpty else {
                box.state = .running(task, waiters: waiters)
                return (waiter, nil)
            }
            // Whoever comes next must not join work that is being cancelled.
            box.state = .idle
            box.flight += 1
            return (waiter, task)
        }
        waiter?.resume(throwing: CancellationError())
        task?.cancel()
    }
}
