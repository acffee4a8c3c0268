import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Frames that were published, and frames that are read for many streams at once.
@Suite(.patient())
struct FrameStoreTests {
    /// What a store reads from, which a test holds up.
    private final class Disk: Sendable {
        struct Broken: Error {}

        let gate = Gate()
        private let requests = Lock<[FrameRequest]>([])

        /// How many readings have begun.
        var count: Int { requests.withLock { $0.count } }

        func read(_ request: FrameRequest) async throws -> Frame? {
            requests.withLock { $0.append(request) }
            await gate.pass()
            try Task.checkCancellation()
            if request.bucket == 0 { return nil }
            if request.bucket < 0 { throw Broken() }
            return FrameStoreTests.frame(of: request.bucket, after: request.after)
        }
    }

    /// A frame of so many operations behind an id, of about 400 bytes each.
    private static func frame(of bucket: Int64, after: OperationID = 0, _ count: Int = 3) -> Frame {
        FrameFixture(
            (1...count).map { number in
                SampleOperation(
                    id: after + OperationID(number), checksum: Checksum(1),
                    data: String(repeating: "x", count: 370))
            }, bucket: bucket, after: after
        ).frame
    }

    private static func request(
        _ bucket: Int64, after: OperationID = 0, last: OperationID = 3, rows: Int = 1000
    ) -> FrameRequest {
        FrameRequest(bucket: bucket, after: after, last: last, rows: rows, bytes: 1 << 20)
    }

    private static func store(_ disk: Disk, limit: Int = 1 << 20, _ lines: LineBudget) -> FrameStore {
        FrameStore(limit: limit, lines: lines) { try await disk.read($0) }
    }

    // MARK: Published

    @Test func whatWasPublishedIsFoundByItsPlace() throws {
        let disk = Disk()
        let store = Self.store(disk, LineBudget(limit: 1 << 20))
        let frames = [Self.frame(of: 1), Self.frame(of: 2, after: 4), Self.frame(of: 1, after: 3)]
        store.publish(frames)
        func found(_ request: FrameRequest) throws -> Frame? { try store.frame(inMemory: request) }
        #expect(try found(Self.request(1)) === frames[0])
        // From its beginning a bucket is not sent commit by commit.
        #expect(try found(Self.request(1, last: 6)) == nil)
        #expect(try found(Self.request(1, after: 3, last: 6)) === frames[2])
        #expect(try found(Self.request(2, after: 4, last: 7)) === frames[1])
        // In the midst of one, behind all, of another bucket, and of a checkpoint that is before its end.
        #expect(try found(Self.request(1, after: 1, last: 6)) == nil)
        #expect(try found(Self.request(1, after: 6, last: 9)) == nil)
        #expect(try found(Self.request(3)) == nil)
        #expect(try found(Self.request(1, after: 3, last: 5)) == nil)
        #expect(disk.count == 0)
    }

    @Test func streamsThatMaySendLessShareWhatItIsCutTo() throws {
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(Disk(), lines)
        let frame = Self.frame(of: 1)
        store.publish([frame])
        var cut = try store.frame(inMemory: Self.request(1, rows: 2))
        #expect(cut?.count == 2 && cut?.last == 2)
        #expect(lines.usedBytes == cut?.heldBytes)
        #expect(try store.frame(inMemory: Self.request(1, rows: 2)) === cut)
        #expect(try store.frame(inMemory: Self.request(1, rows: 1))?.count == 1)
        cut = nil
        #expect(lines.usedBytes == 0)
        #expect(try store.frame(inMemory: Self.request(1, rows: 3)) === frame)
    }

