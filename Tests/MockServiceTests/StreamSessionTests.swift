import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Plays a session against operations in memory.
private struct Play {
    var session: StreamSession
    var buckets: [String: [Operation]] = [:]
    var priorities: [String: Int] = [:]
    var names: [String] = []
    var writeCheckpoint: Int64?
    var lineRows = Int.max

    init(positions: [BucketRequest] = []) { session = StreamSession(positions: positions, streams: []) }

    mutating func put(_ bucket: String, _ ids: ClosedRange<Int64>) {
        let operations = ids.map {
            Operation(
                id: $0, kind: .put, objectType: "t", objectID: "\($0)", checksum: Checksum(1), data: "{}")
        }
        buckets[bucket, default: []] += operations
    }

    func view(_ operation: Int64) -> CheckpointView {
        CheckpointView(
            operation: operation, writeCheckpoint: writeCheckpoint,
            buckets: names.map { name in
                let known = (buckets[name] ?? []).filter { $0.id <= operation }
                let id = Int64(names.firstIndex(of: name) ?? 0)
                return .init(
                    bucket: ResolvedBucket(name: name, priority: priorities[name] ?? 3, reasons: []),
                    state: BucketTotals(
                        id: buckets[name] == nil ? nil : id, checksum: Checksum(UInt32(known.count)),
                        count: Int64(known.count), lastOperation: buckets[name]?.last?.id ?? 0))
            })
    }

    /// A line in short: `cp`, `diff`, `D name ids`, `pcc`, `cc`.
    static func short(_ line: SyncLine) -> String {
        switch line {
        case .checkpoint(let checkpoint): "cp \(checkpoint.lastOpID)"
        case .checkpointDiff(let diff):
            "diff \(diff.lastOpID) +\(diff.updatedBuckets.map(\.bucket)) -\(diff.removedBuckets)"
        case .data(let data):
            "D \(data.bucket) \(data.after ?? -1)>\(data.nextAfter ?? -1) \(data.operations.count)\(data.hasMore ? "+" : "")"
        case .partialCheckpointComplete(let id, let priority): "pcc \(id ?? -1) \(priority)"
        case .checkpointComplete(let id): "cc \(id ?? -1)"
        default: "?"
        }
    }

    mutating func lines(_ operation: Int64, atMost: Int = .max) -> [String] {
        var lines: [String] = []
        step(operation, atMost: atMost) { lines.append(Self.short($0)) }
        return lines
    }

    /// Offers a checkpoint and goes on until nothing is left to send, or for so many lines.
    mutating func step(_ operation: Int64, atMost: Int = .max, _ take: (SyncLine) -> Void) {
        var left = atMost
        func send(_ line: SyncLine?) {
            guard let line else { return }
            left -= 1
            take(line)
        }
        send(session.offer(view(operation)))
        while left > 0 {
            switch session.next() {
            case .wait: return
            case .send(let line): send(line)
            case .read(let read):
                let request = read.request
                let found = (buckets[read.name] ?? []).filter {
                    $0.id > request.after && $0.id <= request.last
                }
                let rows = min(request.rows, lineRows)
                let chunk = BucketChunk(operations: Array(found.prefix(rows)), isCut: found.count >= rows)
                send(session.received(chunk, for: read))
            }
        }
    }
}

/// Service 9.2.
struct StreamSessionTests {
    /// Of two that were reached the state knows the one by which it was asked.
    @Test func aWriteCheckpointThatWasToldIsNotTakenBack() {
        var play = Play()
        play.names = ["a"]
        play.writeCheckpoint = 5
        play.step(1) { _ in }
        play.put("a", 2...2)
        play.writeCheckpoint = 4
        var told: [Int64?] = []
        play.step(2) { line in
            if case .checkpointDiff(let diff) = line { told.append(diff.writeCheckpoint) }
        }
        #expect(told == [5])
    }

    @Test func anEmptyBucketIsListedAndCompletesAtOnce() {
        var play = Play()
        play.names = ["a"]
        #expect(play.lines(0) == ["cp 0", "cc 0"])
        play.put("a", 1...1)
        #expect(play.lines(1) == ["diff 1 +[\"a\"] -[]", "D a 0>1 1", "cc 1"])
        #expect(play.lines(5) == [])
    }

    @Test func lowerPrioritiesComeFirstAndEachButTheLastIsCompleted() {
        var play = Play()
        play.names = ["b0", "b1", "b2"]
        play.priorities = ["b0": 2, "b1": 1, "b2": 2]
        play.put("b0", 1...1)
        play.put("b1", 2...2)
        play.put("b2", 3...3)
        #expect(play.lines(3) == ["cp 3", "D b1 0>2 1", "pcc 3 1", "D b0 0>1 1", "D b2 0>3 1", "cc 3"])
        play.put("b2", 4...4)
        // Only what waits forms groups: b0 and b1 were sent to their end.
        #expect(play.lines(4) == ["diff 4 +[\"b2\"] -[]", "D b2 3>4 1", "cc 4"])
    }

