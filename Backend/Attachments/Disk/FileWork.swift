import PowerSyncSystem

/// Work on files, which may block: on threads of its own, at most so many at a time.
///
/// What comes on top of these waits in its order. Work that has been handed over is done, also when its task is
/// cancelled: whoever hands it over knows its end.
final class FileWork: Sendable {
    private struct Job: Sendable {
        let run: @Sendable () -> Void
        let fail: @Sendable (SystemError) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var threads = 0
    }

    private let limit: Int
    private let state = Lock(State())

    /// Makes it without a thread; one begins with the first work and ends when there is none.
    ///
    /// - Parameter limit: The most threads.
    init(limit: Int) {
        self.limit = limit
    }

    /// Does work on a thread.
    ///
    /// - Parameter body: The work.
    /// - Returns: What it returns.
    /// - Throws: What it throws; `SystemError` with `.process` where the system has no thread.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit(
                Job(
                    run: { continuation.resume(with: Result { try body() }) },
                    fail: { continuation.resume(throwing: $0) }))
        }
    }

    private func submit(_ job: Job) {
        let needsThread = state.withLock { state in
            state.waiting.append(job)
            guard state.threads < limit else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        do throws(SystemError) {
            try DetachedThread.start { self.drain() }
        } catch {
            // The threads that there are take what waits; without any nobody would.
            let stranded = state.withLock { state -> [Job] in
                state.threads -= 1
                guard state.threads == 0 else { return [] }
                defer { state.waiting = [] }
                return state.waiting
            }
            for job in stranded { job.fail(error) }
        }
    }

    private func drain() {
        while let job = next() { job.run() }
    }

    private func next() -> Job? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
