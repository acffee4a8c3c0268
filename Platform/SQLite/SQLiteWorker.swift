import PowerSyncSystem

/// Work that waits for a connection, first come first served; several threads may take from one queue.
final class SQLiteJobQueue: Sendable {
    typealias Job = @Sendable (SQLiteConnection) -> Void

    private struct State {
        /// Without the work where it was taken.
        var jobs: [(owner: ObjectIdentifier?, job: Job?)] = []
        var next = 0
        /// How many requests have a connection or wait for one.
        var uses = 0
        var counted = 0
        var isClosed = false
    }

    private let state = Monitor(State())

    /// How much work nobody has taken yet.
    var count: Int { state.change(waking: .nobody) { $0.jobs.count - $0.next } }

    /// How often `countRequest` was called.
    var counted: Int { state.change(waking: .nobody) { $0.counted } }

    /// Counts a request for this queue, before it is added.
    func countRequest() { state.change(waking: .nobody) { $0.counted += 1 } }

    /// Counts requests that want a connection each.
    func beginUses(_ count: Int) { state.change(waking: .nobody) { $0.uses += count } }

    /// Counts a request that wants a connection, unless so many have one or wait for one; false then.
    func beginUse(ifBelow limit: Int) -> Bool {
        state.change(waking: .nobody) { state in
            guard state.uses < limit else { return false }
            state.uses += 1
            return true
        }
    }

    /// Says that requests are over, before whoever has made them hears of it: the next one finds the connection free.
    func endUses(_ count: Int) { state.change(waking: .nobody) { $0.uses -= count } }

    /// Adds work at the end; false if the queue is closed.
    func add(of owner: ObjectIdentifier? = nil, _ job: @escaping Job) -> Bool {
        state.change(waking: .one) { state in
            if state.isClosed { return false }
            state.jobs.append((owner, job))
            return true
        }
    }

    /// Takes work back that nobody wants any more, which ends its use: while all connections are busy it would be kept.
    func remove(of owner: ObjectIdentifier) {
        state.change(waking: .nobody) { state in
            if let index = state.jobs[state.next...].firstIndex(where: { $0.owner == owner }) {
                state.jobs.remove(at: index)
                state.uses -= 1
            }
        }
    }

    /// Blocks until there is work; nil once the queue is closed and empty.
    func take() -> Job? {
        state.wait { state -> Job?? in
            if state.next < state.jobs.count {
                // It goes with whoever does it, along with all that it holds.
                let job = state.jobs[state.next].job.take()
                state.next += 1
                // Dropped in portions, so that taking stays cheap however long the queue is.
                if state.next == state.jobs.count || state.next >= 64 {
                    state.jobs.removeFirst(state.next)
                    state.next = 0
                }
                return .some(job)
            }
            return state.isClosed ? .some(nil) : nil
        }
    }

    /// Whether further work is refused.
    var isClosed: Bool { state.change(waking: .nobody) { $0.isClosed } }

    /// Refuses further work; what waits is still done.
    func close() { state.change(waking: .everybody) { $0.isClosed = true } }
}

/// A thread that opens one connection, runs the work of a queue on it and closes it.
final class SQLiteWorker: Sendable {
    private struct State {
        var isFinished = false
        var waiters: [Resumption<Void, Never>] = []
    }

    private let state = Monitor(State())

    /// Starts the thread; returns once the connection is open and set up.
    ///
    /// - Parameters:
    ///   - queue: The work; the thread ends once it is closed and empty.
    ///   - beforeClose: Runs on the thread before it closes its connection; may block.
    ///   - open: Opens the connection, on the thread.
    /// - Returns: The worker.
    /// - Throws: What `open` throws.
    static func start(
        _ queue: SQLiteJobQueue, beforeClose: @escaping @Sendable () -> Void = {},
        open: @escaping @Sendable () throws -> SQLiteConnection
    ) async throws -> SQLiteWorker {
        let worker = SQLiteWorker()
        try await withThrowingResumption { (opened: Resumption<Void, any Error>) in
            do {
                // SQLite's parser and nested triggers want more than the 512 KB that some systems give.
                try DetachedThread.start(stack: 4 << 20) {
                    do {
                        let connection = try open()
                        opened.resume()
                        while let job = queue.take() { job(connection) }
                        beforeClose()
                        connection.close()
                    } catch {
                        opened.resume(throwing: error)
                    }
                    worker.finish()
                }
            } catch {
                opened.resume(
                    throwing: SQLiteError(code: .internal, message: "no thread for the database: \(error)"))
            }
        }
        return worker
    }

    /// Blocks until the thread has closed its connection.
    func waitForEnd() { state.wait { $0.isFinished ? () : nil } }

    /// Waits until the thread has closed its connection.
    func finished() async {
        await withResumption { waiter in
            let isFinished = state.change(waking: .nobody) { state in
                if !state.isFinished { state.waiters.append(waiter) }
                return state.isFinished
            }
            if isFinished { waiter.resume() }
        }
    }

    private func finish() {
        let waiters = state.change(waking: .everybody) { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// One request for a connection: it waits, then either starts or is cancelled.
final class SQLiteRequest<T: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(Resumption<T, any Error>)
        case over
        case cancelled
    }

    private let state = Lock(State.new)

    /// Notes who waits; false if the request has been cancelled already.
    func wait(_ continuation: Resumption<T, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Takes the continuation to run the request, or to give it up; nil if somebody was faster.
    func begin() -> Resumption<T, any Error>? { take(.over) }

    /// Takes the continuation to end the wait; nil if the request runs or has run.
    func cancel() -> Resumption<T, any Error>? { take(.cancelled) }

    /// Whether it was cancelled before it ran.
    var isCancelled: Bool {
        state.withLock { state in if case .cancelled = state { true } else { false } }
    }

    private func take(_ next: State) -> Resumption<T, any Error>? {
        state.withLock { state in
            switch state {
            case .waiting(let continuation):
                state = next
                return continuation
            case .new: state = next
            case .over, .cancelled: break
            }
            return nil
        }
    }
}
