import Foundation
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// The way from the source to the disk (DESIGN.md, 3), with a source that there is not.
@Suite(.patient(), .namesSeed)
struct IntakeTests {
    /// Runs a body with an intake whose positions wait until a gate is opened.
    private static func run(
        _ fixture: StoreFixture, publisher: Publisher? = nil, time: Gate = Gate(),
        note: @escaping @Sendable (WriteOutcome) -> Void = { _ in },
        _ body: @escaping @Sendable (Intake) async throws -> Void
    ) async throws {
        try await Intake.with(
            GroupWriter(fixture.store, fixture.context, publisher: publisher),
            delay: {
                try await withTaskCancellationHandler {
                    await time.pass()
                    try Task.checkCancellation()
                } onCancel: {
                    // A gate holds also those who are cancelled.
                    time.open()
                }
            }, note: note, body)
    }

    private static func rows(
        _ range: Range<Int>, of table: SourceTable, size: Int = 10
    ) -> [ReplicationEvent] {
        range.map {
            .change(
                table,
                .insert(StoreFixture.row("r\($0)", "u1", .text(String(repeating: "x", count: size)))))
        }
    }

    // MARK: Order

    @Test func aHistoryBecomesWhatItBecomesOneByOne() async throws {
        try await forEachSeed(20) { random in
            var history = RandomHistory(random)
            try await StoreFixture.withFolder { path in
                let first = try await StoreFixture(path: path, RandomHistory.config)
                try await first.close()
                try FileManager.default.copyItem(atPath: path, toPath: path + ".other")
                var limits = StoreLimits()
                // Some batches are evaluated by others, and groups differ.
                limits.submittedRows = history.random.pick([0, 3, 16])
                limits.groupBytes = history.random.pick([1, 5000, 1 << 20])
                limits.pipelineBytes = history.random.pick([1, 30_000, 1 << 20])
                limits.truncatedRows = history.random.pick([2, 2000])
                limits.groupOperations = history.random.pick([1, 8, 50_000])
                let one = try await StoreFixture(path: path, RandomHistory.config, limits: limits)
                let other = try await StoreFixture(path: path + ".other", RandomHistory.config)
                var pieces: [ChangeBatch] = []
                var committed: LSN?
                for _ in 0..<25 {
                    let events = history.group(one.table, mayBePartial: false, isAhead: false)
                    for piece in history.cut(events) {
                        pieces.append(try await one.store.batch(piece, one.context))
                        if let commit = pieces.last?.lastCommit { committed = commit }
                    }
                    _ = try await other.store.formerApply(events.map { $0.of(other.table) }, other.context)
                }
                let batches = pieces
                let durable = Lock<[LSN]>([])
                let time = Gate()
                time.open()
                try await Self.run(
                    one, time: time,
                    note: { outcome in
                        if let position = outcome.durable { durable.withLock { $0.append(position) } }
                    }
                ) { intake in
                    for batch in batches { try await intake.submit(batch) }
                    let needs = try await intake.drain()
                    #expect(needs.incomplete.isEmpty && needs.over.isEmpty && !needs.hasSwitched)
                    #expect(intake.isAtRest)
                }
                #expect(durable.withLock { $0 } == durable.withLock { $0.sorted() })
                #expect(durable.withLock { $0.last } == committed)
                let found = try await StateDump.of(one.store, StateDump.rows)
                let wanted = try await StateDump.of(other.store, StateDump.rows)
                #expect(found == wanted)
                // Else the rows of a truncate are in another order.
                if limits.truncatedRows == 2000, limits.groupOperations == 50_000 {
                    for owner in 0..<4 {
                        let expected = try await other.operations("u\(owner)")
                        #expect(try await one.operations("u\(owner)") == expected)
                    }
                }
                let record = try await one.store.stream(one.stream.number)
                let former = try await other.store.stream(other.stream.number)
                #expect(record.checkpoint == former.checkpoint && record.appliedLSN == former.appliedLSN)
                try await one.close()
                try await other.close()
            }
            random = history.random
        }
    }

    // MARK: Bounds

