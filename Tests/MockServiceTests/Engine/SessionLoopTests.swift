import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncMockService

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
            // As it was when the stream was attached.
            #expect(stream.sink.texts.first?.contains(#""last_op_id":"1""#) == true)
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

    /// What it reads is being deleted by then, and may have holes.
    @Test func aStreamThatIsReplacedWhileItReadsSendsNothingOfThat() async throws {
        try await SessionRig.run(readers: 1) { rig in
            let stream = try await rig.open(["u1"])
            try await rig.rest()
            let before = stream.sink.texts
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = Task { try await rig.store.pool.read { _ in gate.wait() } }
            try await wait(for: "the reader to be busy") { gate.arrivals == 1 }
            try await rig.commit([.insert(SessionRig.row("r1", "u1"))])
            try await wait(for: "the stream to read") { rig.store.pool.waitingReads >= 1 }
            let published = try #require(rig.publisher.current)
            rig.publisher.publish(
                DurableCommit(
                    stream: rig.stream + 1, config: rig.config, checkpoint: published.checkpoint,
                    changed: ChangedBuckets()))
            gate.open()
            try await busy.value
            try await wait(forEndOf: stream.task)
            #expect(stream.sink.texts == before)
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
