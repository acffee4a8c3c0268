import PowerSyncSystem

/// Time and chance, which tests move by hand.
package struct SyncEnvironment: Sendable {
    /// Returns microseconds since 1970 (UTC), for what is stored.
    package var now: @Sendable () -> Int64
    /// Returns the time since some moment, which nobody can set, for measuring.
    package var uptime: @Sendable () -> Duration
    /// Waits; throws `CancellationError`.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Returns a number from 0 to 1.
    package var random: @Sendable () -> Double
    /// Waits for the moment after which a stream that brought nothing counts as quiet; throws `CancellationError`.
    ///
    /// Lines wait that long for others to be stored with; nothing that is stored or told depends on it.
    package var batchPause: @Sendable () async throws -> Void
    /// How long and how often opening is tried while another process holds the file.
    var opening = OpenRetryPolicy()
    /// Where the tasks of sync run that are nobody's children; nil for the system's threads.
    package var executor: (any TaskExecutor)?
    /// Waits before another look at files that other processes use, too; throws `CancellationError`.
    var waitForFiles: @Sendable (Duration) async throws -> Void = {
        try await ContinuousClock().sleep(for: $0)
    }

    /// Makes an environment of its parts.
    package init(
        now: @escaping @Sendable () -> Int64, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void, random: @escaping @Sendable () -> Double,
        batchPause: @escaping @Sendable () async throws -> Void = {
            try await ContinuousClock().sleep(for: .milliseconds(10))
        }
    ) {
        self.now = now
        self.uptime = uptime
        self.sleep = sleep
        self.random = random
        self.batchPause = batchPause
    }

    /// Waits for the delay after a failure, or until something has happened that ends it.
    ///
    /// - Parameters:
    ///   - delay: the delay, spread by chance as all are.
    ///   - end: returns when the wait is to end; must end when it is cancelled.
    /// - Throws: `CancellationError`, what `end` throws.
    func waitToRetry(
        _ delay: Duration, unless end: @escaping @Sendable () async throws -> Void
    ) async throws {
        let delay = delay * RetryPolicy.spread(random())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [sleep] in try await sleep(delay) }
            group.addTask { try await end() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// The system's clocks and random numbers.
    package static func system() -> SyncEnvironment {
        let clock = ContinuousClock()
        let start = clock.now
        return SyncEnvironment(
            now: { WallClock.microseconds() }, uptime: { start.duration(to: clock.now) },
            sleep: { try await clock.sleep(for: $0) }, random: { Double.random(in: 0...1) })
    }
}
