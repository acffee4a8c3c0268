import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSync

/// A random session of a client with a modelled service, compared with a model after every step.
///
/// Nothing in it depends on a clock: the same seed does the same again.
final class Session {
    let client: ClientUnderTest
    var random: SeededRandom
    let tuning: SyncTuning
    var iteration: SyncIteration
    var service = ServiceModel()
    var stream: ServiceStream?
    var lastSentWriteCheckpoint: Int64?
    /// What may be committed now: the first state certainly, each next one with one more line that waits.
    var states = [ClientModel()]
    var splitter = LineSplitter(limit: 1 << 20)
    /// Bytes that are on their way, and their lines.
    var wire: [UInt8] = []
    var lines: [ServiceLine] = []
    var now: Int64 = 1_740_823_200_000_000
    /// The streams that the app holds.
    var active: [Subscription.Key] = []
    var upload: (last: Int64, entries: [QueueEntry])?
    var awaited: (id: Int64, write: Int64)?
    /// Whether something was uploaded since the iteration was told of an upload last.
    var hasNews = false
    var isCalm = false
    var step = 0
    var lastEntry: (id: Int64, transaction: Int64) = (0, 0)
    private(set) var trace: [String] = []
    /// How often each situation came.
    private(set) var met: [Situation: Int] = [:]

    init(seed: Int, directory: String, template: String) throws {
        random = SeededRandom(seed: seed)
        tuning = Self.tuning(seed)
        iteration = SyncIteration(tuning: tuning)
        client = try ClientUnderTest(directory: directory, template: template)
    }

    /// Both ways of storing lines get the same share; half of the fast one takes what else needs many rows.
    private static func tuning(_ seed: Int) -> SyncTuning {
        guard seed % 2 == 0 else { return .plain }
        var tuning = SyncTuning.standard
        if seed % 4 == 2 {
            tuning.walkedRows = 1
            tuning.coalescedBytes = 1500
        }
        return tuning
    }

    /// The state with everything that was received.
    var model: ClientModel { states[states.count - 1] }

    /// Changes every state that may be committed in the same way.
    func change<T>(_ body: (inout ClientModel) throws -> T) rethrows -> T {
        for index in states.indices.dropLast() { _ = try body(&states[index]) }
        return try body(&states[states.count - 1])
    }

    func note(_ text: @autoclosure () -> String) {
        trace.append("step \(step): \(text())")
        if trace.count > 60 { trace.removeFirst(20) }
    }

    func meet(_ situation: Situation) { met[situation, default: 0] += 1 }

