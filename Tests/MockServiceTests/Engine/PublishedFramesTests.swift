import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// What is written to buckets that streams hold is in memory when they are told of it (DESIGN.md, 2).
@Suite(.patient(), .namesSeed)
struct PublishedFramesTests {
    /// A store whose commits are published, and the frames that it shares.
    private struct Rig {
        let fixture: StoreFixture
        let publisher = Publisher()
        let frames: FrameStore

        init(_ fixture: StoreFixture) {
            self.fixture = fixture
            let store = fixture.store
            frames = FrameStore(lines: LineBudget(limit: 1 << 30)) { try await store.frame($0) }
        }

        @discardableResult
        func write(_ events: [ReplicationEvent]) async throws -> WriteOutcome {
            let (store, context) = (fixture.store, fixture.context)
            let batch = try await store.batch(events, context)
            let evaluated = RowEvaluation.evaluateAtOnce(batch, context.converter, limits: store.limits)
            return try await GroupWriter(store, context, publisher: publisher, frames: frames).write([
                evaluated
            ])
        }

        func insert(_ id: String, _ owner: String, _ big: String = "x") -> ReplicationEvent {
            .change(fixture.table, .insert(StoreFixture.row(id, owner, .text(big))))
        }

        func committed(_ position: UInt64) -> ReplicationEvent { .committed(LSN(rawValue: position)) }

        func attach(_ owners: [String]) throws -> PowerSyncServiceEngine.Attachment {
            let mailbox = Mailbox(
                buckets: Set(owners.map { ExactText(fixture.bucket($0)) }), key: ExactText(""))
            let attachment = try publisher.attach(mailbox, to: fixture.stream.number)
            return try #require(attachment)
        }

        /// The totals of an owner's bucket at the newest checkpoint.
        func totals(_ owner: String) async throws -> BucketTotals {
            let name = fixture.bucket(owner)
            let view = try await fixture.store.view(of: [name], stream: fixture.stream.number, key: "")
            return view.buckets[ExactText(name)] ?? .empty
        }

        /// The frames in memory of a bucket behind an operation, one after another; each is what the disk has.
        func published(
            _ totals: BucketTotals, after: OperationID, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> [Frame] {
            let bucket = try #require(totals.id)
            var found: [Frame] = []
            var position = after
            while position < totals.lastOperation {
                let request = FrameRequest(
                    bucket: bucket, after: position, last: totals.lastOperation,
                    rows: StreamSession.rowLimit, bytes: FrameRequest.lineBytes)
                guard let frame = try frames.frame(inMemory: request) else { break }
                let stored = try #require(try await fixture.store.frame(request))
                func line(_ frame: Frame, _ format: LineForm.Format) throws -> [UInt8] {
                    try LineEncoder(format, BlockCompressors()).encode(
                        frame, of: "b", after: position, hasMore: frame.hasMore(request)
                    ).taken()
                }
                for format in LineForm.Format.allCases {
                    let isSame = try line(frame, format) == line(stored, format)
                    #expect(isSame, sourceLocation: sourceLocation)
                }
                #expect(
                    frame.last == stored.last && frame.maxTarget == stored.maxTarget,
                    sourceLocation: sourceLocation)
                found.append(frame)
                position = frame.last
            }
            return found
        }

        /// How many bytes of operations nobody was told of.
        var unpublishedBytes: Int { fixture.store.unpublished.keptBytes }
    }

    private func withRig(
        limits: StoreLimits = StoreLimits(), _ body: (Rig) async throws -> Void
    ) async throws {
        try await StoreFixture.withFolder { path in
            let rig = Rig(try await StoreFixture(path: path, limits: limits))
            try await rig.write([rig.committed(1)])
            try await body(rig)
            try await rig.fixture.close()
        }
    }

