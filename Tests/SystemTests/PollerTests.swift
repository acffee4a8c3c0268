import PowerSyncTestSupport
import Testing

@testable import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.patient())
struct PollerTests {
    let poller: Poller

    init() throws { poller = try Poller() }

    private func emptied(_ descriptor: Int32) -> Int {
        var buffer = [UInt8](repeating: 0, count: 1000)
        return read(descriptor, &buffer, buffer.count)
    }

    /// Hints may be stale, but each is given once: soon the wait must run into its deadline.
    private func expectToWait(_ wait: () async throws -> Bool) async {
        for _ in 0..<5 where (try? await wait()) == false { return }
        Issue.record("readiness is reported again and again although there is none")
    }

    @Test func aChannelTellsThatBytesArrived() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        let isReadable = Task { try await channel.readable() }
        try await wait(for: "a reader to wait") { channel.isAwaited }
        pair.send("abc")
        #expect(try await isReadable.value)
        #expect(emptied(pair.left) == 3)
    }

    @Test func aReaderThatLeavesBytesIsToldAgain() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        pair.send("abc")
        for _ in 0..<10 {
            #expect(try await channel.readable(until: .now + TestOptions.deadline))
        }
        #expect(emptied(pair.left) == 3)
        await expectToWait { try await channel.readable(until: .now + .milliseconds(5)) }
    }

    @Test func aDeadlineEndsAWaitWithFalseAndNotEarly() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        let deadline = ContinuousClock.now + .milliseconds(30)
        #expect(try await !channel.readable(until: deadline))
        #expect(ContinuousClock.now >= deadline)
    }

    @Test func aDeadlineInThePastIsNotWaitedFor() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        await expectToWait { try await channel.readable(until: .now + .milliseconds(5)) }
        let sweeps = poller.core.sweepCount
        for _ in 0..<10 { #expect(try await !channel.readable(until: .now)) }
        #expect(poller.core.sweepCount == sweeps, "the thread was not needed")
        pair.send("abc")
        #expect(try await channel.readable(until: .now), "what is there is told all the same")
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await channel.readable(until: .now - .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test func anEarlierDeadlineIsNotHeldUpByALaterOne() async throws {
        let pairs = try (0..<20).map { _ in try SocketPair() }
        let channels = try pairs.map { try poller.channel($0.left) }
        defer { for channel in channels { channel.deregister() } }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for (index, channel) in channels.enumerated() {
                let deadline =
                    ContinuousClock.now + (index == 0 ? .seconds(3600) : .milliseconds(5 * (20 - index)))
                group.addTask { try await channel.readable(until: deadline) }
            }
            for _ in 1..<20 {
                let isReadable = try await group.next()
                #expect(isReadable == false)
            }
            // Nineteen waits have ended, and the one that is left has been waiting.
            try await wait(for: "the last to wait") { channels[0].isAwaited }
            group.cancelAll()
            let last = await group.nextResult()
            #expect(throws: CancellationError.self) { try last?.get() }
        }
    }

    @Test func aWriterWaitsUntilTheReaderMakesRoom() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        let block = [UInt8](repeating: 7, count: 64 << 10)
        while write(pair.left, block, block.count) > 0 {}
        await expectToWait { try await channel.writable(until: .now + .milliseconds(5)) }
        let isWritable = Task { try await channel.writable() }
        try await wait(for: "a writer to wait") { channel.isAwaited }
        pair.right.withLock { end in
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            _ = read(end, &buffer, buffer.count)
        }
        #expect(try await isWritable.value)
        #expect(write(pair.left, "x", 1) == 1)
    }

    @Test func aPeerThatLeavesEndsTheWaitForHangUpAndForReading() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        #expect(!channel.isHungUp)
        let hungUp = Task { try await channel.hangUp() }
        try await wait(for: "a task to wait for the hang-up") { channel.isAwaited }
        pair.closeRight()
        try await hungUp.value
        #expect(try await channel.readable())
        #expect(emptied(pair.left) == 0)
        #expect(channel.isHungUp)
        try await channel.hangUp()  // stays true
    }

    @Test(arguments: ["readable", "writable", "hangUp"])
    func cancellingATaskEndsItsWait(side: String) async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        let block = [UInt8](repeating: 7, count: 64 << 10)
        while write(pair.left, block, block.count) > 0 {}
        // The first edge says that the new socket could be written to.
        await expectToWait { try await channel.writable(until: .now + .milliseconds(5)) }
        for _ in 0..<50 {
            let task = Task {
                switch side {
                case "readable": _ = try await channel.readable()
                case "writable": _ = try await channel.writable()
                default: try await channel.hangUp()
                }
            }
            try await wait(for: "the task to wait") { channel.isAwaited }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!channel.isAwaited)
        }
    }

    @Test func aTaskThatIsCancelledWhileItBeginsToWaitDoesNotWait() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        for _ in 0..<200 {
            let reading = Task { try await channel.readable() }
            let sleeping = Task { try await poller.sleep(until: .now + .seconds(3600)) }
            reading.cancel()
            sleeping.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            await #expect(throws: CancellationError.self) { try await sleeping.value }
        }
    }

    @Test func aNumberThatWasClosedTooEarlyStaysWithWhoeverRegistersItNext() async throws {
        let (first, second) = (try SocketPair(), try SocketPair())
        let former = try poller.channel(first.left)
        // Closes the first socket and gives its number to the second.
        try #require(dup2(second.left, first.left) == first.left)
        let holder = try poller.channel(first.left)
        defer { holder.deregister() }
        former.deregister()
        second.closeRight()
        // Never comes if the number is no longer watched.
        try await holder.hangUp()
        #expect(holder.isHungUp)
    }

    @Test func deregisteringEndsTheWaitsAndRefusesLaterOnes() async throws {
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        let reading = Task { try await channel.readable() }
        try await wait(for: "a reader to wait") { channel.isAwaited }
        channel.deregister()
        channel.deregister()
        await #expect(throws: CancellationError.self) { try await reading.value }
        await #expect(throws: CancellationError.self) { try await channel.writable() }
    }

    @Test func aDescriptorNumberUsedAgainGetsNoEventsOfItsPredecessor() async throws {
        for _ in 0..<50 {
            let pair = try SocketPair()
            let channel = try poller.channel(pair.left)
            pair.closeRight()
            channel.deregister()
        }
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        defer { channel.deregister() }
        #expect(!channel.isHungUp)
        #expect(try await !channel.readable(until: .now + .milliseconds(5)))
    }

    @Test func noSleeperWakesEarlyOrIsHeldUpByALaterOne() async throws {
        let start = ContinuousClock.now
        let forever = Task { try await poller.sleep(until: start + .seconds(3600)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in [3, 1, 2, 0] {
                group.addTask {
                    let deadline = start + .milliseconds(40 * (index + 1))
                    try await poller.sleep(until: deadline)
                    #expect(ContinuousClock.now >= deadline)
                }
            }
            try await group.waitForAll()
        }
        try await poller.sleep(until: start)  // passed already
        try await wait(for: "the last to sleep") { poller.core.sleeperCount == 1 }
        forever.cancel()
        await #expect(throws: CancellationError.self) { try await forever.value }
    }

    @Test func cancellingASleeperWakesIt() async throws {
        for _ in 0..<50 {
            let task = Task { try await poller.sleep(until: .now + .seconds(3600)) }
            try await wait(for: "the task to sleep") { poller.core.sleeperCount == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func stoppingEndsEveryWaitAndRefusesLaterOnes() async throws {
        let poller = try Poller()
        let pair = try SocketPair()
        let channel = try poller.channel(pair.left)
        let reading = Task { try await channel.readable() }
        let sleeping = Task { try await poller.sleep(until: .now + .seconds(3600)) }
        try await wait(for: "both to wait") { channel.isAwaited && poller.core.sleeperCount == 1 }
        poller.stop()
        await #expect(throws: CancellationError.self) { try await reading.value }
        await #expect(throws: CancellationError.self) { try await sleeping.value }
        await #expect(throws: CancellationError.self) { try await poller.sleep(until: .now) }
        #expect(throws: SystemError.self) { try poller.channel(pair.left) }
    }

    @Test func aDescriptorThatIsNotOpenIsRefused() throws {
        let error = #expect(throws: SystemError.self) { try poller.channel(-1) }
        #expect(error?.code == .poller)
        #expect(error?.errno == EBADF)
    }
}
