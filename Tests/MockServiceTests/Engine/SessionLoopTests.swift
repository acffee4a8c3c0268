import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Streams that are told only what concerns them, beside ones that are told everything (DESIGN.md, 2).
@Suite(.patient())
struct SessionLoopTests {
    /// What happens at random, to the store and to streams.
    private struct Script {
        static let owners = (0..<5).map { "u\($0)" }
        static let keys = ["a", "b"]
        var random: SeededRandom
        private var rows: Set<String> = []

        init(_ random: SeededRandom) { self.random = random }

        mutating func changes() -> [RowChange] {
            (0..<random.below(4)).map { _ in
                let id = "r\(random.below(12))"
                if rows.contains(id), random.once(in: 3) {
                    rows.remove(id)
                    return .delete(SessionRig.row(id, ""))
                }
                rows.insert(id)
                return .insert(SessionRig.row(id, random.pick(Self.owners)))
            }
        }

        mutating func act(_ rig: SessionRig) async throws {
            switch random.below(10) {
            case 0: try await rig.commit()
            case 1:
                rows = []
                try await rig.commit(truncating: true)
            case 2:
                try await rig.write(changes())
                try await rig.commit(changes())
            case 3, 4:
                // Before, at and behind what is published.
                let behind = UInt64(random.below(4)) * 10
                let head = random.once(in: 3) ? LSN(rawValue: 1) : rig.position(behind: behind)
                try await rig.takeWriteCheckpoint(random.pick(Self.keys), at: head)
            default: try await rig.commit(changes())
            }
        }

        mutating func someOwners() -> [String] { Self.owners.filter { _ in random.once(in: 2) } }
    }

    /// Each line of each, also of those that begin in the midst.
    @Test(.namesSeed) func whoIsToldLittleSendsTheLinesOfWhoIsToldEverything() async throws {
        try await forEachSeed(12) { seed in
            try await SessionRig.run { rig in
                var script = Script(seed)
                var streams: [(told: ToldStream, stream: SessionRig.Stream)] = []
                for _ in 0..<40 {
                    if streams.count < 6, script.random.once(in: 4) {
                        let (owners, key) = (script.someOwners(), script.random.pick(Script.keys))
                        var told = ToldStream(rig, owners, key: key)
                        let stream = try await rig.open(owners, key: key)
                        try await rig.rest()
                        try await told.tell()
                        streams.append((told, stream))
                    } else if streams.count > 2, script.random.once(in: 10) {
                        let gone = streams.remove(at: script.random.below(streams.count)).stream
                        gone.task.cancel()
                        await #expect(throws: CancellationError.self) { try await wait(forEndOf: gone.task) }
                    } else {
                        try await script.act(rig)
                        try await rig.rest()
                        for index in streams.indices { try await streams[index].told.tell() }
                    }
                    for (told, stream) in streams {
                        try #require(stream.sink.texts == told.texts)
                    }
                }
                #expect(rig.publisher.pendingHeads <= Script.keys.count)
            }
        }
    }

    /// Streams that come, and take lines, at any moment hold in the end what is there.
    @Test(.namesSeed) func whoeverIsLateHoldsTheSameInTheEnd() async throws {
        try await forEachSeed(12) { seed in
            try await SessionRig.run { rig in
                var script = Script(seed)
                var opened: [(owners: [String], key: String, gate: Gate, stream: SessionRig.Stream)] = []
                for step in 0..<60 {
                    if step.isMultiple(of: 8) {
                        let (owners, key) = (script.someOwners(), script.random.pick(Script.keys))
                        let gate = Gate()
                        if script.random.once(in: 2) { gate.open() }
                        // What is published between the two must not be lost.
                        let loop = try rig.attach(owners, key: key)
                        if script.random.once(in: 2) { try await script.act(rig) }
                        let stream = try await rig.serve(loop, to: RecordingSink(gate: gate))
                        opened.append((owners, key, gate, stream))
                    }
                    try await script.act(rig)
                    if script.random.once(in: 10), let one = opened.last { one.gate.open() }
                }
                for one in opened { one.gate.open() }
                // Every write checkpoint is reached then.
                for _ in 0..<4 { try await rig.commit() }
                try await rig.rest()
                for one in opened {
                    var told = ToldStream(rig, one.owners, key: one.key)
                    try await told.tell()
                    let model = one.stream.sink.model
                    #expect(model.broken == [] && model.isComplete)
                    #expect(model.rowNames == told.model.rowNames)
                    #expect(model.listed == told.model.listed)
                    #expect(model.writeCheckpoint == told.model.writeCheckpoint)
                }
            }
        }
    }

    // MARK: Beginnings