    /// Groups with and without commits, and with operations behind a commit, of buckets that a stream holds and of others.
    @Test func whatIsHeldIsInMemoryAsTheDiskHasIt() async throws {
        try await forEachSeed(30) { seed in
            var random = seed
            var limits = StoreLimits()
            limits.segmentBytes = random.pick([200, 1000, 256 << 10])
            try await withRig(limits: limits) { rig in
                let (held, others) = (["u1", "u2"], ["u3", "u4"])
                let stream = try rig.attach(held)
                var position: UInt64 = 1
                var known: [String: OperationID] = [:]
                for _ in 0..<25 {
                    var events: [ReplicationEvent] = []
                    for _ in 0..<random.below(6) {
                        let id = "r\(random.below(8))"
                        switch random.below(6) {
                        case 0:
                            events.append(.change(rig.fixture.table, .delete(StoreFixture.row(id, ""))))
                        case 1:
                            position += 1
                            events.append(rig.committed(position))
                        default:
                            let owner = random.pick(held + others)
                            events.append(rig.insert(id, owner, "\"\(random.below(100))"))
                        }
                    }
                    let outcome = try await rig.write(events)
                    guard outcome.checkpoint != nil else { continue }
                    let news = stream.mailbox.take()
                    for owner in held {
                        let totals = try await rig.totals(owner)
                        let told = news?.changed?[ExactText(rig.fixture.bucket(owner))]
                        #expect(told == nil || told == totals)
                        let after = known[owner] ?? 0
                        #expect((told == nil) == (totals.lastOperation == after))
                        guard told != nil else { continue }
                        let found = try await rig.published(totals, after: after)
                        #expect(found.last?.last == totals.lastOperation)
                        known[owner] = totals.lastOperation
                    }
                    for owner in others {
                        let totals = try await rig.totals(owner)
                        guard totals.lastOperation > known[owner] ?? 0 else { continue }
                        let found = try await rig.published(totals, after: known[owner] ?? 0)
                        #expect(found.isEmpty, "nobody holds it")
                        known[owner] = totals.lastOperation
                    }
                }
            }
        }
    }

    @Test func framesEndWhereLinesDo() async throws {
        try await withRig { rig in
            let stream = try rig.attach(["u1"])
            try await rig.write((0..<2500).map { rig.insert("r\($0)", "u1") } + [rig.committed(2)])
            let totals = try await rig.totals("u1")
            #expect(try await rig.published(totals, after: 0).map(\.count) == [1000, 1000, 500])
            withExtendedLifetime(stream) {}
        }
    }

    // MARK: Bounds

    @Test func nothingIsKeptOfWhatNobodyHolds() async throws {
        try await withRig { rig in
            let other = try rig.attach(["u2"])
            try await rig.write([rig.insert("a", "u1")])
            #expect(rig.unpublishedBytes == 0)
            try await rig.write([rig.committed(2)])
            #expect(rig.frames.keptBytes == 0)
            var stream: PowerSyncServiceEngine.Attachment? = try rig.attach(["u1"])
            let before = try await rig.totals("u1").lastOperation
            try await rig.write([rig.insert("b", "u1")])
            #expect(rig.unpublishedBytes > 0)
            // Nobody is left who could send it.
            stream = nil
            try await rig.write([rig.committed(3)])
            #expect(rig.unpublishedBytes == 0 && rig.frames.keptBytes == 0)
            #expect(try await rig.published(try await rig.totals("u1"), after: before).isEmpty)
            withExtendedLifetime((other, stream)) {}
        }
    }

    @Test func oneBucketOfWhichThereIsTooMuchIsReadFromTheDisk() async throws {
        var limits = StoreLimits()
        #expect(limits.publishedFrameBytes == 1 << 20 && limits.publicationBytes == 4 << 20)
        limits.publishedFrameBytes = 5000
        try await withRig(limits: limits) { rig in
            let stream = try rig.attach(["u1", "u2"])
            let text = String(repeating: "x", count: 2000)
            try await rig.write([rig.insert("a", "u1", text), rig.insert("b", "u2", text)])
            #expect(rig.unpublishedBytes > 4000)
            // Together with what is there.
            try await rig.write([rig.insert("c", "u1", text), rig.insert("d", "u1", text)])
            #expect(rig.unpublishedBytes > 2000 && rig.unpublishedBytes < 4000)
            try await rig.write([rig.insert("e", "u1", text), rig.committed(2)])
            let (one, two) = (try await rig.totals("u1"), try await rig.totals("u2"))
            #expect(try await rig.published(one, after: 0).isEmpty)
            #expect(try await rig.published(two, after: 0).count == 1)
            // It is over with the publication.
            try await rig.write([rig.insert("f", "u1", text), rig.committed(3)])
            let next = try await rig.totals("u1")
            #expect(try await rig.published(next, after: one.lastOperation).count == 1)
            // In one transaction.
            try await rig.write(["g", "h", "i"].map { rig.insert($0, "u1", text) } + [rig.committed(4)])
            let last = try await rig.totals("u1")
            #expect(try await rig.published(last, after: next.lastOperation).isEmpty)
            withExtendedLifetime(stream) {}
        }
    }

