/// Decides when a stream says how long its token is valid (service 3.9).
///
/// Times are seconds since 1970.
package struct KeepaliveSchedule: Sendable {
    private let expiry: Double
    private var nextPeriodic: Double
    private var warning: Double?

    /// Begins when a stream is opened.
    ///
    /// - Parameters:
    ///   - expiry: When the token expires.
    ///   - now: The time.
    ///   - random: From 0 to 1.
    package init(expiry: Double, now: Double, random: Double) {
        self.expiry = expiry
        nextPeriodic = now + Self.period(random)
        warning = now < expiry - 20 ? expiry - 20 : nil
    }

    private static func period(_ random: Double) -> Double { 20 * (0.9 + 0.2 * random) }

    /// Whether the token has expired.
    package func isExpired(at now: Double) -> Bool { now >= expiry }

    /// When `due` has something to say.
    package var next: Double {
        // Shortly before the warning and behind it there are no periodic lines.
        let periodic = nextPeriodic < expiry - 25 ? nextPeriodic : .infinity
        return min(periodic, warning ?? .infinity, expiry)
    }

    /// The seconds to send now, nil if it is too early.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - random: From 0 to 1, for the next period.
    /// - Returns: Whole seconds until the token expires; 0 means that the stream ends.
    package mutating func due(at now: Double, random: Double) -> Int? {
        guard now >= next else { return nil }
        if let warning, now >= warning { self.warning = nil }
        nextPeriodic = now + Self.period(random)
        // A token may be valid for longer than an integer can say.
        return max(0, Int(exactly: (expiry - now).rounded(.up)) ?? .max)
    }
}