    func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw SessionFailure(message: message()) }
    }

    // MARK: Comparing

    /// Compares what was committed with what may be.
    ///
    /// `isStored` says that nothing may wait; `before` is the state before a change that concerned all of `states`.
    func check(before: ClientModel? = nil, isStored: Bool) throws {
        let allowed = (before.map { [$0] } ?? []) + states
        let texts = allowed.map(\.text)
        var position = 0
        let observed = try client.takeObserved()
        for (index, state) in observed.enumerated() {
            guard let found = texts[position...].firstIndex(of: state) else {
                let difference = state.difference(to: texts[texts.count - 1])
                throw SessionFailure(
                    message: """
                        committed state \(index + 1) of \(observed.count) is none of the \(texts.count) \
                        that may be; compared with the last of them it differs in\n\(difference)
                        """)
            }
            if found > position + 1 { meet(.waitingLinesTogether) }
            position = found
        }
        if isStored {
            try require(
                texts[position] == texts[texts.count - 1],
                "not everything is stored\n\(texts[position].difference(to: texts[texts.count - 1]))")
            states.removeFirst(states.count - 1)
        } else if before != nil {
            try require(position > 0 || texts[0] == texts[1], "a change has not reached the file")
            states.removeFirst(max(0, position - 1))
        } else {
            states.removeFirst(position)
        }
        if states.count == 1, model.isActive { try checkProgress() }
    }

    private func checkProgress() throws {
        let actual = iteration.state.status.downloading.map { progress in
            progress.map { "\($0.priority): \($0.downloadedOperations)/\($0.totalOperations)" }
        }
        let expected = model.progress.map { progress in
            progress.keys.sorted().map {
                "\($0): \(progress[$0]?.downloaded ?? 0)/\(progress[$0]?.total ?? 0)"
            }
        }
        try require(
            actual == expected, "progress is \(actual ?? ["none"]), should be \(expected ?? ["none"])")
        for bucket in model.buckets {
            let present = bucket.operations.reduce(UInt32(0)) { $0 &+ $1.checksum }
            try require(bucket.present == present, "the model's checksum of \(bucket.name) is wrong")
            try require(bucket.lastApplied <= bucket.last, "\(bucket.name) is applied beyond its end")
        }
    }

    /// Stores what waits.
    func flush() throws {
        try iteration.flush(on: client.writer, now: now)
        try check(isStored: true)
    }

    /// Feeds an event that is stored at once, with whatever waits before it.
    func feed(_ event: SyncEvent, _ body: (inout ClientModel) -> ClientModel.Outcome) throws {
        var next = model
        let outcome = body(&next)
        states.append(next)
        let effects = try feedThroughLocks(event)
        try check(isStored: true)
        try compare(effects, with: outcome)
    }

    /// Now and then another connection holds the lock; the same event then works as if nothing had been.
    func feedThroughLocks(_ event: SyncEvent) throws -> [SyncEffect] {
        if !isCalm, random.once(in: 25) {
            let before = iteration
            do {
                return try client.whileLocked { try iteration.feed(event, on: client.writer, now: now) }
            } catch let error as SQLiteError where error.code == .busy {
                note("locked")
                meet(.locked)
                iteration = before
            }
        }
        return try iteration.feed(event, on: client.writer, now: now)
    }

    private func compare(_ effects: [SyncEffect], with outcome: ClientModel.Outcome) throws {
        var completed: [Int64?] = []
        var closed: SyncCloseReason?
        for effect in effects {
            if case .completed(let id) = effect { completed.append(id) }
            if case .close(let reason) = effect { closed = reason }
        }
        switch outcome {
        case .nothing:
            try require(completed.isEmpty, "said that a checkpoint is complete")
            try require(closed == nil, "closed the stream: \(closed.map { "\($0)" } ?? "")")
        case .completed(let id, let truth):
            meet(.completed)
            try require(completed == [id], "did not say that a checkpoint is complete")
            try require(model.queue.isEmpty, "applied while local writes wait")
            let (rows, truth) = (model.comparable(model.visible), model.comparable(truth))
            try require(
                rows == truth,
                """
                a complete checkpoint shows something else than the service:
                \(rows.filter { truth[$0.key] != $0.value }) instead of
                \(truth.filter { rows[$0.key] != $0.value })
                """)
        case .mismatch:
            meet(.mismatch)
            guard case .checksumMismatch = closed else {
                throw SessionFailure(message: "took a checkpoint with a wrong checksum")
            }
            disconnect()
        case .closed:
            try require(closed != nil, "did not close the stream")
            disconnect()
        }
    }

    /// Forgets the connection; nothing is stored by it.
    func disconnect() {
        stream = nil
        wire = []
        lines = []
        splitter = LineSplitter(limit: 1 << 20)
    }
}

/// What the sessions of a run have to meet, so that passing means something.
enum Situation: CaseIterable {
    case completed, mismatch, partial, blocked, pendingApplied, waitingLinesLost, waitingLinesTogether, locked
    case repeatedOperation, cleared, superseded, rolledBack

    /// Whether it comes only where lines share a transaction.
    var needsCoalescing: Bool { self == .waitingLinesLost || self == .waitingLinesTogether }
}

/// Why a session failed.
struct SessionFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