    @Test func theSourceWaitsForRoom() async throws {
        try await StoreFixture.withFolder { path in
            var limits = StoreLimits()
            limits.submittedRows = 0
            let probe = try await StoreFixture(path: path, limits: limits)
            let size = try await probe.store.batch(
                Self.rows(0..<20, of: probe.table, size: 100), probe.context
            ).byteCount
            try await probe.close()
            // Two are under way, of which one is being written.
            limits.pipelineBytes = 3 * 2 * size + 3 * size / 2
            let fixture = try await StoreFixture(path: path, limits: limits)
            var made: [ChangeBatch] = []
            for number in 0..<5 {
                let rows = Self.rows(20 * number..<20 * number + 20, of: fixture.table, size: 100)
                made.append(try await fixture.store.batch(rows, fixture.context))
            }
            let batches = made
            let disk = BlockingGate()
            defer { disk.open() }
            let busy = Task { try await fixture.store.pool.write { _ in disk.wait() } }
            try await wait(for: "the writer to be in use") { disk.arrivals == 1 }
            let submitted = Lock(0)
            let time = Gate()
            let running = Task {
                try await Self.run(fixture, time: time) { intake in
                    for batch in batches {
                        try await intake.submit(batch)
                        submitted.withLock { $0 += 1 }
                    }
                    _ = try await intake.drain()
                }
            }
            try await wait(for: "two batches to be under way") { submitted.withLock { $0 } == 2 }
            try await wait(for: "the first of them to wait for the writer") {
                fixture.store.pool.waitingWrites == 1
            }
            #expect(submitted.withLock { $0 } == 2)
            disk.open()
            time.open()
            try await wait(forEndOf: running)
            #expect(submitted.withLock { $0 } == 5)
            #expect(try await fixture.count("source_row") == 100)
            try await wait(forEndOf: busy)
            try await fixture.close()
        }
    }

    // MARK: Positions

