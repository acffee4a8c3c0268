import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// What keeps a store small, and makes room for everybody else (DESIGN.md, 1).
@Suite(.patient())
struct StoreUpkeepTests {
    // MARK: Room for others

    @Test func nothingIsDoneWhileSomebodyWrites() async throws {
        try await UpkeepRig.run { rig in
            try await rig.commit(1...4)
            let gate = BlockingGate()
            defer { gate.open() }
            let store = rig.store
            let busy = Task { try await store.pool.write { _ in gate.wait() } }
            try await wait(for: "the writer to be in use") { gate.arrivals == 1 }
            #expect(try await rig.upkeep.step() == .busy)
            let isDone = try await rig.upkeep.work()
            #expect(!isDone)
            // Nor does it stand in the way of whoever comes next.
            #expect(store.pool.waitingWrites == 0)
            gate.open()
            try await wait(forEndOf: busy)
            #expect(try rig.segments() == 4)
            #expect(try await rig.upkeep.step() == .merged)
            #expect(try await rig.upkeep.step() == .nothing)
            #expect(try rig.segments() == 1)
        }
    }

    @Test func nothingIsDoneWhileSomethingIsOnItsWay() async throws {
        try await UpkeepRig.run { rig in
            try await rig.commit(1...4)
            try await rig.store.activity.awaiting({ true }) {
                let step = try await rig.upkeep.step()
                #expect(step == .busy)
                #expect(try rig.segments() == 4)
            }
            #expect(try await rig.upkeep.step() == .merged)
        }
    }

    /// Under a load that never pauses, too, segments are merged, one transaction now and then.
    @Test func whoIsHeldUpForLongTakesATurn() async throws {
        try await UpkeepRig.run { rig in
            for owner in 0..<2 { try await rig.commit((owner * 4 + 1)...(owner * 4 + 4), owner: "u\(owner)") }
            let patience = UpkeepRig.limits.upkeepPatience / .seconds(1)
            try await rig.store.activity.awaiting({ true }) {
                for turn in 1...2 {
                    let first = try await rig.upkeep.step()
                    #expect(first == .busy)
                    rig.clock.set(Double(turn) * patience - 0.1)
                    let early = try await rig.upkeep.step()
                    #expect(early == .busy)
                    rig.clock.set(Double(turn) * patience)
                    let due = try await rig.upkeep.step()
                    #expect(due == .merged)
                }
            }
            #expect(try rig.segments() == 2)
        }
    }

    /// However much there is to do: it comes before all that is left.
    @Test func aWriteCheckpointWaitsForOneTransactionAtMost() async throws {
        try await UpkeepRig.run { rig in
            for owner in 0..<5 { try await rig.commit((owner * 4 + 1)...(owner * 4 + 4), owner: "u\(owner)") }
            #expect(try await rig.upkeep.step() == .merged)
            let gate = BlockingGate()
            defer { gate.open() }
            let store = rig.store
            let busy = Task { try await store.pool.write { _ in gate.wait() } }
            try await wait(for: "the writer to be in use") { gate.arrivals == 1 }
            let given = Task {
                try await store.nextWriteCheckpoint(key: "u1/c", head: .zero, published: .zero)
            }
            try await wait(for: "the write checkpoint to wait") { store.pool.waitingWrites == 1 }
            let isDone = try await rig.upkeep.work()
            #expect(!isDone && store.pool.waitingWrites == 1)
            gate.open()
            #expect(try await wait(forEndOf: given).id == 1)
            #expect(try rig.segments() == 17)
            #expect(try await rig.upkeep.work())
            #expect(try rig.segments() == 5)
            try await wait(forEndOf: busy)
        }
    }

