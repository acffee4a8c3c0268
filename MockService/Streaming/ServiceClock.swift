#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PowerSyncSystem

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
