import PowerSyncSystem

/// Asks a backend questions about files, those together that come while others are on their way: does what a
/// ``QuestionLine`` decides.
///
/// Each caller gets the answer to its own question. One that is cancelled leaves the others theirs.
final class AttachmentQuestions: Sendable {
    /// What a request with several questions was answered.
    enum Reply: Sendable {
        /// The answers, in the order of the questions.
        case answers([AttachmentBatch.Answer])
        /// A failure that each of them would have met alone.
        case failed(status: Int, code: String?)
        /// The backend takes fewer at once: they are asked apart.
        case tooMany
        /// The backend does not know such a request: they are asked apart, now and for some time.
        case unknown
    }

    /// What becomes of a question.
    private enum Turn: Sendable {
        /// Its caller asks it, by its own route.
        case alone
        case answered(AttachmentBatch.Answer)
    }

    private struct Waiter {
        let question: BatchQuestion
        let continuation: Resumption<Turn, any Error>
    }

    /// Questions on their way together.
    private struct Request {
        /// Those whose callers wait still.
        var ids: Set<UInt64>
        let task: Task<Void, Never>
    }

    /// Sends at the moment of the line what has to be sent then.
    private struct Alarm {
        let moment: Duration
        let task: Task<Void, Never>
    }

    private struct State {
        var line = QuestionLine()
        var waiters: [UInt64: Waiter] = [:]
        /// By their first questions.
        var requests: [UInt64: Request] = [:]
        var alarm: Alarm?
        var lastID: UInt64 = 0
    }

    private let state = Lock(State())
    private let environment: SyncEnvironment
    private let send: @Sendable (AttachmentBatch) async throws -> Reply

    /// Makes it without a question.
    ///
    /// - Parameters:
    ///   - environment: the clock.
    ///   - send: sends a request with several questions.
    init(
        environment: SyncEnvironment,
        send: @escaping @Sendable (AttachmentBatch) async throws -> Reply
    ) {
        self.environment = environment
        self.send = send
    }

    /// How many questions wait, or are on their way together.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Asks a question.
    ///
    /// - Parameters:
    ///   - question: the question.
    ///   - alone: asks it by its own route, in the caller's task.
    ///   - take: makes of the answer of a batch what `alone` makes of its own.
    /// - Returns: what `alone` or `take` returns.
    /// - Throws: what these throw; what the request with several questions failed with; `CancellationError`.
    func ask<Value>(
        _ question: BatchQuestion, alone: () async throws -> Value,
        take: (AttachmentBatch.Answer) throws -> Value
    ) async throws -> Value {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        switch try await turn(id, question) {
        case .answered(let answer): return try take(answer)
        case .alone:
            defer { ended(id) }
            return try await withTaskCancellationHandler {
                try await alone()
            } onCancel: {
                // It may take any time to end, and nobody waits for that.
                ended(id)
            }
        }
    }

    /// Says that a question that was asked alone is not waited for any more.
    private func ended(_ id: UInt64) {
        change { state, now in state.line.ended(id, at: now) }
    }

    private func turn(_ id: UInt64, _ question: BatchQuestion) async throws -> Turn {
        try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Turn, any Error>) in
                let isCancelled = change { state, _ in
                    // The handler below runs after the task is marked: one of the two sees the other.
                    if Task.isCancelled { return true }
                    state.waiters[id] = Waiter(question: question, continuation: continuation)
                    state.line.add(id, question.kind, bytes: question.mostBytes)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            leave(id)
        }
    }

    /// Takes a caller's question back.
    private func leave(_ id: UInt64) {
        let (waiter, unwanted) = change { state, now -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.waiters.removeValue(forKey: id) else { return (nil, nil) }
            state.line.remove(id)
            guard let first = state.requests.first(where: { $0.value.ids.contains(id) })?.key else {
                return (waiter, nil)
            }
            state.requests[first]?.ids.remove(id)
            guard state.requests[first]?.ids.isEmpty == true else { return (waiter, nil) }
            // Nobody wants its answers any more, nor waits for its end, which may take any time.
            state.line.ended(first, at: now)
            return (waiter, state.requests.removeValue(forKey: first)?.task)
        }
        waiter?.continuation.resume(throwing: CancellationError())
        unwanted?.cancel()
    }

    /// Changes the state, and sends what is to be sent then.
    @discardableResult
    private func change<Result>(_ body: (inout State, _ now: Duration) -> Result) -> Result {
        let now = environment.uptime()
        let (result, alone, unwanted) = state.withLock { state -> (Result, [Waiter], Task<Void, Never>?) in
            let result = body(&state, now)
            var alone: [Waiter] = []
            for step in state.line.steps(at: now) {
                switch step {
                case .alone(let id):
                    if let waiter = state.waiters.removeValue(forKey: id) { alone.append(waiter) }
                case .together(let ids): begin(ids, in: &state)
                }
            }
            return (result, alone, setAlarm(in: &state))
        }
        unwanted?.cancel()
        for waiter in alone { waiter.continuation.resume(returning: .alone) }
        return result
    }

    /// Sees to it that what has to be sent at a moment is sent then, although nothing else happens.
    ///
    /// - Returns: the task of an alarm that nobody needs any more.
    private func setAlarm(in state: inout State) -> Task<Void, Never>? {
        guard let moment = state.line.moment else {
            defer { state.alarm = nil }
            return state.alarm?.task
        }
        // One that comes sooner sets the next one.
        guard state.alarm == nil else { return nil }
        state.alarm = Alarm(
            moment: moment,
            task: Task.detached {
                do {
                    let rest = moment - self.environment.uptime()
                    if rest > .zero { try await self.environment.sleep(rest) }
                } catch {
                    // Cancelled: nothing waits any more.
                    return
                }
                self.change { state, _ -> Void in
                    if state.alarm?.moment == moment { state.alarm = nil }
                }
            })
        return nil
    }

    /// Sends questions together, in a task that is none of their callers'.
    private func begin(_ ids: [UInt64], in state: inout State) {
        let batch = AttachmentBatch(questions: ids.compactMap { state.waiters[$0]?.question })
        // In one step, so that the end of the task finds it.
        state.requests[ids[0]] = Request(
            ids: Set(ids),
            task: Task.detached {
                let reply: Result<Reply, any Error>
                do {
                    reply = .success(try await self.send(batch))
                } catch {
                    reply = .failure(error)
                }
                self.end(ids, batch, reply)
            })
    }

    /// Gives each caller what it waits for.
    private func end(_ ids: [UInt64], _ batch: AttachmentBatch, _ reply: Result<Reply, any Error>) {
        let waiters = change { state, now -> [(index: Int, waiter: Waiter)] in
            state.requests[ids[0]] = nil
            state.line.ended(ids[0], at: now)
            switch reply {
            case .success(.tooMany): state.line.hadTooMany(ids.count, at: now)
            case .success(.unknown):
                state.line.isUnknown(with: Set(batch.questions.map(\.kind)), at: now)
            case .success, .failure: break
            }
            return ids.enumerated().compactMap { index, id in
                state.waiters.removeValue(forKey: id).map { (index: index, waiter: $0) }
            }
        }
        for (index, waiter) in waiters {
            switch reply {
            case .success(.answers(let answers)):
                waiter.continuation.resume(returning: .answered(answers[index]))
            case .success(.failed(let status, let code)):
                waiter.continuation.resume(returning: .answered(.problem(status: status, code: code)))
            case .success(.tooMany), .success(.unknown): waiter.continuation.resume(returning: .alone)
            case .failure(let error): waiter.continuation.resume(throwing: error)
            }
        }
    }
}
