import PowerSyncPostgresValues
import PowerSyncSystem

/// The way of one replication stream and one link from the source to the disk: what is submitted is evaluated beside
/// what is written, and order and bytes are kept (DESIGN.md, 3).
package final class Intake: Sendable {
    private struct State {
        var queue: IntakeQueue
        /// What `nextOutcome` has yet to tell.
        var acknowledged: WriteOutcome?
        /// What `drain` has yet to tell.
        var needs = WriteOutcome()
    }

    /// What runs beside the source.
    private enum Stage {
        case evaluation, writing, time
    }

    /// How many batches are evaluated at once.
    private static let evaluators = 2

    private let writer: GroupWriter
    private let delay: @Sendable () async throws -> Void
    private let note: @Sendable (WriteOutcome) -> Void
    private let state: Lock<State>
    /// There is something to evaluate.
    private let work = StageSignal()
    /// There may be something to write.
    private let ready = StageSignal()
    /// Something is on the disk.
    private let stored = StageSignal()
    /// A position may wait.
    private let positions = StageSignal()

    private var limits: StoreLimits { writer.store.limits }

    private init(
        _ writer: GroupWriter, _ delay: @escaping @Sendable () async throws -> Void,
        _ note: @escaping @Sendable (WriteOutcome) -> Void
    ) {
        self.writer = writer
        self.delay = delay
        self.note = note
        state = Lock(State(queue: IntakeQueue(limits: writer.store.limits)))
    }

    /// Runs evaluation and writing beside a body that submits; what was submitted and not drained when it returns is
    /// lost.
    ///
    /// - Parameters:
    ///   - writer: Stores and publishes.
    ///   - delay: Waits as long as a position may wait to be stored that has nothing else with it.
    ///   - note: Is told what became of each group, in order, before whoever waits for it.
    ///   - body: The source.
    /// - Returns: What `body` returns.
    /// - Throws: What `body`, evaluation or writing throws first; then the others are cancelled.
    package static func with<T: Sendable>(
        _ writer: GroupWriter, delay: @escaping @Sendable () async throws -> Void,
        note: @escaping @Sendable (WriteOutcome) -> Void = { _ in },
        _ body: @escaping @Sendable (Intake) async throws -> T
    ) async throws -> T {
        let intake = Intake(writer, delay, note)
        return try await writer.store.activity.awaiting({ intake.isBusy }) {
            try await intake.run(body)
        }
    }

    private func run<T: Sendable>(
        _ body: @escaping @Sendable (Intake) async throws -> T
    ) async throws -> T {
        try await withThrowingTaskGroup(of: T?.self, returning: T.self) { group in
            defer { group.cancelAll() }
            let stages = Array(repeating: Stage.evaluation, count: Self.evaluators) + [.writing, .time]
            for stage in stages {
                group.addTask {
                    try await self.run(stage)
                    return nil
                }
            }
            group.addTask {
                let result = try await body(self)
                return result
            }
            while let result = try await group.next() {
                if let value = result { return value }
            }
            // The stages end by throwing alone.
            throw CancellationError()
        }
    }

    // MARK: The source

    /// Hands a batch over; returns when there was room for it.
    ///
    /// - Parameters:
    ///   - batch: The batch, behind all that were submitted before; who hands over the last reference to it saves a copy.
    ///   - isUrgent: Whether somebody waits for a position of it to be stored.
    /// - Throws: `CancellationError`, also when a stage has failed.
    package func submit(_ batch: consuming ChangeBatch, isUrgent: Bool = false) async throws {
        guard !batch.isEmpty else { return }
        let bytes = batch.byteCount
        let count = batch.changes.count
        let isOfPositions = batch.isOfPositions
        var long: ChangeBatch?
        var short: EvaluatedBatch?
        if isOfPositions || (count <= limits.submittedRows && bytes <= limits.submittedBytes) {
            short = RowEvaluation.evaluateAtOnce(batch, writer.context.converter, limits: limits)
        } else {
            long = batch
        }
        while true {
            let seen = stored.count
            let isAdded = state.withLock { state in
                guard state.queue.hasRoom(for: bytes, isOfPositions: isOfPositions) else { return false }
                if let short { state.queue.add(short, bytes: bytes) }
                if let batch = long {
                    long = nil
                    state.queue.add(batch)
                }
                if isUrgent { state.queue.demandAll() }
                return true
            }
            if isAdded { break }
            try await stored.next(after: seen)
        }
        if short == nil {
            work.ring()
        } else {
            ready.ring()
            positions.ring()
        }
    }

    /// Notes that up to a position nothing is to be applied behind the last commit that was submitted.
    ///
    /// - Parameters:
    ///   - position: The position.
    ///   - isUrgent: Whether somebody waits for that to be stored.
    package func passed(_ position: LSN, isUrgent: Bool) {
        let batch = RowEvaluation.evaluateAtOnce(ChangeBatch(.passed(position)), writer.context.converter)
        state.withLock { state in
            state.queue.add(batch, bytes: 0)
            if isUrgent { state.queue.demandAll() }
        }
        ready.ring()
        positions.ring()
    }

    /// Returns when all that was submitted so far is on the disk.
    ///
    /// - Returns: What the source has to do about what became durable since the last call: rows and tables to read again,
    ///   and whether clients are served from this stream by now.
    /// - Throws: `CancellationError`, also when a stage has failed.
    package func drain() async throws -> WriteOutcome {
        let last = state.withLock { state in
            state.queue.demandAll()
            return state.queue.submitted
        }
        ready.ring()
        while true {
            let count = stored.count
            let needs: WriteOutcome? = state.withLock { state in
                guard state.queue.stored >= last else { return nil }
                defer { state.needs = WriteOutcome() }
                return state.needs
            }
            if let needs { return needs }
            try await stored.next(after: count)
        }
    }

    /// Whether everything that was submitted is on the disk.
    package var isAtRest: Bool { state.withLock { $0.queue.isAtRest } }

    /// Whether something is on its way to the disk, and is not a position that waits for its time.
    package var isBusy: Bool { state.withLock { !$0.queue.isAtRest && !$0.queue.hasWaitingPosition } }

    /// Returns what became durable since the last call, as soon as there is something: for the task that acknowledges.
    ///
    /// - Returns: Up to where transactions, and the log, are stored.
    /// - Throws: `CancellationError`, also when a stage has failed.
    package func nextOutcome() async throws -> WriteOutcome {
        while true {
            let count = stored.count
            let outcome = state.withLock { state in
                defer { state.acknowledged = nil }
                return state.acknowledged
            }
            if let outcome { return outcome }
            try await stored.next(after: count)
        }
    }

    // MARK: Stages

    /// Runs a stage until the task is cancelled, or the stage fails.
    private func run(_ stage: Stage) async throws {
        switch stage {
        case .evaluation: try await evaluate()
        case .writing: try await write()
        case .time: try await keepTime()
        }
    }

    /// Evaluates batches, one after the other.
    private func evaluate() async throws {
        while true {
            let count = work.count
            guard let (number, batch) = state.withLock({ $0.queue.takeSubmitted() }) else {
                try await work.next(after: count)
                continue
            }
            let evaluated = try await RowEvaluation.evaluate(
                batch, writer.context.converter, limits: limits)
            state.withLock { $0.queue.finish(number, evaluated) }
            ready.ring()
        }
    }

    /// Writes groups: whatever is ready when the one before is on the disk.
    private func write() async throws {
        while true {
            let count = ready.count
            switch state.withLock({ $0.queue.takeJob() }) {
            case .write(let batches)?: finish(try await writer.write(batches))
            case .tell(let position)?:
                guard try await !writer.tell(position) else { continue }
                // It is to be stored as any other commit.
                state.withLock { $0.queue.demandAll() }
            case nil: try await ready.next(after: count)
            }
        }
    }

    private func finish(_ outcome: WriteOutcome) {
        note(outcome)
        state.withLock { state in
            state.queue.finishJob()
            state.needs.incomplete += outcome.incomplete
            state.needs.over += outcome.over
            state.needs.hasSwitched = state.needs.hasSwitched || outcome.hasSwitched
            guard let durable = outcome.durable else { return }
            var acknowledged = state.acknowledged ?? WriteOutcome()
            acknowledged.committed = outcome.committed ?? acknowledged.committed
            acknowledged.durable = max(acknowledged.durable ?? .zero, durable)
            state.acknowledged = acknowledged
        }
        stored.ring()
        positions.ring()
        // There may be room for what is evaluated.
        work.ring()
    }

    /// Lets positions wait no longer than they may.
    private func keepTime() async throws {
        while true {
            let count = positions.count
            guard state.withLock({ $0.queue.hasWaitingPosition }) else {
                try await positions.next(after: count)
                continue
            }
            try await delay()
            state.withLock { $0.queue.demandAll() }
            ready.ring()
        }
    }
}
