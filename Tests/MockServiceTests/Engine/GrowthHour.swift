import Foundation
import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Takes the lines of a stream and keeps nothing of them.
final class ForgettingSink: LineSink {
    private let count = Lock(0)

    /// The bytes that were taken.
    var bytes: Int { count.withLock { $0 } }

    func send(_ lines: [EncodedLine]) async throws {
        for line in lines {
            while true {
                let pieces = line.next(LinePiece.most)
                if pieces.isEmpty { break }
                count.withLock { $0 += pieces.reduce(0) { $0 + $1.bytes.count } }
            }
        }
    }

    func cut() {}
}

/// A store that is written to on the way of a source, read from and kept small at random, on a clock that it moves.
final class GrowthHour {
    /// What the store takes, and for what.
    struct Size {
        /// The bytes of the file with its log.
        var disk: Int64 = 0
        /// The bytes of all operations as clients get them.
        var operations = 0
        /// The bytes of their rows alone.
        var data = 0
        /// The bytes of this process that are resident and of no file; 0 where the system does not tell.
        var memory = 0
    }

    /// An hour brings megabytes here, and not gigabytes.
    private static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.logBytes = 2 << 20
        limits.keptLogBytes = 512 << 10
        limits.freeBytes = 256 << 10
        limits.writerCacheBytes = 1 << 20
        // Full before the first of what is compared.
        limits.keptFrameBytes = 1 << 20
        return limits
    }()
    private static let owners = (0..<20).map { "u\($0)" }
    /// How many changes are submitted at once.
    private static let batch = 500

    private let fixture: StoreFixture
    private let plan: SyncPlan
    private let clock = ManualClock(0)
    private let publisher = Publisher()
    private let alarm: Alarm
    private let slots = ConnectionSlots(limit: .max)
    private let lines = LineBudget(limit: 64 << 20)
    private let frames: FrameStore
    private let intake: Intake
    private var tasks: [Task<Void, Never>] = []
    private var streams: [(task: Task<Void, any Error>, sink: ForgettingSink)] = []
    private var random = SeededRandom(seed: 1)
    private var rows: [Int] = []
    private var lastRow = 0
    private var position: UInt64 = 0
    private var time = 0.0

    /// Begins with a store that has a checkpoint, and ten streams.
    init(path: String) async throws {
        fixture = try await StoreFixture(path: path, limits: Self.limits)
        plan = try SyncPlan.compiled(StoreFixture.config)
        alarm = Alarm(clock.clock)
        let publisher = publisher
        let alarm = alarm
        let upkeep = StoreUpkeep(
            fixture.store, clock: clock.clock, log: Log(label: "upkeep", level: .warning),
            served: { publisher.current?.stream })
        let store = fixture.store
        frames = FrameStore(limit: Self.limits.keptFrameBytes, lines: lines) { try await store.frame($0) }
        let (writing, intake) = try await GrowthHour.openIntake(
            GroupWriter(store, fixture.context, publisher: publisher, frames: frames), clock.clock)
        self.intake = intake
        tasks = [Task { await upkeep.run() }, Task { await alarm.run() }, writing]
        try await commit([])
        for owner in Self.owners.prefix(10) { try await open(owner) }
    }

    /// Opens a way to the disk, which is there until its task is cancelled.
    private static func openIntake(
        _ writer: GroupWriter, _ clock: ServiceClock
    ) async throws -> (Task<Void, Never>, Intake) {
        let opened = Lock<Intake?>(nil)
        let task = Task {
            do {
                try await Intake.with(
                    writer, delay: { try await clock.sleep(clock.monotonic() + 0.05) }
                ) { intake in
                    opened.withLock { $0 = intake }
                    try await clock.sleep(.infinity)
                }
            } catch is CancellationError {
                // The hour is over.
            } catch {
                Issue.record(error)
            }
        }
        let intake = try await wait(for: "the intake") {
            opened.withLock { $0 }
        } until: {
            $0 != nil
        }
        return (task, try #require(intake))
    }

    /// Ends everything, and looks at what is left on the disk.
    func end() async throws {
        publisher.close()
        for stream in streams {
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: stream.task) }
            #expect(stream.sink.bytes > 0)
        }
        for task in tasks {
            task.cancel()
            await task.value
        }
        try await fixture.close()
    }

    // MARK: What happens

    /// Goes on for so many seconds: single rows all the while, groups, a long transaction now and then, streams that come
    /// and go, and write checkpoints.
    func play(seconds: Int) async throws {
        for step in 1...seconds / 4 {
            move(by: 4)
            for _ in 0..<2 { try await commit([change()]) }
            if step % 5 == 0 {
                try await commit((0..<30).map { _ in change() })
                try await takeWriteCheckpoint()
            }
            if step % 15 == 0 { try await reopen() }
        }
        try await commit((0..<4000).map { _ in change() })
    }

    private func move(by seconds: Double) {
        time += seconds
        clock.set(time)
    }

    private func change() -> RowChange {
        guard !rows.isEmpty, !random.once(in: 2) else {
            lastRow += 1
            rows.append(lastRow)
            return .insert(row(lastRow))
        }
        let index = random.below(rows.count)
        let id = rows[index]
        if random.once(in: 5) {
            rows.swapAt(index, rows.count - 1)
            rows.removeLast()
            return .delete([.text(Self.name(of: id)), .null, .null])
        }
        return .update(old: nil, new: row(id))
    }

    private static func name(of id: Int) -> String {
        let digits = String(id)
        return "r" + String(repeating: "0", count: max(0, 7 - digits.count)) + digits
    }

    /// A row of some 300 bytes of JSON; now and then it is of another owner than before.
    private func row(_ id: Int) -> PgOutputTuple {
        let owner = random.once(in: 10) ? random.pick(Self.owners) : Self.owners[id % Self.owners.count]
        let word = String(random.next(), radix: 16)
        return StoreFixture.row(
            Self.name(of: id), owner, .text(String(repeating: word, count: 1 + 240 / word.utf8.count)))
    }

    private func commit(_ changes: [RowChange]) async throws {
        position += 10
        var rest = changes[...]
        repeat {
            var events = rest.prefix(Self.batch).map { ReplicationEvent.change(fixture.table, $0) }
            rest = rest.dropFirst(Self.batch)
            if rest.isEmpty { events.append(.committed(LSN(rawValue: position))) }
            try await intake.submit(try await fixture.store.batch(events, fixture.context))
        } while !rest.isEmpty
        _ = try await intake.drain()
        #expect(publisher.current?.checkpoint.lsn == LSN(rawValue: position))
    }

    private func takeWriteCheckpoint() async throws {
        let key = "\(random.pick(Self.owners))/c"
        let head = LSN(rawValue: position)
        let stored = try await fixture.store.nextWriteCheckpoint(key: key, head: head, published: head)
        publisher.expect(stored.id, of: ExactText(key), at: stored.head)
    }

    /// What a configuration has built that another one takes the place of.
    func leaveStream() async throws {
        let store = fixture.store
        let left = try await store.addStream(config: "", configHash: "left", publication: 1) { "left_\($0)" }
        let context = EvaluationContext(stream: left.number, plan: plan)
        let table = try await store.resolve(fixture.table.description, types: TypeCatalog(), context)
        for piece in 0..<10 {
            let changes = (0..<600).map { RowChange.snapshot(row(piece * 600 + $0)) }
            _ = try await store.apply(changes.map { .change(table, $0) }, context, isAhead: true)
            move(by: 1)
        }
        try await store.stop(left.number)
    }

    // MARK: Streams

    private func open(_ owner: String) async throws {
        let name = fixture.bucket(owner)
        let mailbox = Mailbox(buckets: [ExactText(name)], key: ExactText("\(owner)/c"))
        let attachment = try publisher.attach(mailbox, to: fixture.stream.number)
        let loop = SessionLoop(
            store: fixture.store, frames: frames, attachment: try #require(attachment), alarm: alarm,
            slot: try #require(slots.take()), metrics: ServiceMetrics(), lines: lines,
            buckets: [ResolvedBucket(name: name, priority: 3, reasons: [.defaultStream(0)])], expiry: 1e9)
        let view = try await loop.firstView()
        let sink = ForgettingSink()
        let task = Task {
            try await loop.run(
                StreamSession(positions: [], streams: []), view, LineEncoder(.raw, BlockCompressors()),
                sink)
        }
        streams.append((task, sink))
    }

    /// Another stream takes the place of the oldest, and gets everything from the beginning.
    private func reopen() async throws {
        let oldest = streams.removeFirst()
        oldest.task.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: oldest.task) }
        try await open(random.pick(Self.owners))
    }

    // MARK: What there is

    /// Lets nothing happen until everybody is at rest.
    func rest() async throws {
        try await wait(for: "every stream to be at rest") {
            publisher.sessionsBehind
        } until: {
            $0 == 0
        }
        try await wait(for: "the log to be emptied") {
            move(by: 1)
            return try logSize()
        } until: {
            $0 == 0
        }
    }

    private func logSize() throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path + "-wal")
        return (attributes[.size] as? NSNumber)?.intValue ?? 0
    }

    /// Holds that everything is done which upkeep is for: it has nothing left.
    func expectNothingIsLeft() async throws {
        try await fixture.store.pool.read { try Self.expectNothingIsLeft($0) }
    }

    private static func expectNothingIsLeft(_ connection: SQLiteConnection) throws {
        func number(_ sql: String) throws -> Int64 { try connection.one(sql) { $0.int64(0) } ?? 0 }
        let stopped = "(SELECT id FROM replication_stream WHERE state = 'stopped')"
        for table in ["bucket", "source_table"] {
            let count = try number("SELECT count(*) FROM \(table) WHERE stream IN \(stopped)")
            #expect(count == 0, "\(table)")
        }
        let small = try number("SELECT max(small) FROM bucket")
        #expect(small < 2 * limits.smallSegments)
        let hasFreePages = try FreePages(connection).areTooMany(limits, isGoingOn: false)
        #expect(!hasFreePages)
    }

    /// Measures, and holds that the operations are those that buckets tell of.
    func size() async throws -> Size {
        var size = Size(disk: fixture.store.size())
        let store = fixture.store
        let names = Self.owners.map { fixture.bucket($0) }
        let last = try #require(publisher.current).checkpoint.operation
        let states = try await store.states(of: names, stream: fixture.stream.number, at: last)
        for name in names {
            guard let state = states[ExactText(name)], let bucket = state.id else { continue }
            var (after, count, checksum) = (OperationID(0), Int64(0), Checksum.zero)
            while true {
                let chunk = try await store.chunk(
                    bucket: bucket, after: after, upTo: last, rows: 1000, bytes: 1 << 20)
                let operations = chunk.operations
                guard let next = operations.last?.id else { break }
                after = next
                count += Int64(operations.count)
                for operation in operations { checksum += operation.checksum }
                size.data += operations.reduce(0) { $0 + ($1.data?.utf8.count ?? 0) }
                let line = DataLine(bucket: "", operations: OperationList(operations))
                size.operations += SyncLine.data(line).encoded().count
            }
            #expect(count == state.count && checksum == state.checksum, "\(name)")
        }
        size.memory = try Self.memory()
        return size
    }

    private static func memory() throws -> Int {
        #if os(Linux)
            Memory.returnToSystem()
            let status = String(
                decoding: FileManager.default.contents(atPath: "/proc/self/status") ?? Data(), as: UTF8.self)
            let resident = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            let kilobytes = try #require(resident?.split { $0 == " " || $0 == "\t" }.dropFirst().first)
            return try #require(Int(kilobytes)) * 1024
        #else
            return 0
        #endif
    }
}