    @Test func aBucketWithNothingToSendGoesOnWaiting() {
        // P40: waiting buckets of priority 0 and 3, and then a write checkpoint alone.
        var play = Play(positions: [BucketRequest(name: "a", after: 1)])
        play.names = ["a", "b", "c"]
        play.priorities = ["a": 0, "b": 3, "c": 1]
        play.put("a", 1...1)
        play.put("c", 2...2)
        #expect(play.lines(2) == ["cp 2", "pcc 2 0", "D c 0>2 1", "pcc 2 1", "cc 2"])
        play.writeCheckpoint = 1
        #expect(play.lines(2) == ["diff 2 +[] -[]", "pcc 2 0", "cc 2"])
    }

    @Test func goesOnWhereTheClientIs() {
        var play = Play(positions: [
            BucketRequest(name: "a", after: 3), BucketRequest(name: "gone", after: 9),
        ])
        play.names = ["a"]
        play.put("a", 1...5)
        #expect(play.lines(5) == ["cp 5", "D a 3>5 2", "cc 5"])
    }

    @Test func aPositionBeyondTheCheckpointGetsNothing() {
        var play = Play(positions: [BucketRequest(name: "a", after: 100)])
        play.names = ["a"]
        play.put("a", 1...5)
        #expect(play.lines(5) == ["cp 5", "cc 5"])
    }

    @Test func aBucketThatLeavesAndReturnsStartsOver() {
        var play = Play()
        play.names = ["a", "b"]
        play.put("a", 1...1)
        play.put("b", 2...2)
        #expect(play.lines(2) == ["cp 2", "D a 0>1 1", "D b 0>2 1", "cc 2"])
        play.names = ["a"]
        #expect(play.lines(2) == ["diff 2 +[] -[\"b\"]", "cc 2"])
        play.names = ["a", "b"]
        #expect(play.lines(3) == ["diff 3 +[\"b\"] -[]", "D b 0>2 1", "cc 3"])
    }

