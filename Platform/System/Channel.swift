#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Readiness of one descriptor, which stays its owner's.
///
/// At most one task waits for reading, one for writing and one for hang-up. Readiness is a hint: try the call
/// and wait when it would block.
package final class Channel: Sendable {
    private struct Side {
        var isReady = false
        var waiter: Resumption<Bool, any Error>?
        var deadline = Int64.max

        mutating func take() -> Resumption<Bool, any Error>? {
            defer { waiter = nil }
            deadline = .max
            return waiter
        }
    }

    private struct State {
        var reading = Side()
        var writing = Side()
        var hangingUp = Side()
        var isClosed = false

        subscript(_ wait: Wait) -> Side {
            get {
                switch wait {
                case .reading: reading
                case .writing: writing
                case .hangingUp: hangingUp
                }
            }
            set {
                switch wait {
                case .reading: reading = newValue
                case .writing: writing = newValue
                case .hangingUp: hangingUp = newValue
                }
            }
        }
    }

    private enum Wait: CaseIterable {
        case reading, writing, hangingUp
    }

    /// The registered descriptor.
    package let descriptor: Int32
    let id: UInt64
    /// Keeps the poller's thread alive as long as the channel is registered.
    private let poller: Poller
    private let core: PollerCore
    private let state = Lock(State())

    init(descriptor: Int32, id: UInt64, poller: Poller, core: PollerCore) {
        self.descriptor = descriptor
        self.id = id
        self.poller = poller
        self.core = core
    }

    // MARK: Waiting

    /// Returns when a read would make progress.
    ///
    /// - Parameter deadline: When to give up; nil waits for ever, and a moment that has passed not at all.
    /// - Returns: Whether a read would make progress; false when the deadline passed.
    /// - Throws: `CancellationError` when the task is cancelled, the channel deregistered or the poller stopped.
    package func readable(until deadline: ContinuousClock.Instant? = nil) async throws -> Bool {
        try await wait(.reading, events: Int16(POLLIN), deadline)
    }

    /// Returns when a write would make progress.
    ///
    /// - Parameter deadline: When to give up; nil waits for ever, and a moment that has passed not at all.
    /// - Returns: Whether a write would make progress; false when the deadline passed.
    /// - Throws: `CancellationError` when the task is cancelled, the channel deregistered or the poller stopped.
    package func writable(until deadline: ContinuousClock.Instant? = nil) async throws -> Bool {
        try await wait(.writing, events: Int16(POLLOUT), deadline)
    }

    /// Returns when the peer is gone, or has said that it will send no more, which looks the same.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, the channel deregistered or the poller stopped.
    package func hangUp() async throws {
        _ = try await wait(.hangingUp, events: 0, nil)
    }

    /// Whether the peer is known to be gone, or to send no more.
    package var isHungUp: Bool { state.withLock { $0.hangingUp.isReady } }

    /// Whether a task waits, and has not merely come to look, so that tests can tell the two apart.
    var isAwaited: Bool {
        state.withLock { state in Wait.allCases.contains { state[$0].waiter != nil } }
    }

    private func wait(
        _ side: Wait, events: Int16, _ deadline: ContinuousClock.Instant?
    ) async throws -> Bool {
        if try consume(side) { return true }
        // The edge may have been reported and used up by a reader that did not empty the descriptor.
        if events != 0, isReady(events) {
            try Task.checkCancellation()
            return true
        }
        if let deadline, deadline <= .now {
            try Task.checkCancellation()
            return false
        }
        let moment = deadline.map(core.nanoseconds) ?? .max
        return try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                let answer = state.withLock { state -> Result<Bool, any Error>? in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if state.isClosed || Task.isCancelled { return .failure(CancellationError()) }
                    if state[side].isReady {
                        if events != 0 { state[side].isReady = false }
                        return .success(true)
                    }
                    precondition(state[side].waiter == nil, "one task waits for a side of a channel")
                    state[side].waiter = continuation
                    state[side].deadline = moment
                    return nil
                }
                if let answer { continuation.resume(with: answer) } else { core.notice(deadline: moment) }
            }
        } onCancel: {
            state.withLock { $0[side].take() }?.resume(throwing: CancellationError())
        }
    }

    /// Uses up a reported edge; a hang-up stays.
    private func consume(_ side: Wait) throws -> Bool {
        let isReady = try state.withLock { state in
            if state.isClosed { throw CancellationError() }
            defer { if side != .hangingUp { state[side].isReady = false } }
            return state[side].isReady
        }
        if isReady { try Task.checkCancellation() }
        return isReady
    }

    private func isReady(_ events: Int16) -> Bool {
        var request = pollfd(fd: descriptor, events: events, revents: 0)
        return poll(&request, 1, 0) > 0
    }

    // MARK: From the poller

    func receive(readable: Bool, writable: Bool, hungUp: Bool) {
        let waiters = state.withLock { state in
            zip(Wait.allCases, [readable || hungUp, writable, hungUp]).map { side, isReady in
                guard isReady else { return nil as Resumption<Bool, any Error>? }
                let waiter = state[side].take()
                if waiter == nil || side == .hangingUp { state[side].isReady = true }
                return waiter
            }
        }
        for waiter in waiters { waiter?.resume(returning: true) }
    }

    /// Ends the waits whose deadline has passed and returns the earliest deadline left.
    func expire(_ now: Int64) -> Int64 {
        var waiters: [Resumption<Bool, any Error>] = []
        let next = state.withLock { state in
            var next = Int64.max
            for side in Wait.allCases where state[side].waiter != nil {
                if state[side].deadline > now {
                    next = min(next, state[side].deadline)
                } else if let waiter = state[side].take() {
                    waiters.append(waiter)
                }
            }
            return next
        }
        for waiter in waiters { waiter.resume(returning: false) }
        return next
    }

    // MARK: From the owner's side

    /// Gives a false hint for reading, so that whoever waits looks around and sees what else has changed.
    package func hint() { receive(readable: true, writable: false, hungUp: false) }

    /// Treats the peer as gone from now on, which ends the wait for its hang-up.
    package func giveUp() { receive(readable: false, writable: false, hungUp: true) }

    // MARK: The end

    /// Takes the descriptor off the poller; call it before the descriptor is closed.
    ///
    /// Whoever still waits gets `CancellationError`. A second call does nothing.
    package func deregister() {
        core.deregister(self)
        close()
    }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return Wait.allCases.map { state[$0].take() }
        }
        for waiter in waiters { waiter?.resume(throwing: CancellationError()) }
    }
}