    @Test func theOldestGoAtTheLimitAndTheirFormsCount() throws {
        let lines = LineBudget(limit: 1 << 20)
        // Each has about 1,200 bytes, and takes 1,024 besides.
        let limit = 10_000 + 8 * 1024
        let store = Self.store(Disk(), limit: limit, lines)
        for bucket in Int64(1)...20 { store.publish([Self.frame(of: bucket)]) }
        #expect(store.keptBytes <= 10_000 && store.keptBytes > 8000)
        func buckets() throws -> [Int64] {
            try (Int64(1)...30).filter { try store.frame(inMemory: Self.request($0)) != nil }
        }
        let kept = try buckets()
        #expect(kept == Array((21 - Int64(kept.count))...20), "the newest ones")
        let before = store.keptBytes
        for bucket in kept {
            _ = try store.frame(inMemory: Self.request(bucket))?.content(LineForm(.raw), BlockCompressors())
        }
        #expect(store.keptBytes > before * 2)
        store.publish([Self.frame(of: 30)])
        #expect(try store.keptBytes + 1024 * buckets().count <= limit)
        #expect(try buckets().last == 30 && buckets().count < kept.count)
        // One that is larger than all may be.
        store.publish([Self.frame(of: 31, 60)])
        #expect(store.keptBytes == 0 && lines.usedBytes == 0)
    }

    /// The objects of a frame take more than one short operation does.
    @Test func theNumberOfShortFramesIsBounded() throws {
        let store = Self.store(Disk(), limit: 1 << 20, LineBudget(limit: 1 << 20))
        let operation = SampleOperation(id: 1, checksum: Checksum(1), data: "{}")
        let frames = (Int64(1)...3000).map { FrameFixture([operation], bucket: $0).frame }
        store.publish(frames)
        let kept = try frames.count { try store.frame(inMemory: Self.request($0.bucket, last: 1)) != nil }
        #expect(kept > 900 && kept <= 1024)
    }

