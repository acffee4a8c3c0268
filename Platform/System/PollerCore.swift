import CPowerSyncSystem
import Synchronization

/// What the poller's thread and its channels share.
final class PollerCore: Sendable {
    /// Deadlines of channels are looked at no more often than this, in nanoseconds.
    private static let sweepInterval: Int64 = 5_000_000

    private struct Table {
        var channels: [UInt64: Channel] = [:]
        /// The channel that registered a descriptor last.
        var holders: [Int32: UInt64] = [:]
        var sleepers = DeadlineQueue<Resumption<Void, any Error>>()
        var lastID: UInt64 = 0
        var isStopped = false

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private let queue: powersync_poller
    private let table = Lock(Table())
    private let origin = ContinuousClock.now
    /// No channel has an earlier deadline than this.
    private let nextSweep = Atomic<Int64>(.max)
    private let sweeps = Atomic(0)

    init() throws(SystemError) {
        var queue = powersync_poller()
        try SystemError.check(powersync_poller_open(&queue), .poller, "cannot make a readiness queue")
        self.queue = queue
    }

    deinit { withUnsafePointer(to: queue) { powersync_poller_close($0) } }

    func start() throws(SystemError) {
        try DetachedThread.start { self.run() }
    }

    func stop() {
        table.withLock { $0.isStopped = true }
        wake()
    }

    // MARK: Channels

    func register(_ descriptor: Int32, for poller: Poller) throws(SystemError) -> Channel {
        try table.withLock { table throws(SystemError) in
            if table.isStopped { throw SystemError(.poller, "the poller has stopped") }
            let channel = Channel(descriptor: descriptor, id: table.nextID(), poller: poller, core: self)
            let status = withUnsafePointer(to: queue) {
                powersync_poller_add($0, descriptor, channel.id)
            }
            guard status >= 0 else {
                throw SystemError(.poller, "cannot watch descriptor \(descriptor)", errno: -status)
            }
            // The first event may have come already; whoever hands it on waits for this lock.
            table.channels[channel.id] = channel
            table.holders[descriptor] = channel.id
            return channel
        }
    }

    /// The system knows registrations by number, and the number of a descriptor that was closed too early, as
    /// libpq does when it reads the end of a connection, may be another channel's by now: that one stays.
    func deregister(_ channel: Channel) {
        table.withLock { table in
            guard table.channels.removeValue(forKey: channel.id) != nil,
                table.holders[channel.descriptor] == channel.id
            else { return }
            table.holders[channel.descriptor] = nil
            // Fails only for a descriptor that was closed, and then the registration is gone already.
            _ = withUnsafePointer(to: queue) { powersync_poller_remove($0, channel.descriptor) }
        }
    }

    // MARK: Time

    /// Nanoseconds since the poller was made.
    func nanoseconds(_ instant: ContinuousClock.Instant) -> Int64 {
        let parts = origin.duration(to: instant).components
        let (whole, overflow) = parts.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return parts.seconds < 0 ? .min : .max }
        let (sum, carried) = whole.addingReportingOverflow(parts.attoseconds / 1_000_000_000)
        return carried ? .max : sum
    }

    /// Makes sure that the thread looks at the channels once the deadline has passed.
    func notice(deadline: Int64) {
        let change = nextSweep.min(deadline, ordering: .sequentiallyConsistent)
        if change.newValue < change.oldValue { wake() }
    }

    /// How often the deadlines of all channels were looked at.
    var sweepCount: Int { sweeps.load(ordering: .relaxed) }

    /// How many tasks sleep.
    var sleeperCount: Int { table.withLock { $0.sleepers.count } }

    func sleep(until deadline: ContinuousClock.Instant) async throws {
        let id = table.withLock { $0.nextID() }
        let moment = nanoseconds(deadline)
        try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                let isEarliest = table.withLock { table -> Bool? in
                    // The cancellation handler may have run already and have found nothing to remove.
                    if table.isStopped || Task.isCancelled { return nil }
                    return table.sleepers.insert(continuation, id: id, deadline: moment)
                }
                guard let isEarliest else { return continuation.resume(throwing: CancellationError()) }
                if isEarliest { wake() }
            }
        } onCancel: {
            table.withLock { $0.sleepers.remove(id: id) }?.resume(throwing: CancellationError())
        }
    }

    // MARK: The thread

    private func wake() {
        withUnsafePointer(to: queue) { powersync_poller_wake($0) }
    }

    private func run() {
        var events = [powersync_event](repeating: powersync_event(), count: 256)
        var lastSweep = Int64.min
        while true {
            let now = nanoseconds(.now)
            if nextSweep.load(ordering: .sequentiallyConsistent) <= now,
                now >= lastSweep &+ Self.sweepInterval || lastSweep == .min
            {
                lastSweep = now
                sweep(now)
            }
            let (passed, firstSleeper, isStopped) = table.withLock {
                ($0.sleepers.removePassed(now), $0.sleepers.earliest, $0.isStopped)
            }
            for sleeper in passed { sleeper.resume() }
            if isStopped { break }
            var next = nextSweep.load(ordering: .sequentiallyConsistent)
            if next != .max, lastSweep != .min { next = max(next, lastSweep + Self.sweepInterval) }
            next = min(next, firstSleeper ?? .max)
            let count = events.withUnsafeMutableBufferPointer { events in
                withUnsafePointer(to: queue) {
                    powersync_poller_wait(
                        $0, events.baseAddress, Int32(events.count), milliseconds(until: next, now: now))
                }
            }
            // The queue is ours and open, so waiting on it cannot fail.
            precondition(count >= 0, "waiting for readiness failed: \(SystemError.text(of: -count))")
            dispatch(events[..<Int(count)])
        }
        end()
    }

    private func milliseconds(until moment: Int64, now: Int64) -> Int32 {
        if moment == .max { return -1 }
        if moment <= now { return 0 }
        // Rounded up, or the thread would spin during the last millisecond.
        return Int32(clamping: (moment - now - 1) / 1_000_000 + 1)
    }

    private func dispatch(_ events: ArraySlice<powersync_event>) {
        if events.isEmpty { return }
        let found = table.withLock { table in events.map { table.channels[$0.token] } }
        for (event, channel) in zip(events, found) {
            channel?.receive(readable: event.readable, writable: event.writable, hungUp: event.hung_up)
        }
    }

    private func sweep(_ now: Int64) {
        // From here on, a new wait lowers the value itself; the walk below sees every older one.
        nextSweep.store(.max, ordering: .sequentiallyConsistent)
        sweeps.add(1, ordering: .relaxed)
        let channels = table.withLock { Array($0.channels.values) }
        var next = Int64.max
        for channel in channels { next = min(next, channel.expire(now)) }
        nextSweep.min(next, ordering: .sequentiallyConsistent)
    }

    private func end() {
        let (channels, sleepers) = table.withLock { table in
            defer { (table.channels, table.holders) = ([:], [:]) }
            return (Array(table.channels.values), table.sleepers.removeAll())
        }
        for channel in channels {
            _ = withUnsafePointer(to: queue) { powersync_poller_remove($0, channel.descriptor) }
            channel.close()
        }
        for sleeper in sleepers { sleeper.resume(throwing: CancellationError()) }
    }
}
