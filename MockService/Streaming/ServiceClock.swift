#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PowerSyncSystem

/// The time and randomness of the service, so that tests can move them.
package struct ServiceClock: Sendable {
    /// Seconds since 1970.
    package let now: @Sendable () -> Double
    /// Returns when a time has come.
    package let sleep: @Sendable (_ until: Double) async throws -> Void
    /// A number from 0 to 1.
    package let random: @Sendable () -> Double

    /// Makes a clock of its parts.
    package init(
        now: @escaping @Sendable () -> Double,
        sleep: @escaping @Sendable (_ until: Double) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
    }

    /// The time of the system.
    package static func system(_ poller: Poller) -> ServiceClock {
        ServiceClock(
            now: { Date().timeIntervalSince1970 },
            sleep: { time in
                let wait = max(0, time - Date().timeIntervalSince1970)
                try await poller.sleep(until: .now + .milliseconds(Int64(min(wait, 86_400) * 1000)))
            },
            random: { Double.random(in: 0...1) })
    }
}