    @Test func whatIsPublishedWhileAStreamReadsItsBeginningIsNotLost() async throws {
        try await SessionRig.run { rig in
            try await rig.commit([.insert(SessionRig.row("r1", "u1"))])
            let loop = try rig.attach(["u1"], key: "k")
            try await rig.commit([.insert(SessionRig.row("r2", "u1"))])
            try await rig.takeWriteCheckpoint("k", at: rig.position)
            let stream = try await rig.serve(loop)
            try await rig.rest()
            #expect(stream.sink.model.rowNames == ["t/r1", "t/r2"])
            #expect(stream.sink.model.writeCheckpoint == 1)
            // As the disk had it, of which the stream is told once more.
            #expect(stream.sink.texts.first?.contains(#""last_op_id":"2""#) == true)
            #expect(stream.sink.texts.count == 3)
        }
    }

    /// It is durable, and nobody has been told of it yet.
    @Test func aStreamBeginsWithWhatIsOnTheDiskAndGoesBackForNothing() async throws {
        try await SessionRig.run { rig in
            try await rig.commit([.insert(SessionRig.row("r1", "u1"))])
            let published = rig.position
            let loop = try rig.attach(["u1"], key: "k")
            let next = try await rig.storeUnpublished([.insert(SessionRig.row("r2", "u1"))])
            let view = try await loop.firstView()
            #expect(view.view.operation == 2 && view.view.writeCheckpoint == nil)
            // It is reached with the checkpoint before.
            try await rig.takeWriteCheckpoint("k", at: published)
            let stream = rig.serve(loop, view)
            try await rig.rest()
            let lines = stream.sink.texts.filter { !$0.hasPrefix(#"{"data""#) }
            #expect(lines.count == 4)
            let told = lines.dropFirst(2).first ?? ""
            #expect(told.hasPrefix(#"{"checkpoint_diff""#) && told.contains(#""last_op_id":"2""#))
            #expect(told.contains(#""write_checkpoint":"1""#))
            rig.publisher.publish(next)
            try await rig.rest()
            #expect(stream.sink.texts.filter { !$0.hasPrefix(#"{"data""#) } == lines)
            let model = stream.sink.model
            #expect(model.rowNames == ["t/r1", "t/r2"] && model.isComplete && model.broken == [])
        }
    }

    /// A position is published before it is stored.
    @Test func aPositionThatIsNotOnTheDiskYetCounts() async throws {
        try await SessionRig.run { rig in
            try await rig.commit([.insert(SessionRig.row("r1", "u1"))])
            let current = try #require(rig.publisher.current).checkpoint
            let position = rig.position(behind: 5)
            let isPublished = rig.publisher.advance(
                to: StoredCheckpoint(operation: current.operation, lsn: position), rig.served)
            try #require(isPublished)
            _ = try await rig.store.nextWriteCheckpoint(key: "k", head: position, published: position)
            let stream = try await rig.open(["u1"], key: "k")
            try await rig.rest()
            #expect(stream.sink.texts.first?.contains(#""write_checkpoint":"1""#) == true)
            #expect(rig.publisher.pendingHeads == 0)
        }
    }

    /// The id is stored by a service that has ended since, and its head is yet to come.
    @Test func aWriteCheckpointThatWasStoredBeforeTheStreamIsWaitedFor() async throws {
        try await SessionRig.run { rig in
            _ = try await rig.store.nextWriteCheckpoint(
                key: "k", head: rig.position(behind: 15), published: rig.position)
            let stream = try await rig.open(["u1"], key: "k")
            try await rig.rest()
            #expect(rig.publisher.pendingHeads == 1)
            try await rig.commit()
            try await rig.rest()
            #expect(stream.sink.model.writeCheckpoint == nil)
            try await rig.commit()
            try await rig.rest()
            #expect(stream.sink.model.writeCheckpoint == 1)
        }
    }

    /// It is reached and expected before the stream is there, which finds it on the disk.
    @Test func aWriteCheckpointThatWasReachedBeforeTheStreamIsInItsFirstLine() async throws {
        try await SessionRig.run { rig in
            try await rig.takeWriteCheckpoint("k", at: rig.position)
            #expect(rig.publisher.pendingHeads == 0)
            let stream = try await rig.open(["u1"], key: "k")
            try await rig.rest()
            #expect(stream.sink.texts.first?.contains(#""write_checkpoint":"1""#) == true)
        }
    }

    // MARK: The disk

    /// Nobody can read the state, and nobody has to: transactions of one piece and of several, of new rows and of rows that
    /// move, and positions alone.
    @Test func aStreamAtTheHeadReadsNoDisk() async throws {
        try await SessionRig.run(readers: 1) { rig in
            try await rig.commit([.insert(SessionRig.row("r1", "u1")), .insert(SessionRig.row("x", "u9"))])
            // One holds all, and says so by a position behind the end of its bucket.
            let positions = [BucketRequest(name: rig.buckets(["u1"])[0].name, after: 2)]
            let streams = [
                try await rig.open(["u1"], key: "k"), try await rig.open(["u1", "u2"]),
                try await rig.serve(
                    try rig.attach(["u1"]), from: positions, to: RecordingSink(positions: positions)),
                try await rig.open(["u2"]),
            ]
            try await rig.rest()
            let reads = rig.frameReads
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = Task { try await rig.store.pool.read { _ in gate.wait() } }
            try await wait(for: "the reader to be busy") { gate.arrivals == 1 }
            try await rig.commit([.insert(SessionRig.row("r2", "u1")), .insert(SessionRig.row("s1", "u2"))])
            try await rig.rest()
            try await rig.write([.insert(SessionRig.row("r3", "u1"))])
            try await rig.write([.insert(SessionRig.row("r4", "u1")), .insert(SessionRig.row("s2", "u2"))])
            try await rig.commit([.update(old: nil, new: SessionRig.row("r1", "u2"))])
            try await rig.takeWriteCheckpoint("k", at: rig.position)
            try await rig.rest()
            #expect(rig.frameReads == reads && rig.store.pool.waitingReads == 0)
            #expect(streams[0].sink.model.rowNames == ["t/r2", "t/r3", "t/r4"])
            #expect(streams[0].sink.model.writeCheckpoint == 1)
            #expect(streams[1].sink.model.rowNames == ["t/r1", "t/r2", "t/r3", "t/r4", "t/s1", "t/s2"])
            #expect(streams[3].sink.model.rowNames == ["t/r1", "t/s1", "t/s2"])
            // Each transaction of a bucket is one line, also one that was stored in pieces.
            #expect(streams[2].sink.texts.count { $0.hasPrefix(#"{"data""#) } == 2)
            for stream in streams {
                let model = stream.sink.model
                #expect(model.isComplete && model.broken == [])
            }
            gate.open()
            try await busy.value
        }
    }

    /// Of 50 streams that take a line at a time; what nobody sends any more is not held, and not counted.
    @Test func aFirstSyncOfManyReadsEachLineOnce() async throws {
        try await SessionRig.run { rig in
            for piece in 0..<3 {
                let rows = (0..<(piece < 2 ? 1000 : 500)).map {
                    RowChange.insert(SessionRig.row("r\(piece * 1000 + $0)", "u1"))
                }
                try await rig.commit(rows)
            }
            let gates = (0..<3).map { _ in Gate() }
            var sinks: [SteppingSink] = []
            var tasks: [Task<Void, any Error>] = []
            for _ in 0..<50 {
                let sink = SteppingSink(gates)
                let loop = try rig.attach(["u1"])
                let view = try await loop.firstView()
                sinks.append(sink)
                tasks.append(
                    Task {
                        try await loop.run(
                            StreamSession(positions: [], streams: []), view,
                            LineEncoder(.raw, BlockCompressors()), sink)
                    })
            }
            for (number, gate) in gates.enumerated() {
                try await wait(for: "all to have line \(number)", read: { gate.arrivals }) { $0 == 50 }
                #expect(rig.frameReads == number + 1)
                gate.open()
            }
            try await rig.rest()
            #expect(rig.frameReads == 3)
            #expect(sinks.allSatisfy { $0.operations == 2500 })
            try await wait(for: "nothing to be held", read: { rig.lines.usedBytes }) { $0 == 0 }
            for task in tasks { task.cancel() }
        }
    }

    /// A client that reads fast waits neither for the disk nor for the encoding of what comes next.
    @Test func whatComesNextIsReadWhileALongLineIsSent() async throws {
        try await SessionRig.run { rig in
            for number in 0..<3 {
                let id = "\(number)" + String(repeating: "x", count: 700_000)
                try await rig.commit([.insert(SessionRig.row(id, "u1"))])
            }
            rig.frames.forgetPublished()
            let sink = HaltingSink(taking: 2)
            let loop = try rig.attach(["u1"])
            let view = try await loop.firstView()
            let task = Task {
                try await loop.run(
                    StreamSession(positions: [], streams: []), view, LineEncoder(.raw, BlockCompressors()),
                    sink)
            }
            try await wait(for: "the second line to be read", read: { rig.frameReads }) { $0 == 2 }
            try await wait(for: "the first one to stand still") { sink.isFull }
            #expect(rig.frameReads == 2)
            sink.goOn()
            try await rig.rest()
            #expect(rig.frameReads == 3 && sink.taken.count > 2_100_000)
            try await wait(for: "nothing to be held", read: { rig.lines.usedBytes }) { $0 == 0 }
            task.cancel()
        }
    }

    // MARK: Whoever is late

    @Test func aStreamThatIsTooLateForItsMailboxReadsEverythingAnew() async throws {
        try await SessionRig.run { rig in
            let gate = Gate()
            let stream = try await rig.open(["u1", "u2"], key: "k", to: RecordingSink(gate: gate))
            try await wait(for: "the first line") { gate.arrivals == 1 }
            try await rig.takeWriteCheckpoint("k", at: rig.position)
            for number in 0..<40 {
                try await rig.commit([.insert(SessionRig.row("r\(number)", number < 20 ? "u1" : "u2"))])
            }
            #expect(rig.publisher.sessionWakeups == 1)
            gate.open()
            try await rig.rest()
            let model = stream.sink.model
            #expect(model.rowCount == 40 && model.writeCheckpoint == 1 && model.broken == [])
            #expect(stream.sink.texts.count { $0.hasPrefix(#"{"checkpoint_diff""#) } == 1)
        }
    }

    // MARK: Ends

    /// What it reads, everything anew or operations alone, is being deleted by then, and may have holes.
    @Test(arguments: [false, true])
    func aStreamThatIsReplacedWhileItReadsSendsNothingOfThat(knowsTotals: Bool) async throws {
        try await SessionRig.run(readers: 1) { rig in
            let stream = try await rig.open(["u1"])
            try await rig.rest()
            let before = stream.sink.texts
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = Task { try await rig.store.pool.read { _ in gate.wait() } }
            try await wait(for: "the reader to be busy") { gate.arrivals == 1 }
            let commit = try await rig.storeUnpublished([.insert(SessionRig.row("r1", "u1"))])
            rig.publisher.publish(
                DurableCommit(
                    served: rig.served, checkpoint: commit.checkpoint,
                    changed: knowsTotals ? commit.changed : .any, lookups: commit.lookups))
            try await wait(for: "the stream to read") { rig.store.pool.waitingReads >= 1 }
            rig.publisher.publish(
                DurableCommit(
                    served: ServedPlan(stream: rig.stream + 1, plan: rig.served.plan),
                    checkpoint: commit.checkpoint, changed: ChangedBuckets(), lookups: ChangedLookups()))
            gate.open()
            try await busy.value
            try await wait(forEndOf: stream.task)
            let sent = stream.sink.texts.dropFirst(before.count)
            #expect(sent.count == (knowsTotals ? 1 : 0))
            #expect(sent.allSatisfy { $0.hasPrefix(#"{"checkpoint_diff""#) })
        }
    }

    /// Others have all the room, and no time comes.
    @Test(arguments: [Mailbox.End.replaced, .closed])
    func aStreamThatWaitsForRoomHearsItsEnd(end: Mailbox.End) async throws {
        try await SessionRig.run { rig in
            try await rig.commit([.insert(SessionRig.row("r1", "u1"))])
            let room = rig.lines.queue(1 << 30)
            let stream = try await rig.open(["u1"])
            try await wait(for: "the stream to wait for room") { rig.lines.waitingCount == 1 }
            switch end {
            case .replaced:
                rig.publisher.retract()
                try await wait(forEndOf: stream.task)
            case .closed:
                rig.publisher.close()
                await #expect(throws: CancellationError.self) { try await wait(forEndOf: stream.task) }
            }
            // Its checkpoint.
            #expect(stream.sink.texts.count == 1)
            withExtendedLifetime(room) {}
        }
    }

    @Test func aStreamThatRestsEndsWhenItsCheckpointIsTakenBack() async throws {
        try await SessionRig.run { rig in
            let stream = try await rig.open(["u1"])
            try await rig.rest()
            rig.publisher.retract()
            try await wait(forEndOf: stream.task)
        }
    }

    @Test func aStreamIsBrokenOffWhenTheServiceStops() async throws {
        try await SessionRig.run { rig in
            let stream = try await rig.open(["u1"])
            try await rig.rest()
            rig.publisher.close()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: stream.task) }
        }
    }

    @Test func timesOfTheTokenWakeAStreamThatRestsAndAreNotCounted() async throws {
        try await SessionRig.run { rig in
            let stream = try await rig.serve(try rig.attach(["u1"], expiry: SessionRig.start + 60))
            try await rig.rest()
            for (time, left) in [(20.0, 40), (40, 20), (60, 0)] {
                try await rig.clock.advance(
                    to: SessionRig.start + time, whenWaitedFor: SessionRig.start + time)
                try await wait(for: "a line of the token") {
                    stream.sink.texts.last ?? ""
                } until: {
                    $0 == #"{"token_expires_in":\#(left)}"#
                }
            }
            try await wait(forEndOf: stream.task)
            #expect(rig.publisher.sessionWakeups == 0)
        }
    }
}
