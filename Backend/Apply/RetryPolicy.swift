/// How often, and for how long, a failing transaction is tried again inside the server (backend 3.3, 3.4).
///
/// A needless 503 can stall a device until its next local write, so short trouble is waited out here.
package struct RetryPolicy: Sendable, Hashable {
    /// The most attempts.
    package var attempts = 5
    /// The longest wait before the second attempt; it doubles with each.
    package var firstDelay = Duration.milliseconds(5)
    /// The longest wait between two attempts.
    package var longestDelay = Duration.milliseconds(200)
    /// The time from the first failure after which nothing is tried again.
    package var budget = Duration.seconds(2)
    /// How often a suspect error must return, and over how long, until the write itself is to blame.
    package var poisonAttempts = 8
    /// The time over which a timeout must return.
    package var poisonAge = Duration.seconds(15 * 60)
    /// The time over which an unknown error must return.
    package var unknownAge = Duration.seconds(60 * 60)
    /// The time without a failure of a write after which the next one is the first of another incident.
    package var poisonGap = Duration.seconds(24 * 60 * 60)
    /// How long a missing table or column may be a migration on its way.
    package var driftGrace = Duration.seconds(10 * 60)

    /// Makes the policy of backend 3.3.
    package init() {}

    /// Returns how long to wait before the next attempt, or nil if there is none.
    ///
    /// - Parameters:
    ///   - attempt: how many have failed.
    ///   - elapsed: since the first failure.
    ///   - jitter: from 0 to 1.
    /// - Returns: nil if there is no other attempt.
    package func delay(after attempt: Int, elapsed: Duration, jitter: Double) -> Duration? {
        guard attempt < attempts else { return nil }
        let ceiling = min(longestDelay, firstDelay * Double(1 << min(attempt, 20)))
        let delay = ceiling * jitter
        return elapsed + delay <= budget ? delay : nil
    }

    /// Whether a suspect error is the write's own fault by now.
    ///
    /// - Parameters:
    ///   - code: that of the verdict.
    ///   - attempts: how often it came in this incident.
    ///   - age: since the first time in it.
    /// - Returns: true once it came often enough for long enough.
    package func isPoison(code: String, attempts: Int, age: Duration) -> Bool {
        attempts >= poisonAttempts && age >= (code == "TIMEOUT" ? poisonAge : unknownAge)
    }
}