    /// Of many short transactions, of which each leaves a segment.
    @Test func aSegmentCountsWhatItTakesBesidesItsBytes() async throws {
        var limits = StoreLimits()
        limits.publishedFrameBytes = 10_000
        try await withRig(limits: limits) { rig in
            let stream = try rig.attach(["u1"])
            // Each has about 70 bytes, and takes 128 besides.
            for number in 0..<100 { try await rig.write([rig.insert("r\(number)", "u1")]) }
            #expect(rig.unpublishedBytes == 0)
            withExtendedLifetime(stream) {}
        }
    }

    @Test func aPublicationIsBoundedHoweverManyBucketsItChanges() async throws {
        var limits = StoreLimits()
        limits.publicationBytes = 10_000
        for pieces in [1, 20] {
            try await withRig(limits: limits) { rig in
                let owners = (0..<20).map { "u\($0)" }
                let stream = try rig.attach(owners)
                let rows = owners.map { rig.insert($0, $0, String(repeating: "x", count: 1000)) }
                let size = rows.count / pieces
                for start in stride(from: 0, to: rows.count, by: size) {
                    try await rig.write(Array(rows[start..<start + size]))
                    #expect(rig.unpublishedBytes <= 10_000)
                }
                #expect(rig.unpublishedBytes > 8000)
                try await rig.write([rig.committed(2)])
                #expect(rig.unpublishedBytes == 0)
                #expect(rig.frames.keptBytes > 8000 && rig.frames.keptBytes <= 10_000)
                withExtendedLifetime(stream) {}
            }
        }
    }

    /// What was written while it stood still for its successor is never published.
    @Test func nothingIsKeptOfAStreamThatWasReplaced() async throws {
        try await withRig { rig in
            let store = rig.fixture.store
            let stream = try rig.attach(["u1"])
            try await rig.write([rig.insert("a", "u1")])
            #expect(rig.unpublishedBytes > 0)
            let next = try await store.addStream(config: "", configHash: "next", publication: 1) {
                "slot_\($0)"
            }
            try await store.holdCheckpoint(next.number, until: .zero, isSnapshotDone: true)
            let context = EvaluationContext(stream: next.number, plan: rig.fixture.context.plan)
            let batch = RowEvaluation.evaluateAtOnce(
                ChangeBatch(.committed(LSN(rawValue: 2))), context.converter)
            let outcome = try await GroupWriter(
                store, context, publisher: rig.publisher, frames: rig.frames
            ).write([batch])
            #expect(outcome.hasSwitched && stream.mailbox.end == .replaced)
            #expect(rig.unpublishedBytes == 0 && rig.frames.keptBytes == 0)
        }
    }

