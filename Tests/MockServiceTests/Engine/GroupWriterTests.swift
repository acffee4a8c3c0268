import Foundation
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Groups of evaluated batches in one transaction (DESIGN.md, 3; service 4.6, 7.5).
@Suite(.patient(), .namesSeed)
struct GroupWriterTests {
    /// Two states that have the same table, so that checksums of REMOVEs are the same.
    private static func withTwo(
        _ body: (_ one: StoreFixture, _ other: StoreFixture) async throws -> Void
    ) async throws {
        try await StoreFixture.withFolder { path in
            let first = try await StoreFixture(path: path, RandomHistory.config)
            try await first.close()
            try FileManager.default.copyItem(atPath: path, toPath: path + ".other")
            let one = try await StoreFixture(path: path, RandomHistory.config)
            let other = try await StoreFixture(path: path + ".other", RandomHistory.config)
            try await body(one, other)
            try await one.close()
            try await other.close()
        }
    }

    /// Stores events as one group of several batches.
    private static func write(
        _ pieces: [[ReplicationEvent]], to fixture: StoreFixture, isAhead: Bool
    ) async throws -> WriteOutcome {
        var batches: [EvaluatedBatch] = []
        for piece in pieces {
            let batch = try await fixture.store.batch(piece, fixture.context, isAhead: isAhead)
            batches.append(
                try await RowEvaluation.evaluate(
                    batch, fixture.context.converter, limits: fixture.store.limits))
        }
        return try await GroupWriter(fixture.store, fixture.context).write(batches)
    }

    @Test func randomHistoriesBecomeWhatTheyBecameOneByOne() async throws {
        var counts = (incomplete: 0, checkpoints: 0, large: 0, alone: 0)
        try await forEachSeed(60) { random in
            var history = RandomHistory(random)
            try await Self.withTwo { one, other in
                var (table, copy) = (one.table, other.table)
                for _ in 0..<12 {
                    let isAhead = history.random.once(in: 6)
                    // Behind a batch that may miss a row the source waits: it is the last of its group.
                    let mayBePartial = history.random.once(in: 2)
                    let events = history.group(table, mayBePartial: mayBePartial, isAhead: isAhead)
                    let pieces = mayBePartial || isAhead ? [events] : history.cut(events)
                    let found = try await Self.write(pieces, to: one, isAhead: isAhead)
                    let expected = try await other.store.formerApply(
                        events.map { $0.of(copy) }, other.context, isAhead: isAhead)
                    #expect(found.checkpoint == expected.checkpoint)
                    #expect(found.incomplete.map(\.values) == expected.incomplete.map(\.values))
                    counts.incomplete += found.incomplete.count
                    counts.checkpoints += found.checkpoint == nil ? 0 : 1
                    let dump = try await StateDump.of(one.store, StateDump.everything)
                    let wanted = try await StateDump.of(other.store, StateDump.everything)
                    try #require(dump == wanted)
                    counts.large += Int(try await one.count("large_value") ?? 0)
                    counts.alone += Int(try await one.count("source_row WHERE places = x'01'") ?? 0)
                    if history.random.once(in: 3) {
                        for fixture in [one, other] {
                            try await fixture.store.holdCheckpoint(fixture.stream.number, until: history.now)
                            try await fixture.store.noteComplete([fixture.table])
                        }
                    }
                    if history.random.once(in: 6) {
                        // The stream is behind the catalog.
                        let seenAt = LSN(rawValue: history.now.rawValue + 25)
                        let layout = TableLayout(text: "\(seenAt)", seenAt: seenAt)
                        table = try await one.store.note(layout, of: table)
                        copy = try await other.store.note(layout, of: copy)
                    }
                }
            }
            random = history.random
        }
        // Seeds of the environment are few.
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(counts.incomplete > 20 && counts.checkpoints > 60 && counts.large > 100, "\(counts)")
        #expect(counts.alone > 5, "rows that are in no bucket and of which large values are kept")
    }