    /// Streams read all the while, and neither waits for the other.
    @Test func streamsAreNeitherWaitedForNorHeldUp() async throws {
        try await UpkeepRig.run(readers: 2) { rig in
            try await rig.commit(1...4)
            let gate = BlockingGate()
            defer { gate.open() }
            let store = rig.store
            let name = rig.fixture.bucket("u1")
            let (checkpoint, stream) = (OperationID(3), rig.fixture.stream.number)
            let totals = try await store.states(of: [name], stream: stream, at: checkpoint)
            let bucket = try #require(totals[ExactText(name)]?.id)
            // Readers that have begun before.
            let reading = (0..<2).map { _ in
                Task {
                    try await store.pool.read { connection -> [OperationID] in
                        try connection.execute("BEGIN")
                        defer { connection.rollBack() }
                        var found: [OperationID] = []
                        func read() throws {
                            try StoreReading.forEachOperation(
                                of: bucket, after: 0, upTo: checkpoint, connection
                            ) { entry, _ in
                                found.append(entry.id)
                                return true
                            }
                        }
                        try read()
                        gate.wait()
                        try read()
                        return found
                    }
                }
            }
            try await wait(for: "both to read") { gate.arrivals == 2 }
            #expect(try await rig.upkeep.work())
            #expect(try rig.segments() == 1)
            gate.open()
            for reader in reading { #expect(try await wait(forEndOf: reader) == [1, 2, 3, 1, 2, 3]) }
            #expect(try await store.states(of: [name], stream: stream, at: checkpoint) == totals)
            let kept = try await rig.fixture.operations(of: rig.fixture.bucket("u1"), upTo: checkpoint)
            #expect(kept.map(\.id) == [1, 2, 3])
        }
    }

    // MARK: Running

    @Test func whatIsWrittenIsMergedInTime() async throws {
        try await UpkeepRig.run { rig in
            try await rig.running {
                try await rig.clock.waitForSleeper(until: 5)
                try await rig.commit(1...4)
                try await wait(for: "the segments to be merged") {
                    rig.clock.set(rig.clock.clock.monotonic() + 0.1)
                    return try rig.segments() == 1
                }
            }
            #expect(rig.log.isEmpty)
        }
    }

    /// The service is stopped in the midst of a transaction of its upkeep's, which is awaited; the rest is left.
    @Test func theEndIsThatOfTheTransactionUnderWay() async throws {
        try await UpkeepRig.run { rig in
            try await rig.commit(1...4)
            let (gate, store) = (BlockingGate(), rig.store)
            defer { gate.open() }
            // The first thing that a step asks, in the midst of its turn.
            let upkeep = StoreUpkeep(
                store, clock: rig.clock.clock, log: Log(label: "test") { _ in },
                served: {
                    gate.wait()
                    return 1
                })
            let isOver = Lock(false)
            let running = Task {
                await upkeep.run()
                isOver.withLock { $0 = true }
            }
            try await wait(for: "a step to begin") { gate.arrivals == 1 }
            running.cancel()
            // What waits for the writer now shows that it is still in use.
            let next = Task { try await rig.fixture.count("segment") }
            try await wait(for: "a write to wait") { store.pool.waitingWrites == 1 }
            #expect(!isOver.withLock { $0 })
            gate.open()
            await running.value
            #expect(try await wait(forEndOf: next) == 1)
            #expect(gate.arrivals == 1)
        }
    }

    /// One bucket is damaged: that is told once, and all others are seen to.
    @Test func aFailureIsToldAndTheRestIsTriedAgainLater() async throws {
        try await UpkeepRig.run { rig in
            try await rig.commit(1...5, owner: "damaged")
            try await rig.commit(6...9)
            let damage = "UPDATE segment SET checksum = checksum + 1 WHERE id = 1"
            try await rig.store.pool.write { try $0.execute(damage) }
            try await rig.running {
                try await wait(for: "the failure to be told") { rig.log.count == 1 }
                let retry = Double(UpkeepRig.limits.upkeepRetry.components.seconds)
                try await rig.clock.advance(to: retry, whenWaitedFor: retry)
                try await wait(for: "the other bucket to be merged") { try rig.segments() == 6 }
            }
            #expect(rig.log.count == 1)
            #expect(rig.log.allSatisfy { $0.contains("WARNING") && $0.contains("cannot be read") })
            let mended = "UPDATE segment SET checksum = checksum - 1 WHERE id = 1"
            try await rig.store.pool.write { try $0.execute(mended) }
        }
    }

    // MARK: The log

    @Test func theLogOfAStoreAtRestIsEmptied() async throws {
        try await UpkeepRig.run { rig in
            try await rig.commit(1...1)
            #expect(try rig.logSize() > 0)
            try await rig.running {
                try await rig.clock.waitForSleeper(until: 5)
                rig.clock.set(3)
                try await rig.commit(2...2)
                // Behind a write it looks again after a moment, and then rests anew.
                try await rig.clock.advance(to: 3.2, whenWaitedFor: 3.2)
                try await rig.clock.waitForSleeper(until: 8.3)
                rig.clock.set(8)
                #expect(try rig.logSize() > 0)
                rig.clock.set(8.3)
                try await wait(for: "the log to be emptied") { try rig.logSize() == 0 }
                // It goes on.
                try await rig.commit(3...3)
                #expect(try rig.logSize() > 0)
                try await wait(for: "the log to be emptied again") {
                    rig.clock.set(rig.clock.clock.monotonic() + 1)
                    return try rig.logSize() == 0
                }
            }
            #expect(rig.log.isEmpty)
            #expect(try await rig.fixture.operations("u1").count == 3)
        }
    }

    @Test func aLogThatAReaderNeedsIsEmptiedOnceItIsGone() async throws {
        try await UpkeepRig.run { rig in
            try await rig.commit(1...1)
            let reader = try SQLiteConnection(path: rig.fixture.path, flags: .readOnly)
            defer { reader.close() }
            try reader.execute("BEGIN; SELECT count(*) FROM segment")
            try await rig.commit(2...2)
            try await rig.running {
                try await rig.clock.advance(to: 5, whenWaitedFor: 5)
                // It has tried, and rests once more.
                try await rig.clock.waitForSleeper(until: 10)
                #expect(try rig.logSize() > 0)
                try reader.execute("COMMIT")
                rig.clock.set(10)
                try await wait(for: "the log to be emptied") { try rig.logSize() == 0 }
            }
            #expect(rig.log.isEmpty)
        }
    }

    /// The limits are those of the log.
    @Test func aLongLogBeginsAnew() async throws {
        var limits = UpkeepRig.limits
        limits.logBytes = 400 << 10
        limits.keptLogBytes = 100 << 10
        try await UpkeepRig.run(limits) { rig in
            try await rig.commit(1...1, bytes: 250_000)
            let longest = try rig.logSize()
            // Longer than the limit, and not than the longest log, to which the file is cut.
            #expect(longest > 400 << 10 && longest < 800 << 10, "\(longest)")
            for number in 2...6 {
                try await rig.store.pool.shortenLog()
                try await rig.commit(number...number, bytes: 200_000)
                #expect(try rig.logSize() == longest, "what is written again and again is not cut")
            }
            #expect(try await rig.store.pool.truncateLog())
            #expect(try rig.logSize() == 0)
            let limit = try await rig.store.pool.write {
                try $0.one("PRAGMA journal_size_limit") { $0.int64(0) }
            }
            #expect(limit == 100 << 10)
        }
    }

    /// What upkeep itself writes does not make it long either.
    @Test func theLogStaysShortWhileMuchIsMerged() async throws {
        var limits = UpkeepRig.limits
        limits.logBytes = 400 << 10
        limits.keptLogBytes = 100 << 10
        limits.mergeBytes = 100 << 10
        try await UpkeepRig.run(limits) { rig in
            try await rig.commit(1...60, bytes: 40_000)
            try await rig.store.pool.shortenLog()
            var longest = 0
            while true {
                let step = try await rig.upkeep.step()
                if step == .nothing { break }
                try await rig.store.pool.shortenLog()
                longest = max(longest, try rig.logSize())
            }
            #expect(longest > 0 && longest < 1_200_000)
            #expect(try await rig.fixture.operations("u1").count == 60)
        }
    }

    // MARK: Stopped streams and free pages

    /// Nothing is removed before those who are served have been told; then all of it, and the file becomes shorter.
    @Test func whatAStoppedStreamHeldIsGivenBack() async throws {
        var limits = StoreLimits()
        limits.freeBytes = 100 << 10
        limits.removedBytes = 100 << 10
        limits.vacuumedPages = 32
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, limits: limits)
            let store = fixture.store
            let served = Lock<StreamNumber?>(fixture.stream.number)
            let upkeep = StoreUpkeep(
                store, clock: ManualClock(0).clock, log: Log(label: "test") { _ in },
                served: { served.withLock { $0 } })
            let text = PgOutputValue.text(String(repeating: "x", count: 20_000))
            let rows = (0..<100).map { RowChange.insert(StoreFixture.row("r\($0)", "u\($0 % 3)", text)) }
            _ = try await fixture.apply(rows, commit: 1)
            #expect(try await upkeep.work())
            #expect(try await store.pool.truncateLog())
            let before = store.size()
            #expect(before > 2_000_000)
            let next = try await store.addStream(config: "", configHash: "next", publication: 1) {
                "slot_\($0)"
            }
            try await store.activate(next.number)
            #expect(try await upkeep.step() == .nothing)
            #expect(try await fixture.count("segment") ?? 0 > 0)
            served.withLock { $0 = next.number }
            var steps: [StoreUpkeep.Step] = []
            while true {
                let step = try await upkeep.step()
                if step == .nothing { break }
                steps.append(step)
            }
            #expect(steps.count { $0 == .removed } >= 20 && steps.count { $0 == .vacuumed } >= 10)
            #expect(Set(steps) == [.removed, .vacuumed])
            for table in ["bucket", "segment", "source_row", "large_value", "source_table"] {
                #expect(try await fixture.count(table) == 0, "\(table)")
            }
            #expect(try await store.pool.truncateLog())
            #expect(store.size() < before / 4)
            try await fixture.close()
        }
    }
}
