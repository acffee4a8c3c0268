import PowerSyncCommandLine
import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine
@testable import PowerSyncStack

/// All of the service between the log of its source and the lines of its streams: evaluation, store, publisher, sessions and
/// upkeep, over scripted tables.
final class IncrementalService: Sendable {
    /// A client's stream.
    struct Stream: Sendable {
        fileprivate let sink: ReplayingSink
        fileprivate let task: Task<Void, Never>
        fileprivate let failure: Lock<String?>

        /// What its client has.
        var state: SyncStreamState { sink.state }

        /// Why it is over; nil as long as it goes on.
        var end: String? { failure.withLock { $0 } }
    }

    /// Small, so that a few transactions come to a walk of the upkeep, and to batches that are evaluated by the way.
    private static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.submittedRows = 3
        limits.smallSegments = 4
        limits.trimmedOperations = 20
        limits.trimmedVersions = 8
        return limits
    }()

    private let store: ServiceStore
    private let served: ServedPlan
    private let context: EvaluationContext
    private let publisher: Publisher
    private let frames: FrameStore
    private let lines: LineBudget
    private let alarm: Alarm
    private let slots = ConnectionSlots(limit: .max)
    private let upkeep: StoreUpkeep
    private let intake: Intake
    private let plans = Lock<[TablePlan]>([])
    private let last = Lock<UInt64>(10)
    private let streams = Lock<[Stream]>([])

    // MARK: Beginning and end

    /// Runs a body with a service that has read and published the tables.
    ///
    /// - Parameters:
    ///   - plan: What it makes of them.
    ///   - source: The tables.
    ///   - body: The use.
    /// - Throws: What the service and `body` throw.
    static func run(
        _ plan: SyncPlan, _ source: ScriptedTables,
        _ body: @escaping @Sendable (IncrementalService) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "incremental-")
        defer { folder.remove() }
        let store = try await ServiceStore.open(path: "\(folder.path)/state.db", limits: limits)
        do {
            try await run(plan, source, store, body)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    private static func run(
        _ plan: SyncPlan, _ source: ScriptedTables, _ store: ServiceStore,
        _ body: @escaping @Sendable (IncrementalService) async throws -> Void
    ) async throws {
        let record = try await store.addStream(config: "", configHash: "hash", publication: 1) {
            "slot_\($0)"
        }
        _ = try await store.noteSlot(of: record, at: LSN(rawValue: 1), publication: 1)
        let served = try await store.serving(plan, by: record.number)
        let publisher = Publisher()
        let lines = LineBudget(limit: 1 << 30)
        let frames = FrameStore(lines: lines) { try await store.frame($0) }
        // No time passes.
        let alarm = Alarm(
            ServiceClock(
                now: { 1000 }, monotonic: { 1000 }, sleep: { _ in throw CancellationError() },
                random: { 0.5 }))
        let writer = GroupWriter(store, EvaluationContext(served), publisher: publisher, frames: frames)
        try await Intake.with(writer, delay: { try await alarm.clock.sleep(.infinity) }) { intake in
            let service = IncrementalService(store, served, publisher, frames, lines, alarm, intake)
            do {
                try await service.read(source)
                try await body(service)
            } catch {
                await service.end()
                throw error
            }
            await service.end()
        }
    }

    private init(
        _ store: ServiceStore, _ served: ServedPlan, _ publisher: Publisher, _ frames: FrameStore,
        _ lines: LineBudget, _ alarm: Alarm, _ intake: Intake
    ) {
        self.store = store
        self.served = served
        context = EvaluationContext(served)
        self.publisher = publisher
        self.frames = frames
        self.lines = lines
        self.alarm = alarm
        self.intake = intake
        let number = served.stream
        upkeep = StoreUpkeep(
            store, clock: alarm.clock, log: Log(label: "upkeep", level: .warning), served: { number })
    }

    private func end() async {
        publisher.close()
        for stream in streams.withLock({ $0 }) { await stream.task.value }
    }

    // MARK: The source

    private func nextPosition() -> LSN {
        last.withLock { last in
            last += 10
            return LSN(rawValue: last)
        }
    }

    /// Reads all tables, and publishes them.
    private func read(_ source: ScriptedTables) async throws {
        let position = nextPosition()
        for index in source.tables.indices {
            let table = try await store.resolve(
                source.description(of: index), types: source.catalog, context)
            let unread = try await store.plan(table, context)
            var batch = ChangeBatch(tables: [unread], isAhead: true)
            for row in source.tables[index].rows {
                let new = batch.appendRow(source.texts(of: row, in: index))
                batch.changes.append(ChangeBatch.Change(.snapshot, table: 0, new: new))
            }
            try await intake.submit(batch)
            try await intake.submit(
                ChangeBatch(.hold(until: position, isAhead: true, isSnapshotDone: false)))
            try await intake.submit(ChangeBatch(.readWhole(0), tables: [TablePlan(table.read)]))
            _ = try await intake.drain()
            let plan = try await store.plan(table.read, context)
            plans.withLock { $0.append(plan) }
        }
        try await intake.submit(ChangeBatch(.hold(until: position, isAhead: false, isSnapshotDone: true)))
        _ = try await intake.drain()
        try await commit([], of: source)
    }

    /// Tells of a transaction, and waits until it is published.
    ///
    /// - Parameters:
    ///   - steps: Its changes.
    ///   - source: The tables.
    ///   - first: How many of the changes come in a piece of their own.
    ///   - isApart: Whether that is on the disk before the rest comes.
    /// - Throws: As the intake.
    func commit(
        _ steps: [ScriptedTables.Step], of source: ScriptedTables, first: Int = 0, isApart: Bool = false
    ) async throws {
        let position = nextPosition()
        if first > 0 {
            var batch = begun(at: position, steps.prefix(first), source)
            batch.append(
                .told(TransactionProgress(finalLSN: position, position: position, changes: first)))
            try await intake.submit(batch)
            if isApart { _ = try await intake.drain() }
        }
        var batch = begun(at: position, steps.dropFirst(first), source)
        batch.append(.committed(position))
        try await intake.submit(batch)
        let outcome = try await intake.drain()
        try #require(outcome.incomplete.isEmpty && outcome.over.isEmpty)
        try #require(publisher.current?.checkpoint.lsn == position)
    }

    private func begun(
        at position: LSN, _ steps: ArraySlice<ScriptedTables.Step>, _ source: ScriptedTables
    ) -> ChangeBatch {
        var batch = ChangeBatch(tables: plans.withLock { $0 })
        batch.append(.begun(position))
        for (table, change) in steps {
            switch change {
            case .insert(let row):
                let new = batch.appendRow(source.texts(of: row, in: table))
                batch.changes.append(ChangeBatch.Change(.insert, table: table, new: new))
            case .update(let former, let row):
                let new = batch.appendRow(source.texts(of: row, in: table))
                // A key that stays is not told, but for a row that is told whole.
                let isTold =
                    source.tables[table].isFull || former.columns[0].value != row.columns[0].value
                let old = isTold ? batch.appendRow(source.formerTexts(of: former, in: table)) : -1
                batch.changes.append(ChangeBatch.Change(.update, table: table, new: new, old: old))
            case .delete(let row):
                let old = batch.appendRow(source.formerTexts(of: row, in: table))
                batch.changes.append(ChangeBatch.Change(.delete, table: table, old: old))
            case .truncate: batch.append(.truncate(table))
            }
        }
        return batch
    }

    /// Keeps the file small, until nothing is left to do.
    func tidy() async throws {
        try await wait(for: "the upkeep to be done") { try await upkeep.work() }
    }

    // MARK: Streams

    /// Opens a stream as the route does.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - former: What its client has by a stream before.
    /// - Returns: The stream; nil if the request is refused.
    /// - Throws: What the store throws.
    func open(_ request: LanguageRequest, behind former: SyncStreamState? = nil) async throws -> Stream? {
        var lookups = SessionLookups(served, request.body, token: request.token)
        let settled: SessionBuckets?
        do throws(RequestError) {
            settled = try lookups.settled()
        } catch {
            return nil
        }
        let mailbox = Mailbox(buckets: settled?.names ?? [], key: ExactText("nobody"))
        let attachment = try publisher.attach(mailbox, to: served.stream, isOpen: settled == nil)
        let loop = SessionLoop(
            store: store, frames: frames, attachment: try #require(attachment), alarm: alarm,
            slot: try #require(slots.take()), metrics: ServiceMetrics(), lines: lines,
            buckets: settled?.buckets ?? [], expiry: 1e9, lookups: settled == nil ? lookups : nil)
        let beginning: SessionLoop.Sight
        do {
            beginning = try await loop.firstView()
        } catch is RequestError {
            return nil
        }
        return serve(loop, beginning, settled?.streams ?? beginning.streams, behind: former)
    }

    private func serve(
        _ loop: SessionLoop, _ beginning: SessionLoop.Sight, _ descriptions: [StreamDescription],
        behind former: SyncStreamState?
    ) -> Stream {
        var state = SyncStreamState(isRecorded: false)
        var positions: [BucketRequest] = []
        for (label, bucket) in former?.held ?? [:] {
            guard let name = former?.names[label] else { continue }
            state.begin(name, at: bucket.position, from: bucket)
            positions.append(BucketRequest(name: name, after: bucket.position))
        }
        let (sink, failure) = (ReplayingSink(state), Lock<String?>(nil))
        let task = Task { [positions] in
            do {
                try await loop.run(
                    StreamSession(positions: positions, streams: descriptions), beginning,
                    LineEncoder(.raw, BlockCompressors()), sink)
                failure.withLock { $0 = "it has ended" }
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
        }
        let stream = Stream(sink: sink, task: task, failure: failure)
        streams.withLock { $0.append(stream) }
        return stream
    }

    /// Ends a stream, as a client does that goes away.
    func close(_ stream: Stream) async {
        stream.task.cancel()
        await stream.task.value
    }

    /// Waits until every stream has looked at everything and sent it.
    func rest() async throws {
        try await wait(for: "every stream to be at rest") {
            publisher.sessionsBehind
        } until: {
            $0 == 0
        }
    }
}

/// Takes the lines of a stream as a client does.
private final class ReplayingSink: LineSink {
    private let received: Lock<SyncStreamState>

    /// Begins with what the client has.
    init(_ state: SyncStreamState) { received = Lock(state) }

    /// What the client has by now.
    var state: SyncStreamState { received.withLock { $0 } }

    func send(_ lines: [EncodedLine]) async throws {
        for line in lines {
            var bytes: [UInt8] = []
            while true {
                let pieces = line.next(LinePiece.most)
                if pieces.isEmpty { break }
                for piece in pieces { bytes += piece.bytes }
            }
            let json = try JSON.parse(bytes)
            received.withLock { $0.apply(json) }
        }
    }

    func cut() {}
}
