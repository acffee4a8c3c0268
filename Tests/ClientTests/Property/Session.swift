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
    private let tuning: StorageTuning
    /// With how many bytes data lines are one event; 0 for each line by itself.
    let batchBytes: Int
    var iteration = SyncState()
    var service = ServiceModel()
    var stream: ServiceStream?
    var lastSentWriteCheckpoint: Int64?
    /// What has been committed.
    private(set) var model = ClientModel()
    /// Data lines that were received and wait for others to be stored with.
    var waiting: [(line: ServiceLine, storable: StorableLine)] = []
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
        let way = Self.way(seed)
        tuning = way.tuning
        batchBytes = way.batchBytes
        client = try ClientUnderTest(directory: directory, template: template)
    }

    /// Lines together and lines alone get the same share; half of the former takes what else needs many rows.
    private static func way(_ seed: Int) -> (tuning: StorageTuning, batchBytes: Int) {
        var tuning = StorageTuning.standard
        if seed % 2 != 0 { return (tuning, 0) }
        if seed % 4 == 0 { return (tuning, tuning.batchBytes) }
        tuning.scannedRows = 1
        return (tuning, 1500)
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

    /// Compares what was committed with what a change must have come to, all of it at once, and takes that over.
    func commit(_ next: ClientModel) throws {
        let texts = [model.text, next.text]
        var position = 0
        let observed = try client.takeObserved()
        for (index, state) in observed.enumerated() {
            guard let found = texts[position...].firstIndex(of: state) else {
                throw SessionFailure(
                    message: """
                        committed state \(index + 1) of \(observed.count) is neither that before the change nor \
                        that behind it; compared with the latter it differs in\n\(state.difference(to: texts[1]))
                        """)
            }
            position = found
        }
        try require(
            texts[position] == texts[1],
            "a change has not reached the file\n\(texts[position].difference(to: texts[1]))")
        model = next
        if model.isActive { try checkProgress() }
    }

    private func checkProgress() throws {
        let actual = iteration.status.downloading.map { progress in
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
        guard !waiting.isEmpty else { return }
        var next = model
        for (line, storable) in waiting {
            meetOperations(of: line, in: next)
            _ = next.receive(line, size: storable.size, active: active, now: now)
        }
        if waiting.count > 1 {
            note("\(waiting.count) lines together")
            meet(.waitingLinesTogether)
        }
        let effects = try feedThroughLocks(.data(waiting.map(\.storable)))
        waiting = []
        try commit(next)
        try compare(effects, with: .nothing)
    }

    /// Feeds an event behind whatever waits.
    func feed(_ event: SyncEvent, _ body: (inout ClientModel) -> ClientModel.Outcome) throws {
        try flush()
        var next = model
        let outcome = body(&next)
        let effects = try feedThroughLocks(event)
        try commit(next)
        try compare(effects, with: outcome)
    }

    /// Now and then another connection holds the lock; the same event then works as if nothing had been.
    func feedThroughLocks(_ event: SyncEvent) throws -> [SyncEffect] {
        if !isCalm, random.once(in: 25) {
            do {
                return try client.whileLocked { try take(event) }
            } catch let error as SQLiteError where error.code == .busy {
                note("locked")
                meet(.locked)
            }
        }
        return try take(event)
    }

    private func take(_ event: SyncEvent) throws -> [SyncEffect] {
        let store = SyncStore(connection: client.writer, now: now, tuning: tuning)
        let result = try client.writer.transaction {
            try SyncTransaction.run(event, from: iteration, on: store)
        }
        iteration = result.state
        return result.effects
    }

    private func meetOperations(of line: ServiceLine, in model: ClientModel) {
        guard case .data(let bucket, let operations) = line else { return }
        let last = model.buckets.first { $0.name == bucket }?.last ?? 0
        for operation in operations {
            if operation.id <= last { meet(.repeatedOperation) }
            if operation.id > last, operation.kind == .clear, last > 0 { meet(.cleared) }
        }
    }

    private func compare(_ effects: [SyncEffect], with outcome: ClientModel.Outcome) throws {
        var completed: [Int64?] = []
        var closed: SyncCloseReason?
        var statuses = 0
        for effect in effects {
            if case .completed(let id) = effect { completed.append(id) }
            if case .close(let reason) = effect { closed = reason }
            if case .status = effect { statuses += 1 }
        }
        try require(statuses < 2, "one event told \(statuses) statuses")
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

    /// Whether it comes only where lines are stored together.
    var needsBatches: Bool { self == .waitingLinesLost || self == .waitingLinesTogether }
}

/// Why a session failed.
struct SessionFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