    /// A bucket of the successor must not be sent what was published of one that is gone: it is another user's.
    @Test func nothingOfAReplacedStreamIsFoundInABucketThatIsMadeLater() async throws {
        try await withRig { rig in
            let store = rig.fixture.store
            let stream = try rig.attach(["u1"])
            try await rig.write([rig.insert("a", "u1"), rig.committed(2)])
            let former = try await rig.totals("u1")
            #expect(try await rig.published(former, after: 0).count == 1)
            let next = try await store.addStream(config: "", configHash: "next", publication: 1) {
                "slot_\($0)"
            }
            try await store.holdCheckpoint(next.number, until: .zero, isSnapshotDone: true)
            let context = EvaluationContext(stream: next.number, plan: rig.fixture.context.plan)
            let table = try await store.resolve(
                rig.fixture.table.description, types: TypeCatalog(), context)
            func write(_ events: [ReplicationEvent]) async throws -> WriteOutcome {
                let batch = try await store.batch(events, context)
                let evaluated = RowEvaluation.evaluateAtOnce(
                    batch, context.converter, limits: store.limits)
                return try await GroupWriter(
                    store, context, publisher: rig.publisher, frames: rig.frames
                ).write([evaluated])
            }
            let switched = try await write([rig.committed(3)])
            #expect(switched.hasSwitched && stream.mailbox.end == .replaced)
            #expect(rig.frames.keptBytes == 0)
            try await store.pool.write { connection in
                while try StoppedStreams().removePiece(but: next.number, connection) {}
            }
            _ = try await write([
                .change(table, .insert(StoreFixture.row("b", "u2"))), rig.committed(4),
            ])
            let name = "\(next.number)#s|0[\"u2\"]"
            let view = try await store.view(of: [name], stream: next.number, key: "")
            let totals = try #require(view.buckets[ExactText(name)])
            let bucket = try #require(totals.id)
            #expect(totals.count == 1 && bucket != former.id)
            let request = FrameRequest(
                bucket: bucket, after: 0, last: totals.lastOperation, rows: StreamSession.rowLimit,
                bytes: FrameRequest.lineBytes)
            #expect(try rig.frames.frame(inMemory: request) == nil)
        }
    }

    // MARK: Whoever comes in between

    /// A frame would lack what was written before.
    @Test func aBucketThatIsHeldOnlySinceThenIsReadFromTheDisk() async throws {
        try await withRig { rig in
            try await rig.write([rig.insert("a", "u1")])
            let stream = try rig.attach(["u1"])
            try await rig.write([rig.insert("b", "u1"), rig.committed(2)])
            let totals = try await rig.totals("u1")
            #expect(stream.mailbox.take()?.changed?.values.map { $0 } == [totals])
            #expect(try await rig.published(totals, after: 0).isEmpty)
            try await rig.write([rig.insert("c", "u1"), rig.committed(3)])
            let next = try await rig.totals("u1")
            #expect(try await rig.published(next, after: totals.lastOperation).count == 1)
            withExtendedLifetime(stream) {}
        }
    }

    /// A table whose place another one takes is emptied by who tells nobody.
    @Test func whatOthersWriteInBetweenIsNotLeftOut() async throws {
        try await withRig { rig in
            let stream = try rig.attach(["u1"])
            try await rig.write([rig.insert("a", "u1")])
            _ = try await rig.fixture.apply([.insert(StoreFixture.row("b", "u1"))], commit: nil)
            try await rig.write([rig.insert("c", "u1"), rig.committed(2)])
            let totals = try await rig.totals("u1")
            #expect(totals.count == 3)
            #expect(stream.mailbox.take()?.changed?.values.map { $0 } == [totals])
            #expect(try await rig.published(totals, after: 0).isEmpty)
        }
    }

    /// Whether what failed is on the disk nobody knows.
    @Test func behindAFailureEverythingIsReadFromTheDisk() async throws {
        try await withRig { rig in
            let stream = try rig.attach(["u1"])
            try await rig.write([rig.insert("a", "u1")])
            try await rig.fixture.store.pool.write { try $0.execute("ALTER TABLE counter RENAME TO away") }
            await #expect(throws: (any Error).self) { try await rig.write([rig.insert("b", "u1")]) }
            try await rig.fixture.store.pool.write { try $0.execute("ALTER TABLE away RENAME TO counter") }
            #expect(rig.unpublishedBytes == 0)
            try await rig.write([rig.insert("c", "u1"), rig.committed(2)])
            let news = try #require(stream.mailbox.take())
            #expect(news.changed == nil && rig.frames.keptBytes == 0)
            let totals = try await rig.totals("u1")
            try await rig.write([rig.insert("d", "u1"), rig.committed(3)])
            let next = try await rig.totals("u1")
            #expect(try await rig.published(next, after: totals.lastOperation).count == 1)
            withExtendedLifetime(stream) {}
        }
    }
}