    @Test func whatIsSentOfOneThatWentIsCountedWithTheLines() throws {
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(Disk(), limit: 2000 + 1024, lines)
        store.publish([Self.frame(of: 1)])
        var line: EncodedLine? = try LineEncoder(.raw, BlockCompressors()).encode(
            try #require(try store.frame(inMemory: Self.request(1))), of: "b", after: 0, hasMore: false)
        #expect(lines.usedBytes == 0 && store.keptBytes > 2000)
        store.publish([Self.frame(of: 2)])
        #expect(try store.frame(inMemory: Self.request(1)) == nil)
        #expect(lines.usedBytes > 2000 && store.keptBytes < 2000)
        #expect(line?.taken().isEmpty == false)
        line = nil
        #expect(lines.usedBytes == 0)
    }

    /// At a switch nobody asks for what was published any more; what is still being sent of it is counted with the lines.
    @Test func whatIsForgottenIsNotFound() throws {
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(Disk(), lines)
        store.publish([Self.frame(of: 1), Self.frame(of: 2)])
        var line: EncodedLine? = try LineEncoder(.raw, BlockCompressors()).encode(
            try #require(try store.frame(inMemory: Self.request(1))), of: "b", after: 0, hasMore: false)
        store.forgetPublished()
        #expect(try store.frame(inMemory: Self.request(1)) == nil)
        #expect(try store.frame(inMemory: Self.request(2)) == nil)
        #expect(store.keptBytes == 0 && lines.usedBytes > 2000)
        #expect(line?.taken().isEmpty == false)
        line = nil
        #expect(lines.usedBytes == 0)
        let next = Self.frame(of: 1)
        store.publish([next])
        #expect(try store.frame(inMemory: Self.request(1)) === next)
    }

    // MARK: From the disk

    @Test func allWhoAskAtOnceGetOneReading() async throws {
        let disk = Disk()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        let requests = [Self.request(1), Self.request(2), Self.request(1, rows: 7)]
        let asking = (0..<30).map { number in
            Task { try await store.frame(requests[number % 3], lines.take(1 << 10)) }
        }
        try await wait(for: "three readings", read: { disk.count }) { $0 == 3 }
        #expect(store.readingCount == 3)
        disk.gate.open()
        var frames: [Frame] = []
        for task in asking { frames.append(try #require(try await task.value)) }
        #expect(Set(frames.map { ObjectIdentifier($0) }).count == 3)
        #expect(store.readingCount == 0)
        // Some may have come when the others were done, and have had it all the same.
        #expect(disk.count == 3)
        // The task of the reading may hold its room for a moment.
        let held = frames[..<3].reduce(0) { $0 + $1.heldBytes }
        try await wait(for: "each to be counted once", read: { lines.usedBytes }) { $0 == held }
        // Tasks keep what they returned.
        withExtendedLifetime(asking) {}
    }

    @Test func whoComesWhileItIsSentSharesIt() async throws {
        let disk = Disk()
        disk.gate.open()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        var first = try await store.frame(Self.request(1), lines.take(0))
        let second = try await store.frame(Self.request(1), lines.take(0))
        let third = try store.frame(inMemory: Self.request(1))
        #expect(first != nil && first === second && first === third && disk.count == 1)
        // Another request may end elsewhere.
        #expect(try store.frame(inMemory: Self.request(1, last: 4)) == nil)
        first = nil
        #expect(second?.count == 3)
    }

    @Test func whatNobodySendsIsReadAgain() async throws {
        let disk = Disk()
        disk.gate.open()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        for bucket in Int64(1)...200 {
            let frame = try await store.frame(Self.request(bucket), lines.take(0))
            #expect(frame?.bucket == bucket)
        }
        try await wait(for: "all to be gone") {
            try (Int64(1)...200).allSatisfy { try store.frame(inMemory: Self.request($0)) == nil }
        }
        try await wait(for: "nothing to be counted", read: { lines.usedBytes }) { $0 == 0 }
        _ = try await store.frame(Self.request(1), lines.take(0))
        #expect(disk.count == 201)
    }

    @Test func nothingAndErrorsAreForAllWhoWait() async throws {
        let disk = Disk()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        let empty = (0..<3).map { _ in Task { try await store.frame(Self.request(0), lines.take(0)) } }
        let broken = (0..<3).map { _ in Task { try await store.frame(Self.request(-1), lines.take(0)) } }
        try await wait(for: "both", read: { disk.count }) { $0 == 2 }
        disk.gate.open()
        for task in empty { #expect(try await task.value == nil) }
        for task in broken { await #expect(throws: Disk.Broken.self) { try await task.value } }
        // It is not kept that there was nothing.
        _ = try await store.frame(Self.request(0), lines.take(0))
        #expect(disk.count > 2)
    }

    @Test func whoIsCancelledLeavesAtOnceAndTheOthersGetIt() async throws {
        let disk = Disk()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        let first = Task { try await store.frame(Self.request(1), lines.take(1 << 10)) }
        try await wait(for: "the reading", read: { disk.gate.arrivals }) { $0 == 1 }
        let asked = Lock(false)
        let second = Task {
            asked.withLock { $0 = true }
            return try await store.frame(Self.request(1), lines.take(0))
        }
        try await wait(for: "the second") { asked.withLock { $0 } }
        first.cancel()
        // The disk still stands still.
        await #expect(throws: CancellationError.self) { try await first.value }
        disk.gate.open()
        #expect(try await second.value?.count == 3)
    }

    @Test func aReadingThatNobodyWaitsForEndsAndAnotherBegins() async throws {
        let disk = Disk()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        let first = Task { try await store.frame(Self.request(1), lines.take(1 << 10)) }
        try await wait(for: "the reading", read: { disk.gate.arrivals }) { $0 == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(store.readingCount == 0)
        let second = Task { try await store.frame(Self.request(1), lines.take(1 << 10)) }
        try await wait(for: "another reading", read: { disk.gate.arrivals }) { $0 == 2 }
        disk.gate.open()
        // That of the first ends with an error, which is not the second's.
        #expect(try await second.value?.count == 3)
        #expect(disk.count == 2)
    }

    @Test func whoWasCancelledBeforeIsTold() async throws {
        let disk = Disk()
        let lines = LineBudget(limit: 1 << 20)
        let store = Self.store(disk, lines)
        let gate = Gate()
        let task = Task {
            await gate.pass()
            return try await store.frame(Self.request(1), lines.take(0))
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(store.readingCount == 0 && disk.count == 0)
    }
}