    /// The fields of a composite type can change without a word in the stream.
    @Test func aRowThatWasToldBeforeItsFieldsAreKnownIsReadAgain() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            var type = TypeCatalog.Entry(oid: 9000, name: "", kind: "c")
            type.fields = [(name: "a", oid: 25)]
            let columns = [("id", 25), ("owner", 25), ("big", 9000)] as [(String, UInt32)]
            let resolved = try await fixture.store.resolve(
                TableDescription(
                    oid: 7, schema: "public", name: "t",
                    columns: columns.map {
                        SourceColumn(name: $0.0, typeOID: $0.1, isIdentity: $0.0 == "id")
                    }), types: TypeCatalog([type]), fixture.context)
            let layout = TableLayout(text: "layout", seenAt: LSN(rawValue: 50))
            let table = try await fixture.store.note(layout, of: resolved)
            let row = StoreFixture.row("a", "u1", .text("(x)"))
            let events: (UInt64) -> [ReplicationEvent] = { position in
                [.begun(LSN(rawValue: position)), .change(table, .insert(row))]
            }
            let early = try await fixture.store.apply(events(50), fixture.context)
            #expect(early.incomplete.map(\.values) == [["a", "u1", "(x)"]])
            let late = try await fixture.store.apply(events(51), fixture.context)
            #expect(late.incomplete.isEmpty)
            let put = #"PUT a {"id":"a","owner":"u1","big":"{\"a\":\"x\"}"}"#
            #expect(try await fixture.operations("u1") == [put])
            try await fixture.close()
        }
    }

    // MARK: What is told beside rows

    @Test func aPieceIsStoredWithItsKeyAndTheEndOfATableWithAllOfIt() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let (store, context) = (fixture.store, fixture.context)
            let plan = try await store.plan(fixture.table, context)
            func known() async throws -> SourceTable? {
                try await store.table(
                    matching: fixture.table.description, types: TypeCatalog(), context)
            }
            var piece = ChangeBatch(.snapshot, of: plan, ["a", "u1", nil])
            piece.append(.readUpTo(0, key: "a"))
            let rows = RowEvaluation.evaluateAtOnce(piece, context.converter)
            _ = try await GroupWriter(store, context).write([rows])
            #expect(try await known()?.snapshotKey == "a")
            #expect(try await store.stream(fixture.stream.number).isAhead)
            let position = LSN(rawValue: 70)
            let end = [
                ChangeBatch(.readWhole(0), tables: [plan]),
                ChangeBatch(.hold(until: position, isAhead: false, isSnapshotDone: true)),
                ChangeBatch(.committed(LSN(rawValue: 60))), ChangeBatch(.committed(position)),
            ]
            let outcome = try await GroupWriter(store, context).write(
                end.map { RowEvaluation.evaluateAtOnce($0, context.converter) })
            #expect(outcome.checkpoint == StoredCheckpoint(operation: 1, lsn: position))
            let table = try await known()
            #expect(table?.isSnapshotDone == true && table?.snapshotKey == nil)
            let record = try await store.stream(fixture.stream.number)
            #expect(!record.isAhead && record.noCheckpointBefore == position)
            try await fixture.close()
        }
    }

    @Test func aPositionThatWasPassedIsStoredWithoutACommit() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let writer = GroupWriter(fixture.store, fixture.context)
            for position in [30, 20] as [UInt64] {
                let batch = RowEvaluation.evaluateAtOnce(
                    ChangeBatch(.passed(LSN(rawValue: position))), fixture.context.converter)
                let outcome = try await writer.write([batch])
                #expect(outcome.durable == LSN(rawValue: position) && outcome.committed == nil)
                #expect(outcome.checkpoint == nil)
                let record = try await fixture.store.stream(fixture.stream.number)
                #expect(record.reportedLSN == LSN(rawValue: 30) && record.appliedLSN == .zero)
            }
            try await fixture.close()
        }
    }

    // MARK: Publication

    private static func commit(_ position: UInt64, _ rows: PgOutputTuple..., of table: SourceTable)
        -> [ReplicationEvent]
    {
        rows.map { ReplicationEvent.change(table, .insert($0)) } + [.committed(LSN(rawValue: position))]
    }

    private static func write(
        _ events: [ReplicationEvent], to fixture: StoreFixture, _ publisher: Publisher, maySwitch: Bool = true
    ) async throws -> WriteOutcome {
        let batch = try await fixture.store.batch(events, fixture.context)
        return try await GroupWriter(
            fixture.store, fixture.context, publisher: publisher, maySwitch: maySwitch
        ).write([RowEvaluation.evaluateAtOnce(batch, fixture.context.converter)])
    }

    @Test func aCheckpointIsPublishedOnceItIsOnTheDisk() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let publisher = Publisher()
            let first = try await Self.write(
                Self.commit(10, StoreFixture.row("a", "u1"), of: fixture.table), to: fixture, publisher)
            #expect(first.hasSwitched && first.durable == LSN(rawValue: 10))
            #expect(try await fixture.store.activeStream()?.number == fixture.stream.number)
            #expect(publisher.current?.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 10)))
            let mailbox = Mailbox(buckets: [ExactText(fixture.bucket("u1"))], key: ExactText(""))
            let attachment = try publisher.attach(mailbox, to: fixture.stream.number)
            let second = try await Self.write(
                Self.commit(20, StoreFixture.row("b", "u1"), of: fixture.table), to: fixture, publisher)
            #expect(!second.hasSwitched)
            let totals = try await fixture.store.states(
                of: [fixture.bucket("u1")], stream: fixture.stream.number, at: 2)
            #expect(totals.values.map(\.count) == [2])
            #expect(attachment?.mailbox.take()?.changed == totals)
            try await fixture.close()
        }
    }

    /// What clients have must not go back, and what is told of nobody is not taken for published.
    @Test func aStreamThatMayNotBeShownIsStoredAndNotVisible() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let publisher = Publisher()
            publisher.publish(
                DurableCommit(
                    served: ServedPlan(stream: 99, plan: fixture.context.plan),
                    checkpoint: StoredCheckpoint(operation: 5, lsn: LSN(rawValue: 30)), changed: .any,
                    lookups: .any))
            let early = try await Self.write(
                Self.commit(20, StoreFixture.row("a", "u1"), of: fixture.table), to: fixture, publisher)
            #expect(early.checkpoint == nil && early.committed == LSN(rawValue: 20))
            // It stands still until this one is as new.
            let next = StoredCheckpoint(operation: 6, lsn: LSN(rawValue: 40))
            #expect(!publisher.mayShow(next, of: 99, maySwitch: false))
            let former = try await Self.write(
                Self.commit(35, of: fixture.table), to: fixture, publisher, maySwitch: false)
            #expect(former.checkpoint == nil && publisher.current?.stream == 99)
            let late = try await Self.write(Self.commit(36, of: fixture.table), to: fixture, publisher)
            #expect(late.hasSwitched)
            #expect(late.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 36)))
            #expect(publisher.current?.stream == fixture.stream.number)
            try await fixture.close()
        }
    }

    @Test func aPositionIsToldBeforeItIsStoredIfEverythingIsPublished() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let publisher = Publisher()
            let writer = GroupWriter(fixture.store, fixture.context, publisher: publisher)
            #expect(try await !writer.tell(LSN(rawValue: 5)), "nobody is served from here")
            _ = try await Self.write(
                Self.commit(10, StoreFixture.row("a", "u1"), of: fixture.table), to: fixture, publisher)
            #expect(try await writer.tell(LSN(rawValue: 20)))
            let told = StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 20))
            #expect(publisher.current?.checkpoint == told)
            #expect(try await fixture.store.stream(fixture.stream.number).appliedLSN == LSN(rawValue: 10))
            // Stored, it is no other publication.
            let sequence = publisher.current?.sequence
            let stored = try await Self.write(Self.commit(20, of: fixture.table), to: fixture, publisher)
            #expect(stored.checkpoint == told && publisher.current?.sequence == sequence)
            // A piece of a transaction is stored: the next position makes it visible, and is a checkpoint as any other.
            _ = try await Self.write(
                [.change(fixture.table, .insert(StoreFixture.row("b", "u1")))], to: fixture, publisher)
            #expect(try await !writer.tell(LSN(rawValue: 30)))
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 50))
            _ = try await Self.write(Self.commit(50, of: fixture.table), to: fixture, publisher)
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 70))
            #expect(try await !writer.tell(LSN(rawValue: 60)), "the log has not passed what was read")
            #expect(try await writer.tell(LSN(rawValue: 70)))
            try await fixture.close()
        }
    }

    /// A link ends before what was told is stored: the next one tells from where the disk stands.
    @Test func aPositionThatWasToldDoesNotGoBack() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let publisher = Publisher()
            _ = try await Self.write(
                Self.commit(10, StoreFixture.row("a", "u1"), of: fixture.table), to: fixture, publisher)
            let writer = GroupWriter(fixture.store, fixture.context, publisher: publisher)
            #expect(try await writer.tell(LSN(rawValue: 100)))
            let told = StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 100))
            #expect(try await !writer.tell(LSN(rawValue: 95)))
            let early = try await Self.write(Self.commit(95, of: fixture.table), to: fixture, publisher)
            #expect(early.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 95)))
            #expect(publisher.current?.checkpoint == told)
            let late = try await Self.write(
                Self.commit(110, StoreFixture.row("b", "u1"), of: fixture.table), to: fixture, publisher)
            #expect(late.checkpoint == StoredCheckpoint(operation: 2, lsn: LSN(rawValue: 110)))
            #expect(publisher.current?.checkpoint == late.checkpoint)
            try await fixture.close()
        }
    }

    @Test func nothingIsWrittenForAStreamThatWasStopped() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            try await fixture.store.stop(fixture.stream.number)
            let publisher = Publisher()
            await #expect(throws: StoreError.self) {
                try await Self.write(
                    Self.commit(10, StoreFixture.row("a", "u1"), of: fixture.table), to: fixture, publisher)
            }
            await #expect(throws: StoreError.self) {
                try await GroupWriter(fixture.store, fixture.context, publisher: publisher).tell(
                    LSN(rawValue: 10))
            }
            #expect(publisher.current == nil)
            try await fixture.close()
        }
    }
}
