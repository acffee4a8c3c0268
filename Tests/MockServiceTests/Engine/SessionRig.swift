import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncMockService
@testable import PowerSyncServiceEngine

/// Takes the lines of a stream and keeps them; it can stop taking.
final class RecordingSink: HTTPBodyWriter {
    private struct State {
        var splitter = LineSplitter(limit: 1 << 26)
        var texts: [String] = []
        var model = StreamModel()
    }

    private let state: Lock<State>
    private let gate: Gate?

    /// Makes a sink that takes lines as soon as the gate is open; at once without one.
    ///
    /// - Parameters:
    ///   - gate: The gate.
    ///   - positions: What its client holds already.
    init(gate: Gate? = nil, positions: [BucketRequest] = []) {
        self.gate = gate
        state = Lock(State(model: StreamModel(positions: positions)))
    }

    /// The text of every line.
    var texts: [String] { state.withLock { $0.texts } }

    /// What a client holds after the lines so far.
    var model: StreamModel { state.withLock { $0.model } }

    func write(_ bytes: [UInt8]) async throws {
        await gate?.pass()
        try state.withLock { state in
            state.splitter.append(bytes)
            while let line = try state.splitter.next() {
                state.texts.append(String(decoding: line, as: UTF8.self))
                state.model.take(try SyncLine(parsing: line))
            }
        }
    }

    func beginChunk(of count: Int) {}
}

/// A publisher over a store on a file, with streams whose sinks record.
///
/// A bucket is named after the owner of its rows.
final class SessionRig: Sendable {
    /// A stream that is being served.
    struct Stream: Sendable {
        let mailbox: Mailbox
        let sink: RecordingSink
        let task: Task<Void, any Error>
    }

