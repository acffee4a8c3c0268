import PowerSyncSystem

/// One exchange, between the task that asks for its parts and the thread that receives them.
///
/// The task calls `head`, `next` and `cancel`; the thread calls `receive…` and `finish`. What has arrived and was not
/// asked for yet is at most `bufferLimit` bytes and one delivery of libcurl: beyond that the thread is told to pause.
final class Transfer: Sendable {
    /// How much waits for the task before the sender is paused.
    static let bufferLimit = 64 * 1024

    let request: HTTPClientRequest
    private let loop: CurlLoop
    private let state = Lock(State())

    private struct State {
        var head: HTTPHead?
        var buffer: [UInt8] = []
        var isPaused = false
        /// Set once; nothing arrives afterwards.
        var end: Result<Void, any Error>?
        var headWaiter: Resumption<HTTPHead, any Error>?
        var bodyWaiter: Resumption<[UInt8]?, any Error>?
        /// When the last waiter began to wait.
        var waitBegan: ContinuousClock.Instant?
    }

    init(_ request: HTTPClientRequest, loop: CurlLoop) {
        self.request = request
        self.loop = loop
    }

    // MARK: The task's side

    /// Since when a task waits for the head or for more of the body; nil while none does.
    var awaitedSince: ContinuousClock.Instant? {
        state.withLock { state in
            state.headWaiter == nil && state.bodyWaiter == nil ? nil : state.waitBegan
        }
    }

    /// Whether a task waits for the head or for more of the body.
    var isAwaited: Bool { awaitedSince != nil }

    /// Returns the head, as soon as it is there.
    func head() async throws -> HTTPHead {
        let now = loop.now()
        return try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                let known: Result<HTTPHead, any Error>? = state.withLock { state in
                    if let head = state.head { return .success(head) }
                    if let end = state.end { return .failure(Self.failure(of: end)) }
                    state.headWaiter = continuation
                    state.waitBegan = now
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns what has arrived since the last call, waiting for it; nil at the end.
    ///
    /// One caller at a time.
    func next() async throws -> [UInt8]? {
        let now = loop.now()
        return try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                let (known, resume): (Result<[UInt8]?, any Error>?, Bool) = state.withLock { state in
                    if !state.buffer.isEmpty {
                        var taken: [UInt8] = []
                        swap(&taken, &state.buffer)
                        defer { state.isPaused = false }
                        return (.success(taken), state.isPaused)
                    }
                    if let end = state.end { return (end.map { nil }, false) }
                    precondition(state.bodyWaiter == nil, "A body is read by one task at a time")
                    state.bodyWaiter = continuation
                    state.waitBegan = now
                    return (nil, false)
                }
                if resume { loop.submit(.resume(self)) }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Ends the exchange; whoever waits gets a `CancellationError`, and so does whoever asks for more.
    func cancel() {
        let (wasActive, head, body) = state.withLock { state in
            let wasActive = state.end == nil
            state.end = .failure(CancellationError())
            state.buffer = []
            return (wasActive, state.headWaiter.take(), state.bodyWaiter.take())
        }
        head?.resume(throwing: CancellationError())
        body?.resume(throwing: CancellationError())
        // A transfer that has ended by itself is gone from the thread already.
        if wasActive { loop.submit(.remove(self)) }
    }

    private static func failure(of end: Result<Void, any Error>) -> any Error {
        switch end {
        case .failure(let error): error
        case .success: HTTPClientError(.cut, "The answer has no head")
        }
    }

    // MARK: The thread's side

    func receive(_ head: HTTPHead) {
        let waiter = state.withLock { state in
            state.head = head
            return state.headWaiter.take()
        }
        waiter?.resume(returning: head)
    }

    /// Takes a part of the body.
    ///
    /// - Parameter bytes: the part.
    /// - Returns: false if it has to be delivered again after a `resume`.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (taken, waiter): (Bool, Resumption<[UInt8]?, any Error>?) = state.withLock { state in
            if state.end != nil { return (true, nil) }
            if let waiter = state.bodyWaiter.take() { return (true, waiter) }
            guard state.buffer.isEmpty || state.buffer.count + bytes.count <= Self.bufferLimit else {
                state.isPaused = true
                return (false, nil)
            }
            state.buffer.append(contentsOf: bytes)
            return (true, nil)
        }
        waiter?.resume(returning: [UInt8](bytes))
        return taken
    }

    /// Says that nothing arrives any more; the first end counts.
    func finish(_ end: Result<Void, any Error>) {
        let (head, body) = state.withLock { state in
            if state.end == nil { state.end = end }
            return (state.headWaiter.take(), state.bodyWaiter.take())
        }
        head?.resume(throwing: Self.failure(of: end))
        body?.resume(with: end.map { nil })
    }
}
