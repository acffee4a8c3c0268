import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSync

/// A random session of the real coordinator, uploader and store, on a clock and an executor that the session moves.
///
/// What they ask of the service, of the app and of the clock waits for the session. After each step they run until nothing
/// is left to run. What they have done then is compared with what the contract says: what is stored and shown, what is
/// asked for, and that nothing else has happened. The same seed does the same again.
final class CoordinatorSession {
    /// What a step may do to the iteration.
    enum Course { case same, begins, mayBegin, ends, mayEnd, restarts, mayRestart }

    /// What an upload of the app does.
    enum Upload: Sendable {
        /// Everything up to an entry is in the backend.
        case complete(through: Int64, writeCheckpoint: Int64?)
        case nothing
    }

    /// A coordinator that was started.
    struct Running {
        let coordinator: SyncCoordinator
        let task: Task<Void, Never>
        let isOver: Lock<Bool>
    }

    let pool: SQLitePool
    let reader: SQLiteConnection
    let executor: SteppedExecutor
    let clock = SteppedClock()
    let transport = WaitingTransport()
    let fetches = WaitingCalls<SyncCredentials?>()
    let uploads = WaitingCalls<Upload>()
    let shown = ShownStatuses()
    let active = Lock<[Subscription.Key]>([])
    /// Whether checkpoints are asked for with ids of the client's own.
    let usesRequests: Bool
    let isBinary: Bool
    var random: SeededRandom
    var service = ServiceModel()
    var running: Running?
    /// The stream that the client reads, and what it is sent; nil while none is open.
    var wire: ScriptedStream?
    var stream: ServiceStream?
    /// Whether a stream is being opened in the place of another one, as which it shows.
    var isReplacing = false
    var pipe = LinePipe()
    var lastSentWriteCheckpoint: Int64?
    /// What may be so: lists of states of which the first is stored for certain, and the last is what was received.
    var possible = [[PossibleState(ClientModel())]]
    /// Tokens that the service has refused.
    var refusedTokens: Set<String> = []
    /// How many tokens the app has got.
    var tokens = 0
    /// Whether the open stream has lines in BSON.
    var sendsBinary = false
    var mismatches = 0
    /// How many changes had been queued when an upload ended a pause.
    private var pauseEndedFor: Int?
    var isCalm = false
    var step = 0
    private(set) var trace: [String] = []
    private(set) var met: [CoordinatorSituation: Int] = [:]

    /// `pool` has one connection, to the file at `path`; it may be closed once the session has ended.
    init(seed: Int, pool: SQLitePool, path: String) throws {
        random = SeededRandom(seed: seed)
        usesRequests = seed % 3 == 1
        isBinary = seed % 4 >= 2
        self.pool = pool
        reader = try SQLiteConnection(path: path, flags: .readWrite)
        executor = SteppedExecutor(pool)
    }

    /// The time for what is stored.
    var now: Int64 { clock.environment.now() }

    /// One of the states that may be: all have the same queue, buckets and rows.
    var model: ClientModel { possible[0][possible[0].count - 1].model }

    func note(_ text: @autoclosure () -> String) {
        trace.append("step \(step): \(text())")
        if trace.count > 60 { trace.removeFirst(20) }
    }

    func meet(_ situation: CoordinatorSituation) { met[situation, default: 0] += 1 }