    static let configText = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
        """
    static let start = 1000.0

    let store: ServiceStore
    let stream: StreamNumber
    let served: ServedPlan
    let publisher = Publisher()
    let frames: FrameStore
    let lines: LineBudget
    let clock = ManualClock(start)
    let alarm: Alarm
    private let context: EvaluationContext
    private let table: SourceTable
    /// Tables beside the usual one, by name.
    private let others: [String: SourceTable]
    private let slots = ConnectionSlots(limit: .max)
    private let readings: Lock<Int>
    private let folder: TemporaryDirectory
    private let ringing: Task<Void, Never>
    private let last = Lock<UInt64>(0)

    /// Runs a test with a checkpoint that is published and has no rows.
    ///
    /// - Parameters:
    ///   - readers: How many connections read.
    ///   - text: The configuration.
    ///   - others: The columns of tables beside the usual one, of which the first identifies a row, by the table's name.
    ///   - body: The test.
    /// - Throws: What `body` throws.
    static func run(
        readers: Int = 4, _ text: String = configText, others: [String: [String]] = [:],
        _ body: (SessionRig) async throws -> Void
    ) async throws {
        let rig = try await SessionRig(readers: readers, text, others)
        do {
            try await rig.commit()
            try await body(rig)
        } catch {
            await rig.end()
            throw error
        }
        await rig.end()
    }

    private init(readers: Int, _ text: String, _ others: [String: [String]]) async throws {
        let folder = try TemporaryDirectory(prefix: "sessions-")
        let store = try await ServiceStore.open(path: "\(folder.path)/state.db", readers: readers)
        let plan = try SyncPlan.compiled(text)
        let record = try await store.addStream(config: "", configHash: "hash", publication: 1) {
            "slot_\($0)"
        }
        try await store.holdCheckpoint(record.number, until: .zero, isSnapshotDone: true)
        let served = try await store.serving(plan, by: record.number)
        let context = EvaluationContext(served)
        table = try await store.resolve(
            Self.description(7, "t", ["id", "owner"]), types: TypeCatalog(), context)
        var tables: [String: SourceTable] = [:]
        for (number, other) in others.sorted(by: { $0.key < $1.key }).enumerated() {
            tables[other.key] = try await store.resolve(
                Self.description(8 + UInt32(number), other.key, other.value), types: TypeCatalog(), context)
        }
        self.others = tables
        let (lines, readings) = (LineBudget(limit: 1 << 30), Lock(0))
        frames = FrameStore(lines: lines) { request in
            readings.withLock { $0 += 1 }
            return try await store.frame(request)
        }
        self.lines = lines
        self.readings = readings
        self.folder = folder
        self.store = store
        self.served = served
        self.context = context
        stream = record.number
        let alarm = Alarm(clock.clock)
        self.alarm = alarm
        ringing = Task { await alarm.run() }
    }

    /// A table of texts, of which the first identifies a row.
    private static func description(_ oid: UInt32, _ name: String, _ columns: [String]) -> TableDescription {
        TableDescription(
            oid: oid, schema: "public", name: name,
            columns: columns.map {
                SourceColumn(name: $0, typeOID: 25, isIdentity: $0 == columns.first)
            })
    }

    private func end() async {
        publisher.close()
        ringing.cancel()
        await store.close()
        folder.remove()
    }

    /// A row of an owner.
    static func row(_ id: String, _ owner: String) -> PgOutputTuple { [.text(id), .text(owner)] }

    /// How often operations were read from the disk.
    var frameReads: Int { readings.withLock { $0 } }

    /// The position that was published last.
    var position: LSN { LSN(rawValue: last.withLock { $0 }) }

    /// A position so far behind the one that was published last; each commit moves that by 10.
    func position(behind distance: UInt64) -> LSN { LSN(rawValue: last.withLock { $0 } + distance) }

    // MARK: What the source does

    /// Stores a piece of a transaction that goes on.
    func write(_ changes: [RowChange]) async throws {
        _ = try await write(changes.map { ReplicationEvent.change(table, $0) })
    }

    /// Stores a piece of a transaction that goes on, which changes several tables.
    func write(in changes: [(table: String, changes: [RowChange])]) async throws {
        _ = try await write(events(in: changes))
    }

    /// Ends a transaction, and publishes it.
    func commit(_ changes: [RowChange] = [], truncating: Bool = false) async throws {
        var events: [ReplicationEvent] = truncating ? [.truncate(table)] : []
        events += changes.map { ReplicationEvent.change(table, $0) }
        events.append(.committed(nextPosition()))
        let result = try await write(events)
        try #require(result.checkpoint != nil)
    }

    /// Ends a transaction that changes several tables, and publishes it.
    ///
    /// - Parameter changes: For each table its changes.
    /// - Throws: What the store throws.
    func commit(in changes: [(table: String, changes: [RowChange])]) async throws {
        let result = try await write(events(in: changes) + [.committed(nextPosition())])
        try #require(result.checkpoint != nil)
    }

    private func events(in tables: [(table: String, changes: [RowChange])]) throws -> [ReplicationEvent] {
        var events: [ReplicationEvent] = []
        for (name, changes) in tables {
            let table = try #require(name == "t" ? table : others[name])
            events += changes.map { ReplicationEvent.change(table, $0) }
        }
        return events
    }

    /// Stores a transaction that nobody is told of, and keeps nothing of it in memory; the configuration has no lookups.
    ///
    /// - Returns: What is to be published.
    func storeUnpublished(_ changes: [RowChange]) async throws -> DurableCommit {
        let position = nextPosition()
        let result = try await store.apply(
            changes.map { ReplicationEvent.change(table, $0) } + [.committed(position)], context)
        return DurableCommit(
            served: served, checkpoint: try #require(result.checkpoint), changed: result.changed,
            lookups: ChangedLookups())
    }

    private func nextPosition() -> LSN {
        last.withLock { last in
            last += 10
            return LSN(rawValue: last)
        }
    }

    private func write(_ events: [ReplicationEvent]) async throws -> WriteOutcome {
        let batch = try await store.batch(events, context)
        let evaluated = RowEvaluation.evaluateAtOnce(batch, context.converter, limits: store.limits)
        return try await GroupWriter(store, context, publisher: publisher, frames: frames).write([evaluated])
    }

    /// Lets transactions pass that change no table of the configuration, the way on which a source brings them.
    ///
    /// - Parameter count: How many; each is published before the next one comes.
    /// - Throws: As the intake.
    func pass(_ count: Int) async throws {
        let first = last.withLock { last in
            defer { last += 10 * UInt64(count) }
            return last
        }
        let (publisher, clock) = (publisher, clock)
        try await Intake.with(
            GroupWriter(store, context, publisher: publisher),
            delay: { try await clock.clock.sleep(.infinity) }
        ) { intake in
            for number in 1...UInt64(count) {
                let position = LSN(rawValue: first + 10 * number)
                let marks = [ChangeBatch.Mark.begun(position), .committed(position)]
                let sequence = publisher.current?.sequence ?? 0
                try await intake.submit(ChangeBatch(marks: marks.map { (before: 0, mark: $0) }))
                _ = try await publisher.next(after: sequence)
            }
            _ = try await intake.drain()
        }
    }

    /// What Prometheus is told of how often streams were woken.
    func wakeups() throws -> Int {
        let router = MetricsRouter(
            metrics: ServiceMetrics(), slots: slots, publisher: publisher, store: store, clock: clock.clock)
        let answer = router.handle(HTTPRequest(method: "GET", target: "/metrics"))
        guard case .bytes(let page) = answer.body else { return -1 }
        let lines = String(decoding: page, as: UTF8.self).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("powersync_session_wakeups_total ") }
        return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
    }

    /// Takes a write checkpoint as the route does, without a marker.
    @discardableResult
    func takeWriteCheckpoint(_ key: String, at head: LSN) async throws -> Int64 {
        let stored = try await store.nextWriteCheckpoint(key: key, head: head, published: position)
        publisher.expect(stored.id, of: ExactText(key), at: stored.head)
        return stored.id
    }

    // MARK: Streams

    /// What the request of a stream resolves to.
    func buckets(_ owners: [String]) -> [ResolvedBucket] {
        owners.map {
            ResolvedBucket(name: "\(stream)#s|0[\"\($0)\"]", priority: 3, reasons: [.defaultStream(0)])
        }
    }

    /// Attaches a stream that has read nothing yet.
    func attach(_ owners: [String], key: String = "nobody", expiry: Double = 1e9) throws -> SessionLoop {
        let buckets = buckets(owners)
        let mailbox = Mailbox(buckets: Set(buckets.map { ExactText($0.name) }), key: ExactText(key))
        let attachment = try publisher.attach(mailbox, to: stream)
        return SessionLoop(
            store: store, frames: frames, attachment: try #require(attachment), alarm: alarm,
            slot: try #require(slots.take()), metrics: ServiceMetrics(), lines: lines, buckets: buckets,
            expiry: expiry)
    }

    /// Attaches a stream whose buckets come of lookups.
    ///
    /// - Parameters:
    ///   - user: The `sub` of its token.
    ///   - request: The body of its request.
    ///   - limits: How much it may ask for.
    /// - Returns: The stream, which has read nothing yet.
    /// - Throws: If nothing is served.
    func attach(
        user: String, _ request: SyncStreamRequest = SyncStreamRequest(),
        limits: RequestLimits = RequestLimits()
    ) throws -> SessionLoop {
        let lookups = SessionLookups(
            served, request, token: .object([JSONMember("sub", .string(user))]), limits: limits)
        let attachment = try publisher.attach(
            Mailbox(buckets: [], key: ExactText(user)), to: stream, isOpen: true)
        return SessionLoop(
            store: store, frames: frames, attachment: try #require(attachment), alarm: alarm,
            slot: try #require(slots.take()), metrics: ServiceMetrics(), lines: lines, buckets: [],
            expiry: 1e9, lookups: lookups)
    }

    /// Lets an attached stream read what it begins with, and serves it.
    func serve(
        _ loop: SessionLoop, from positions: [BucketRequest] = [], to sink: RecordingSink = RecordingSink()
    ) async throws -> Stream {
        let view = try await loop.firstView()
        return serve(loop, view, from: positions, to: sink)
    }

    /// Serves a stream that has read what it begins with.
    func serve(
        _ loop: SessionLoop, _ view: SessionLoop.Sight, from positions: [BucketRequest] = [],
        to sink: RecordingSink = RecordingSink()
    ) -> Stream {
        Stream(
            mailbox: loop.attachment.mailbox, sink: sink,
            task: Task {
                try await loop.run(
                    StreamSession(positions: positions, streams: []), view,
                    LineEncoder(.raw, BlockCompressors()), HTTPLineSink(sink))
            })
    }

    /// Opens a stream.
    func open(
        _ owners: [String], key: String = "nobody", to sink: RecordingSink = RecordingSink()
    ) async throws -> Stream {
        try await serve(try attach(owners, key: key), to: sink)
    }

    /// Waits until every stream has looked at everything and sent it.
    func rest(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await wait(for: "every stream to be at rest", sourceLocation: sourceLocation) {
            publisher.sessionsBehind
        } until: {
            $0 == 0
        }
    }
}

/// A stream that is told of every publication, and reads everything each time.
struct ToldStream {
    private let rig: SessionRig
    private let buckets: [ResolvedBucket]
    private let key: String
    private var session = StreamSession(positions: [], streams: [])
    /// The text of every line.
    private(set) var texts: [String] = []
    /// What a client holds after the lines so far.
    private(set) var model = StreamModel()

    init(_ rig: SessionRig, _ owners: [String], key: String) {
        self.rig = rig
        self.key = key
        buckets = rig.buckets(owners)
    }

    /// Tells it of what is published now, and takes what it sends.
    mutating func tell() async throws {
        let checkpoint = try #require(rig.publisher.current).checkpoint
        let states = try await rig.store.states(
            of: buckets.map(\.name), stream: rig.stream, at: checkpoint.operation)
        let view = CheckpointView(
            operation: checkpoint.operation,
            writeCheckpoint: try await rig.store.writeCheckpoint(key: key)?.reached(at: checkpoint.lsn),
            buckets: buckets.map {
                CheckpointView.Bucket(bucket: $0, state: states[ExactText($0.name)] ?? .empty)
            })
        take(session.offer(view))
        while true {
            switch session.next() {
            case .wait: return
            case .send(let line): take(line)
            case .read(let read):
                let chunk = try await rig.store.chunk(
                    bucket: read.request.bucket, after: read.after, upTo: checkpoint.operation,
                    rows: read.request.rows, bytes: 1 << 20)
                take(session.received(chunk, for: read))
            }
        }
    }

    private mutating func take(_ line: SyncLine?) {
        guard let line else { return }
        texts.append(String(decoding: line.encoded(rawData: true), as: UTF8.self))
        model.take(line)
    }
}
