import PowerSyncCommandLine
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One run of a command that opens things which must be closed however it ends.
///
/// The first signal ends the run, and everything is closed in order. The second says that it must be quick: what
/// `onHurry` names happens at once, and closing goes on with it. The third ends the program; the life-lines then end
/// its processes, and the next start drops what is left on a server.
package final class Session: Sendable {
    private typealias Closer = @Sendable () async throws -> Void

    private struct State {
        var closers: [Closer] = []
        var hurries: [@Sendable () -> Void] = []
        /// How often the user has asked; the end of the run by itself counts as once.
        var requests = 0
        /// What is cancelled when the end is late.
        var closing: Task<[String], Never>?
        var end = End.none
    }

    /// How far the end of the run has come.
    private enum End {
        case none, running, late, done
    }

    /// How long the end may take as a whole.
    package static let patience = Duration.seconds(45)
    /// How much longer an end may take that was cancelled.
    package static let grace = Duration.seconds(10)

    private let state = Lock(State())
    private let limit: Duration
    private let grace: Duration

    private init(limit: Duration, grace: Duration) {
        self.limit = limit
        self.grace = grace
    }

    /// Remembers how to close something; the last is closed first.
    ///
    /// Call it before the thing is opened: what is half open must be closed, too.
    package func onEnd(_ close: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.closers.append(close) }
    }

    /// Remembers what makes closing quick when the user asks a second time; it must not wait.
    package func onHurry(_ hurry: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.hurries.append(hurry)
            return state.requests > 1
        }
        if isLate { hurry() }
    }

    /// Runs `body` until it ends or somebody asks the program to stop, then closes everything.
    ///
    /// - Parameters:
    ///   - signals: the signals that ask to stop.
    ///   - limit: how long the end may take as a whole, from the first signal or the end of the run; what is closing
    ///     then is cancelled.
    ///   - grace: how much longer a run or closing may take that does not heed that; then the program ends.
    ///   - body: the run; it is cancelled when a signal comes.
    /// - Returns: what `body` returns; nil if a signal came first.
    /// - Throws: what `body` throws; `StackError` with `.closing` if something could not be closed, which names what
    ///   `body` threw, too.
    package static func run<Result: Sendable>(
        until signals: AsyncStream<Int32>, closingWithin limit: Duration = patience,
        thenWithin grace: Duration = grace,
        _ body: @escaping @Sendable (Session) async throws -> Result
    ) async throws -> Result? {
        let session = Session(limit: limit, grace: grace)
        // A task of its own, because a signal cancels it alone; it is awaited below.
        let work = Task { try await body(session) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await signal in signals { session.arrived(signal, work.cancel) }
            }
            defer { group.cancelAll() }
            let outcome = await work.result
            let wasStopped = session.state.withLock { state in
                defer { state.requests = max(1, state.requests) }
                return state.requests > 0
            }
            let failures = await session.closeAll()
            guard failures.isEmpty else {
                var texts = failures
                if case .failure(let error) = outcome, !wasStopped { texts.insert("\(error)", at: 0) }
                throw StackError(.closing, texts.joined(separator: "; "))
            }
            switch outcome {
            case .success(let result): return result
            // What a cancelled run throws is a consequence of the signal.
            case .failure(let error): if wasStopped { return nil } else { throw error }
            }
        }
    }

    private func arrived(_ signal: Int32, _ cancel: () -> Void) {
        let (number, hurries) = state.withLock { state in
            state.requests += 1
            return (state.requests, state.hurries)
        }
        switch number {
        case 1:
            cancel()
            boundEnd()
        case 2: for hurry in hurries { hurry() }
        default: _exit(128 + signal)
        }
    }

    /// Closes everything, the last first, and returns what went wrong, in words.
    private func closeAll() async -> [String] {
        // A task of its own: its deadline cancels it alone, whatever became of the run.
        let closing = Task { await self.closeEach() }
        let isLate = state.withLock { state in
            state.closing = closing
            return state.end == .late
        }
        if isLate { closing.cancel() } else { boundEnd() }
        var failures = await closing.value
        let wasLate = state.withLock { state in
            defer { state.end = .done }
            return state.end == .late
        }
        if wasLate { failures.append("closing took longer than \(limit)") }
        return failures
    }

    /// Gives the end its deadline, the first time that it is called.
    private func boundEnd() {
        let isFirst = state.withLock { state in
            guard state.end == .none else { return false }
            state.end = .running
            return true
        }
        guard isFirst else { return }
        do {
            // A thread, so that even an end that blocks all of the pool's threads has one.
            try DetachedThread.start {
                DetachedThread.sleep(for: self.limit)
                let (isLate, closing) = self.state.withLock { state in
                    if state.end == .running { state.end = .late }
                    return (state.end == .late, state.closing)
                }
                guard isLate else { return }
                closing?.cancel()
                DetachedThread.sleep(for: self.grace)
                if self.state.withLock({ $0.end == .done }) { return }
                Self.giveUp()
            }
        } catch {
            // Without the thread nothing bounds the end but the user's third signal.
        }
    }

    /// Ends the program, with a line for whoever reads it within a second.
    private static func giveUp() -> Never {
        do {
            try DetachedThread.start {
                StandardError.print(
                    "error: closing did not end; what is left on a server goes with the next start")
                _exit(1)
            }
            DetachedThread.sleep(for: .seconds(1))
        } catch {
            // Without a thread for it nothing is told: here it could wait for ever.
        }
        _exit(1)
    }

    private func closeEach() async -> [String] {
        var failures: [String] = []
        while let closer = state.withLock({ $0.closers.popLast() }) {
            do {
                try await closer()
            } catch is CancellationError where Task.isCancelled {
                // The deadline, which is told as such.
            } catch {
                failures.append("\(error)")
            }
        }
        return failures
    }
}

extension Session {
    /// Makes a temporary folder that goes with the session, and with the process if it is killed.
    ///
    /// - Returns: its path.
    /// - Throws: `SystemError`.
    package func temporaryFolder() throws -> String {
        let folder = try TemporaryDirectory(prefix: "powersync-stack-")
        onEnd { folder.remove() }
        let watcher = try LifeLine.guardFolder(folder.path)
        onEnd {
            if let lifeLine = watcher.input { close(lifeLine) }
            _ = await watcher.wait()
        }
        return folder.path
    }

    /// Makes a poller that ends with the session.
    ///
    /// - Returns: the poller.
    /// - Throws: `SystemError`.
    package func poller() throws -> Poller {
        let poller = try Poller()
        onEnd { poller.stop() }
        return poller
    }
}