    func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw SessionFailure(message: message()) }
    }

    // MARK: A step

    /// Does something, lets everything come of it that does, and compares.
    ///
    /// What `body` does to the database and to the stream must be in `possible` already; `course` says what it does to the
    /// iteration.
    func act(_ text: @autoclosure () -> String, _ course: Course, _ body: () throws -> Void = {}) throws {
        note(text())
        let before = shown.last
        let (opened, uploaded) = (transport.opens.count, uploads.count)
        try body()
        try executor.run()
        takeUploadsEnd()
        try follow(course, from: before)
        try compare()
        try checkTokens(after: opened)
        let mayUpload = uploads.count == uploaded || before.connected || shown.last.connected
        try require(mayUpload, "an upload without a stream")
        try inspect()
    }

    /// Runs what the app does with the database, and lets everything come of it.
    func inDatabase<T: Sendable>(_ body: @escaping @Sendable (SQLiteConnection) throws -> T) throws -> T {
        let outcome = Lock<Result<T, any Error>?>(nil)
        Task(executorPreference: executor) { [pool] in
            do {
                let value = try await pool.write(body)
                outcome.withLock { $0 = .success(value) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
        try executor.run()
        guard let result = outcome.withLock({ $0 }) else {
            throw SessionFailure(message: "a call into the database does not return")
        }
        return try result.get()
    }

    /// Changes everything that may be stored in the same way.
    func change(_ body: (inout ClientModel) -> Void) {
        possible = possible.map { states in
            states.map { state in
                var model = state.model
                body(&model)
                return PossibleState(model)
            }
        }
    }

    /// The end of an upload round may have come at any moment: a checkpoint that waits for it is looked at once.
    private func takeUploadsEnd() {
        for states in possible {
            guard var last = states.last?.model, last.isActive, last.pending != nil else { continue }
            _ = last.uploadCompleted(now: now)
            possible.append([PossibleState(last)])
        }
    }

    /// Takes over what became of the iteration.
    private func follow(_ course: Course, from before: SyncStatusSnapshot) throws {
        let (starts, last) = shown.takeStarts(after: before)
        let (wasActive, isActive) = (before.isActive, last.isActive)
        switch course {
        case .same, .mayBegin, .mayRestart:
            let mayStart = course == .mayBegin && !wasActive
            try require(starts == 0 || mayStart && starts == 1, "\(starts) iterations began")
            try require(isActive == (wasActive || starts == 1), "the iteration has ended")
            if starts == 1 {
                try beginIteration()
            } else if course == .mayRestart, wire?.isCancelled == true {
                try restart(from: before)
            }
        case .begins:
            try require(starts == 1 && isActive, "no iteration began")
            try beginIteration()
        case .restarts:
            let isShownAnew = before.connected && !hasCredentials
            try require(isActive && starts == (isShownAnew ? 1 : 0), "no iteration began again")
            try restart(from: before)
        case .ends, .mayEnd:
            // The upload whose write checkpoint cannot be had now ends one pause, that which is about to begin (SPEC.md).
            let isAwaited = model.queue.isEmpty && model.target == ClientModel.unknown
            let mayBegin = course == .mayEnd && isAwaited && pauseEndedFor != model.queuedEver
            try require(starts == 0 || mayBegin && starts == 1, "an iteration began at once")
            try require(!isActive || course == .mayEnd, "the iteration goes on")
            if starts == 1 {
                pauseEndedFor = model.queuedEver
                try beginIteration()
            } else if !isActive, wasActive {
                try endIteration()
            }
        }
    }

    /// Takes over that a stream is opened in the place of another one, as which it shows until then (client-core 6.9),
    /// unless the app has to give credentials first.
    private func restart(from before: SyncStatusSnapshot) throws {
        meet(.reconnectedAtOnce)
        let isConnected = before.connected && hasCredentials
        try require(
            shown.last.connected == isConnected, "a new stream shows otherwise than the one before")
        try beginIteration()
        isReplacing = isConnected
    }

    /// Whether the service has not refused the last token that the app has got.
    private var hasCredentials: Bool { !refusedTokens.contains("Token token-\(tokens)") }

    /// Forgets the iteration; which of the lines that waited were stored shows what is stored.
    private func endIteration() throws {
        if let wire { try require(wire.isCancelled, "the client has left a stream open") }
        wire = nil
        stream = nil
        isReplacing = false
        pipe = LinePipe()
        if possible.contains(where: { $0.count > 1 }) { meet(.endedWhileLinesWait) }
        possible = possible.flatMap { states in
            states.map { state in
                var model = state.model
                if model.isActive { model.end() }
                return [PossibleState(model)]
            }
        }
        if running != nil, mismatches == 0 {
            try require(
                shown.last.isActive || clock.waiting.contains(.seconds(5)), "nobody tries again in 5 s")
        }
    }

    private func beginIteration() throws {
        try endIteration()
        let keys = active.withLock { $0 }
        possible = possible.map { states in
            var model = states[0].model
            model.start(active: keys, now: now)
            return [PossibleState(model)]
        }
    }

    /// Compares what is stored with what may be, and forgets what is not so.
    private func compare() throws {
        let text = try DatabaseText.readWithRaw(reader)
        var kept: [[PossibleState]] = []
        for states in possible {
            guard var index = states.firstIndex(where: { $0.text == text }) else { continue }
            // A line that stores nothing is as good as stored.
            while index + 1 < states.count, states[index + 1].text == text { index += 1 }
            let rest = Array(states[index...])
            // Others of the same length and the same rest to do are the same.
            let isKnown = kept.contains {
                $0.count == rest.count && $0.last?.model.pending == nil && rest.last?.model.pending == nil
            }
            if !isKnown { kept.append(rest) }
        }
        guard !kept.isEmpty else {
            let states = possible.map(\.count)
            let expected = possible[0][possible[0].count - 1].text
            throw SessionFailure(
                message: """
                    what is stored is none of the \(states) states that may be; compared with the last of the first it \
                    differs in\n\(text.difference(to: expected))
                    """)
        }
        possible = kept
    }

    private func checkTokens(after opened: Int) throws {
        for call in transport.opens.all where call.id > opened {
            let token = token(of: call.request)
            try require(!refusedTokens.contains(token), "the refused \(token) is used again")
        }
    }
}

/// A state that may be, with its tables as text.
final class PossibleState {
    let model: ClientModel
    private(set) lazy var text = model.textWithRaw

    init(_ model: ClientModel) { self.model = model }
}

/// What was shown and logged.
final class ShownStatuses: Sendable {
    private struct State {
        var statuses = [SyncStatusSnapshot()]
        var taken = 0
        var log: [String] = []
    }

    private let state = Lock(State())

    var last: SyncStatusSnapshot { state.withLock { $0.statuses[$0.statuses.count - 1] } }
    var count: Int { state.withLock { $0.taken + $0.statuses.count } }
    var log: [String] { state.withLock { $0.log } }

    func add(_ status: SyncStatusSnapshot) { state.withLock { $0.statuses.append(status) } }
    func add(_ line: String) { state.withLock { $0.log.append(line) } }

    /// Counts how often an iteration began to connect since a status was the last, and forgets all but the last.
    func takeStarts(after before: SyncStatusSnapshot) -> (count: Int, last: SyncStatusSnapshot) {
        state.withLock { state in
            var previous = before
            var count = 0
            for status in state.statuses.dropFirst() {
                if status.connecting, !previous.connecting { count += 1 }
                previous = status
            }
            state.taken += state.statuses.count - 1
            state.statuses.removeFirst(state.statuses.count - 1)
            return (count, state.statuses[0])
        }
    }
}

extension SyncStatusSnapshot {
    var isActive: Bool { connected || connecting }
}

/// What the sessions of a run have to meet, so that passing means something.
enum CoordinatorSituation: CaseIterable {
    case completed, mismatch, blocked, pendingApplied, reconnectedAtOnce, endedWhileLinesWait, stoppedInUpload
    case refusedToken, failedUpload, stalledUpload, lostAnswer, overtakenCheckpoint, failedCheckpoint,
        rolledBack
    case binaryLine, rawRow, requestedCheckpoint, quietTime, atRest
}