    @Test func aPositionIsPublishedAtOnceAndStoredInItsTime() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let publisher = Publisher()
            let time = Gate()
            try await Self.run(fixture, publisher: publisher, time: time) { intake in
                let row = Self.rows(0..<1, of: fixture.table)
                let first = row + [.committed(LSN(rawValue: 10))]
                try await intake.submit(try await fixture.store.batch(first, fixture.context))
                let switched = try await intake.drain()
                #expect(switched.hasSwitched)
                #expect(try await intake.nextOutcome().durable == LSN(rawValue: 10))
                for position in [20, 30] as [UInt64] {
                    try await intake.submit(ChangeBatch(.committed(LSN(rawValue: position))))
                }
                intake.passed(LSN(rawValue: 31), isUrgent: false)
                try await wait(for: "the position") {
                    publisher.current?.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 30))
                }
                var record = try await fixture.store.stream(fixture.stream.number)
                #expect(record.appliedLSN == LSN(rawValue: 10) && record.reportedLSN == .zero)
                #expect(!intake.isAtRest)
                time.open()
                #expect(try await intake.nextOutcome().durable == LSN(rawValue: 31))
                record = try await fixture.store.stream(fixture.stream.number)
                #expect(record.appliedLSN == LSN(rawValue: 30) && record.reportedLSN == LSN(rawValue: 31))
                #expect(record.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 30)))
            }
            try await fixture.close()
        }
    }

    /// A reply is asked for, or something has to be on the disk before a table is looked up.
    @Test(arguments: [false, true])
    func whoNeedsAPositionOnTheDiskWaitsForNoTime(isDrained: Bool) async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let time = Gate()
            try await Self.run(fixture, publisher: Publisher(), time: time) { intake in
                intake.passed(LSN(rawValue: 31), isUrgent: !isDrained)
                if isDrained { _ = try await intake.drain() }
                #expect(try await intake.nextOutcome().durable == LSN(rawValue: 31))
                #expect(intake.isAtRest)
                // The time of the next one has yet to come.
                time.open()
            }
            try await fixture.close()
        }
    }

    /// Nobody is served from the stream: it is a commit as any other.
    @Test func aPositionThatCannotBePublishedIsStored() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let publisher = Publisher()
            let time = Gate()
            try await Self.run(fixture, publisher: publisher, time: time) { intake in
                try await intake.submit(ChangeBatch(.committed(LSN(rawValue: 20))))
                #expect(try await intake.nextOutcome().committed == LSN(rawValue: 20))
                #expect(publisher.current?.checkpoint.lsn == LSN(rawValue: 20))
                time.open()
            }
            try await fixture.close()
        }
    }

    // MARK: What the source has to do

    @Test func rowsThatAreMissingAreToldToWhoWaitsForThem() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let time = Gate()
            time.open()
            try await Self.run(fixture, time: time) { intake in
                let row = StoreFixture.row("a", "u1", .unchangedToast)
                let events: [ReplicationEvent] = [
                    .change(fixture.table, .update(old: nil, new: row)), .identityIsOver(fixture.table),
                    .committed(LSN(rawValue: 10)),
                ]
                try await intake.submit(try await fixture.store.batch(events, fixture.context))
                let needs = try await intake.drain()
                #expect(needs.incomplete.map(\.values) == [["a", "u1", nil]])
                #expect(needs.over.map(\.id) == [fixture.table.id])
                let nothing = try await intake.drain()
                #expect(nothing.incomplete.isEmpty && nothing.over.isEmpty, "they are told once")
                #expect(try await intake.nextOutcome().committed == LSN(rawValue: 10))
            }
            try await fixture.close()
        }
    }

    @Test func everyGroupIsTold() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let told = Lock((batches: 0, changes: 0))
            let time = Gate()
            time.open()
            try await Self.run(
                fixture, time: time,
                note: { outcome in
                    told.withLock { $0 = ($0.batches + outcome.batches, $0.changes + outcome.changes) }
                }
            ) { intake in
                for number in 0..<3 {
                    let rows = Self.rows(number * 30..<number * 30 + 30, of: fixture.table)
                    try await intake.submit(try await fixture.store.batch(rows, fixture.context))
                }
                // Rows that were read are none of the stream.
                let plan = try await fixture.store.plan(fixture.table, fixture.context)
                try await intake.submit(ChangeBatch(.readAgain, of: plan, ["r0", "u1", "again"]))
                _ = try await intake.drain()
            }
            #expect(told.withLock { $0 == (3, 90) })
            try await fixture.close()
        }
    }

    // MARK: Ends

    private struct Failure: Error, Equatable {}

    /// A source that waits for its server, and not for the disk, hears of it as well.
    @Test func whatTheWriterThrowsEndsTheSource() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            try await fixture.store.stop(fixture.stream.number)
            let time = Gate()
            time.open()
            let hasEnded = Lock(false)
            await #expect(throws: StoreError.self) {
                try await Self.run(fixture, time: time) { intake in
                    try await intake.submit(ChangeBatch(.committed(LSN(rawValue: 10))))
                    do {
                        try await wait(for: "the end of the source") { false }
                    } catch {
                        hasEnded.withLock { $0 = true }
                        throw error
                    }
                }
            }
            #expect(hasEnded.withLock { $0 })
            try await fixture.close()
        }
    }

    @Test(arguments: ["submit", "drain", "outcome"])
    func whatTheWriterThrowsEndsWhoWaitsForIt(_ call: String) async throws {
        try await StoreFixture.withFolder { path in
            var limits = StoreLimits()
            limits.pipelineBytes = 1
            let fixture = try await StoreFixture(path: path, limits: limits)
            let made = try await fixture.store.batch(Self.rows(0..<20, of: fixture.table), fixture.context)
            try await fixture.store.stop(fixture.stream.number)
            let time = Gate()
            time.open()
            await #expect(throws: StoreError.self) {
                try await Self.run(fixture, time: time) { intake in
                    try await intake.submit(made)
                    switch call {
                    case "submit": while true { try await intake.submit(made) }
                    case "drain": _ = try await intake.drain()
                    default: _ = try await intake.nextOutcome()
                    }
                }
            }
            try await fixture.close()
        }
    }

    @Test func whatTheSourceThrowsEndsEvaluationAndWriting() async throws {
        try await StoreFixture.withFolder { path in
            var limits = StoreLimits()
            limits.submittedRows = 0
            limits.evaluatedRows = 1
            let fixture = try await StoreFixture(path: path, limits: limits)
            let made = try await fixture.store.batch(Self.rows(0..<2000, of: fixture.table), fixture.context)
            let disk = BlockingGate()
            defer { disk.open() }
            let busy = Task { try await fixture.store.pool.write { _ in disk.wait() } }
            try await wait(for: "the writer to be in use") { disk.arrivals == 1 }
            let time = Gate()
            time.open()
            await #expect(throws: Failure.self) {
                try await Self.run(fixture, time: time) { intake in
                    try await intake.submit(ChangeBatch(.committed(LSN(rawValue: 10))))
                    try await intake.submit(made)
                    throw Failure()
                }
            }
            disk.open()
            try await wait(forEndOf: busy)
            // Nothing was stored that nobody has waited for.
            #expect(try await fixture.count("source_row") == 0)
            try await fixture.close()
        }
    }

    @Test func whoeverIsCancelledEndsAll() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let time = Gate()
            time.open()
            let hasBegun = Lock(false)
            let running = Task {
                try await Self.run(fixture, time: time) { intake in
                    hasBegun.withLock { $0 = true }
                    _ = try await intake.nextOutcome()
                }
            }
            try await wait(for: "the source to begin") { hasBegun.withLock { $0 } }
            running.cancel()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: running) }
            try await fixture.close()
        }
    }
}