    @Test func aThousandOperationsAreRead() {
        var play = Play()
        play.names = ["a"]
        play.put("a", 1...2500)
        #expect(
            play.lines(2500) == [
                "cp 2500", "D a 0>1000 1000+", "D a 1000>2000 1000+", "D a 2000>2500 500", "cc 2500",
            ])
        play.put("a", 2501...3500)
        // The limit was hit, so more is announced although nothing is left.
        #expect(play.lines(3500) == ["diff 3500 +[\"a\"] -[]", "D a 2500>3500 1000+", "cc 3500"])
    }

    @Test func p26TheLimitOfRowsSpansBuckets() {
        var play = Play()
        play.names = ["a", "b"]
        play.put("a", 1...600)
        play.put("b", 601...1200)
        #expect(
            play.lines(1200) == [
                "cp 1200", "D a 0>600 600", "D b 0>1000 400+", "D b 1000>1200 200", "cc 1200",
            ])
    }

    @Test func p14ANewerCheckpointInterruptsAndWhatIsLeftIsCarried() {
        var play = Play()
        play.names = ["p1", "p3"]
        play.priorities = ["p1": 1, "p3": 3]
        play.put("p1", 1...1)
        play.put("p3", 2...3001)
        #expect(play.lines(3001, atMost: 4) == ["cp 3001", "D p1 0>1 1", "pcc 3001 1", "D p3 0>1000 999+"])
        #expect(play.session.mayBeInterrupted)
        play.put("p1", 3002...3002)
        #expect(
            play.lines(3002) == [
                "diff 3002 +[\"p1\"] -[]", "D p1 1>3002 1", "pcc 3002 1", "D p3 1000>1999 999+",
                "D p3 1999>2999 1000+", "D p3 2999>3001 2", "cc 3002",
            ])
    }

    @Test func p15ACheckpointThatChangesNothingDoesNotInterrupt() {
        var play = Play()
        play.names = ["a"]
        play.put("a", 1...2000)
        _ = play.lines(2000, atMost: 2)
        #expect(play.session.offer(play.view(2005)) == nil)
        #expect(play.lines(2005) == ["D a 1000>2000 1000+", "cc 2000"])
    }

    /// Buckets are told in the order of the first line, and those that are named without reason are not.
    @Test func aChangeIsToldAsTheWholeViewWouldBe() {
        var play = Play()
        play.names = ["c", "a", "b"]
        play.put("a", 1...1)
        play.step(1) { _ in }
        var session = play.session
        play.put("b", 2...2)
        play.put("c", 3...3)
        play.writeCheckpoint = 4
        let view = play.view(3)
        let states = view.buckets.map { (ExactText($0.bucket.name), $0.state) }
        let change = ViewChange(
            operation: 3, writeCheckpoint: 4, buckets: Dictionary(uniqueKeysWithValues: states))
        let line = session.offer(change)
        #expect(line.map(Play.short) == "diff 3 +[\"c\", \"b\"] -[]")
        #expect(play.session.offer(view) == line)
        #expect(session.next() == play.session.next())
        // Nothing is new of that any more, and what was told is not taken back.
        #expect(session.offer(change) == nil)
        #expect(session.offer(ViewChange(operation: 4, writeCheckpoint: nil, buckets: [:])) == nil)
        #expect(session.offer(ViewChange(operation: 4, writeCheckpoint: 3, buckets: [:])) == nil)
        let last = session.offer(ViewChange(operation: 4, writeCheckpoint: 5, buckets: [:]))
        #expect(last.map(Play.short) == "diff 4 +[] -[]")
    }

    /// Priority and reasons that a lookup has changed are told with the next content, however that comes to be known (service
    /// 3.14 D3).
    @Test(arguments: [false, true]) func whatABucketIsListedWithIsToldWithItsNextContent(isWholeView: Bool) {
        var play = Play()
        play.names = ["a", "b"]
        play.put("a", 1...1)
        play.step(1) { _ in }
        play.priorities = ["a": 1]
        #expect(play.lines(1) == [])
        for operation in 2...3 as ClosedRange<Int64> {
            play.put("a", operation...operation)
            let view = play.view(operation)
            let states = view.buckets.map { (ExactText($0.bucket.name), $0.state) }
            let change = ViewChange(
                operation: operation, writeCheckpoint: nil, buckets: Dictionary(uniqueKeysWithValues: states))
            let line = isWholeView ? play.session.offer(view) : play.session.offer(change)
            guard case .checkpointDiff(let diff)? = line else {
                Issue.record("the bucket has changed")
                return
            }
            #expect(diff.updatedBuckets.map(\.priority) == [1])
        }
    }

    /// It was reached with a checkpoint that the stream has read past.
    @Test func aWriteCheckpointOfAnOlderCheckpointIsToldWithTheNewest() {
        var play = Play()
        play.names = ["a"]
        play.put("a", 1...5)
        #expect(play.lines(5) == ["cp 5", "D a 0>5 5", "cc 5"])
        let line = play.session.offer(ViewChange(operation: 3, writeCheckpoint: 4, buckets: [:]))
        #expect(line.map(Play.short) == "diff 5 +[] -[]")
        #expect(play.session.next() == .send(.checkpointComplete(lastOpID: 5)))
    }

    /// What the request says of the operations is the same for all whose positions mean the same; a line says its own.
    @Test(arguments: [(nil, 3), (3, 3), (4, 3), (9, 3), (10, 10)] as [(Int64?, Int64)])
    func streamsWhosePositionsMeanTheSameAskForTheSame(position: Int64?, start: Int64) {
        var play = Play(
            positions: position.map { [BucketRequest(name: "a", after: $0)] } ?? [])
        play.names = ["a", "b"]
        play.put("a", 3...3)
        play.put("b", 9...9)
        // A position behind the checkpoint may be in the midst of what is yet to come.
        play.step(9) { _ in }
        play.put("a", 12...13)
        let view = play.view(13)
        guard case .checkpointDiff = play.session.offer(view) else {
            Issue.record("the bucket has changed")
            return
        }
        guard case .read(let read) = play.session.next() else {
            Issue.record("there is something to read")
            return
        }
        #expect(read.name == "a" && read.after == position ?? 3)
        #expect(
            read.request
                == FrameRequest(
                    bucket: 0, after: start, last: 13, rows: StreamSession.rowLimit, bytes: 1 << 20))
        // Of another checkpoint later on it is the position alone.
        play.session.received(
            StreamSession.LinePart(last: 13, count: 2, hasMore: false), for: read)
        play.put("a", 15...15)
        _ = play.session.offer(play.view(15))
        guard case .read(let next) = play.session.next() else {
            Issue.record("there is something to read")
            return
        }
        #expect(next.after == 13 && next.request.after == 13 && next.request.last == 15)
    }

    @Test func aStreamBeginsWithAWholeView() async {
        await #expect(processExitsWith: .failure) {
            var session = StreamSession(positions: [], streams: [])
            _ = session.offer(ViewChange(operation: 1, writeCheckpoint: nil, buckets: [:]))
        }
    }

    @Test(.namesSeed) func randomHistoriesKeepTheInvariantsOfTheProtocol() async throws {
        try await forEachSeed(200) { random in
            var play = Play()
            let all = ["a", "b", "c", "d"]
            play.priorities = Dictionary(uniqueKeysWithValues: all.map { ($0, random.below(4)) })
            play.lineRows = 1 + random.below(5)
            var client = StreamModel()
            var last: Int64 = 0
            for _ in 0..<20 {
                play.names = all.filter { _ in random.once(in: 2) }
                for name in all where random.once(in: 2) {
                    let count = Int64(1 + random.below(6))
                    play.put(name, (last + 1)...(last + count))
                    last += count
                }
                if random.once(in: 2) { play.writeCheckpoint = (play.writeCheckpoint ?? 0) + 1 }
                // Half of the checkpoints are interrupted after a few lines.
                let lines = 1 + random.below(6)
                play.step(last, atMost: random.once(in: 2) ? lines : .max) { client.take($0) }
                guard client.broken.isEmpty else { break }
            }
            #expect(client.broken == [])
            // With nothing more to interrupt it, the client comes to hold everything.
            play.names = all
            play.step(last) { client.take($0) }
            #expect(client.isComplete && client.rowCount == Int(last), "\(client)")
        }
    }
}
