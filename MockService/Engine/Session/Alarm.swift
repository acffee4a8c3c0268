import PowerSyncSystem

/// One sleeper for all times of all streams.
package final class Alarm: Sendable {
    /// One time at a time of whoever has it; over when the last reference goes.
    package final class Timer: Sendable {
        private let alarm: Alarm
        private let id: UInt64

        fileprivate init(_ alarm: Alarm, _ id: UInt64) {
            self.alarm = alarm
            self.id = id
        }

        deinit { alarm.remove(id) }

        /// Sets the time at which it rings, once, in place of the one before.
        ///
        /// - Parameter time: A time of the monotonic clock; infinity for never.
        package func set(_ time: Double) { alarm.set(id, to: time) }
    }

    private struct Entry: Comparable, Sendable {
        let time: Double
        let timer: UInt64

        static func < (left: Entry, right: Entry) -> Bool { left.time < right.time }
    }

    private struct State {
        var timers: [UInt64: (time: Double, ring: @Sendable () -> Void)] = [:]
        /// Entries of timers that have another time by now stay until they come up or are the greater part.
        var heap = MinHeap<Entry>()
        var lastTimer: UInt64 = 0
        /// Until when the sleeper sleeps; nobody wakes it while it is awake.
        var sleepsUntil = -Double.infinity
        var isEarlier = false
        var sleeper: CheckedContinuation<Void, Never>?

        mutating func takeSleeper() -> CheckedContinuation<Void, Never>? {
            defer { sleeper = nil }
            return sleeper
        }

        /// The earliest time that is set; infinity if there is none.
        mutating func earliest() -> Double {
            while let entry = heap.first {
                if timers[entry.timer]?.time == entry.time { return entry.time }
                _ = heap.popFirst()
            }
            return .infinity
        }

        /// Takes what rings up to a time.
        mutating func due(at now: Double) -> [@Sendable () -> Void] {
            var due: [@Sendable () -> Void] = []
            while earliest() <= now, let entry = heap.popFirst() {
                if let timer = timers[entry.timer] { due.append(timer.ring) }
                timers[entry.timer]?.time = .infinity
            }
            return due
        }

        mutating func compact() {
            guard heap.count > 2 * timers.count + 64 else { return }
            heap = MinHeap(
                timers.compactMap { id, timer in
                    timer.time < .infinity ? Entry(time: timer.time, timer: id) : nil
                })
        }
    }

    private let time: ServiceClock
    private let state = Lock(State())

    /// Makes an alarm that rings as long as `run` runs.
    ///
    /// - Parameter clock: The time.
    package init(_ clock: ServiceClock) { time = clock }

    /// The time, on which all who wait do so through the alarm.
    package var clock: ServiceClock {
        ServiceClock(
            now: time.now, monotonic: time.monotonic, sleep: { try await self.sleep(until: $0) },
            random: time.random)
    }

    /// How many times are held, those that are over among them.
    package var entryCount: Int { state.withLock { $0.heap.count } }

    /// Makes a timer that has no time yet.
    ///
    /// - Parameter ring: Is called when a time has come; it waits for nothing.
    /// - Returns: The timer.
    package func timer(_ ring: @escaping @Sendable () -> Void) -> Timer {
        let id = state.withLock { state in
            state.lastTimer += 1
            state.timers[state.lastTimer] = (.infinity, ring)
            return state.lastTimer
        }
        return Timer(self, id)
    }

    private func set(_ id: UInt64, to time: Double) {
        let sleeper = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let known = state.timers[id], known.time != time else { return nil }
            state.timers[id]?.time = time
            if time < .infinity { state.heap.insert(Entry(time: time, timer: id)) }
            state.compact()
            guard time < state.sleepsUntil else { return nil }
            state.isEarlier = true
            return state.takeSleeper()
        }
        sleeper?.resume()
    }

    private func remove(_ id: UInt64) {
        state.withLock { state in
            state.timers[id] = nil
            state.compact()
        }
    }

    /// Returns when a time has come.
    ///
    /// - Parameter time: A time of the monotonic clock.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func sleep(until time: Double) async throws {
        let sleeper = Sleeper()
        let timer = self.timer { sleeper.wake() }
        timer.set(time)
        defer { withExtendedLifetime(timer) {} }
        try await sleeper.wait()
    }

    /// Rings until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            let next = state.withLock { state in
                state.isEarlier = false
                state.sleepsUntil = state.earliest()
                return state.sleepsUntil
            }
            let isOver = await withTaskGroup(of: Bool.self) { group in
                if next < .infinity {
                    group.addTask { [time] in
                        do {
                            try await time.sleep(next)
                            return false
                        } catch {
                            // Only the end of the task, or of what keeps the time, ends a sleep early.
                            return true
                        }
                    }
                }
                group.addTask {
                    await self.waitForEarlier()
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? true
            }
            if isOver { return }
            let now = time.monotonic()
            let due = state.withLock { state in
                state.sleepsUntil = -.infinity
                return state.due(at: now)
            }
            for ring in due { ring() }
        }
    }

    /// Returns when an earlier time has been set than the one that is slept until.
    private func waitForEarlier() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state in
                    if state.isEarlier || Task.isCancelled { return true }
                    state.sleeper = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeSleeper() }?.resume()
        }
    }
}

/// A task that sleeps until it is woken.
private final class Sleeper: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var isOver = false
        var waiter: Waiter?
    }

    private let state = Lock(State())

    func wake() {
        let waiter = state.withLock { state in
            state.isOver = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func wait() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isOver { return .success(()) }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
