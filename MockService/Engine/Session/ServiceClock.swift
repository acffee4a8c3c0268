#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PowerSyncSystem

/// What a wait until a time has come to.
private enum Outcome<Value: Sendable> {
    case came(Value)
    case over
    case cancelled
}

/// The time and randomness of the service, so that tests can move them.
package struct ServiceClock: Sendable {
    /// One moment by both clocks.
    package struct Moment: Sendable {
        /// Seconds since 1970; somebody may set this clock.
        package var wall: Double
        /// Seconds that only go on.
        package var monotonic: Double

        /// Makes a moment.
        package init(wall: Double, monotonic: Double) {
            self.wall = wall
            self.monotonic = monotonic
        }
    }

    /// Seconds since 1970, for what others write down: the end of a token, a time of the database.
    package let now: @Sendable () -> Double
    /// Seconds from any moment on that only go on, for everything that is waited for.
    package let monotonic: @Sendable () -> Double
    /// Returns when a time of the monotonic clock has come.
    package let sleep: @Sendable (_ until: Double) async throws -> Void
    /// A number from 0 to 1.
    package let random: @Sendable () -> Double

    /// Makes a clock of its parts.
    package init(
        now: @escaping @Sendable () -> Double, monotonic: @escaping @Sendable () -> Double,
        sleep: @escaping @Sendable (_ until: Double) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.monotonic = monotonic
        self.sleep = sleep
        self.random = random
    }

    /// The moment that it is.
    package var moment: Moment { Moment(wall: now(), monotonic: monotonic()) }

    /// Waits for something until a time of the monotonic clock.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - wait: What is waited for; it is cancelled when the time has come.
    /// - Returns: What was waited for; nil if the time has come first.
    /// - Throws: What `wait` throws, and `CancellationError`.
    package func first<Value: Sendable>(
        until time: Double, _ wait: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Outcome<Value>.self) { group in
            group.addTask { .came(try await wait()) }
            group.addTask {
                do {
                    try await sleep(time)
                } catch is CancellationError {
                    return .cancelled
                }
                return .over
            }
            defer { group.cancelAll() }
            while let outcome = try await group.next() {
                switch outcome {
                case .came(let value): return value
                case .over: return nil
                // What it means is for `wait` to say: that a connection has ended, for what reason.
                case .cancelled: continue
                }
            }
            throw CancellationError()
        }
    }

    /// The time of the system.
    package static func system(_ poller: Poller) -> ServiceClock {
        let origin = ContinuousClock.now
        let monotonic: @Sendable () -> Double = { origin.duration(to: .now) / .seconds(1) }
        return ServiceClock(
            now: { Date().timeIntervalSince1970 }, monotonic: monotonic,
            sleep: { time in
                let wait = max(0, time - monotonic())
                try await poller.sleep(until: .now + .seconds(min(wait, 86_400)))
            },
            random: { Double.random(in: 0...1) })
    }
}
