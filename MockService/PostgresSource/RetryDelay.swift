import PowerSyncPostgres

/// Decides how long to wait before replication is tried again (service 7.8).
package struct RetryDelay {
    private var attempts = 0

    /// Begins without a failure.
    package init() {}

    /// The wait after a failure: short at first, at most a second while the server is away, else at most three seconds, so
    /// that everything is back soon after somebody has mended what was wrong.
    package mutating func next(after error: any Error, jitter: Double) -> Duration {
        attempts = min(attempts + 1, 10)
        let postgres = error as? PostgresError
        let isAway = postgres.map { $0.isConnectionLost || $0.code == .timedOut } ?? false
        let limit = isAway ? 1.0 : 3.0
        let delay = min(limit, 0.1 * Double(1 << (attempts - 1)))
        return .milliseconds(Int64(delay * (0.9 + 0.2 * jitter) * 1000))
    }

    /// Begins anew after success.
    package mutating func reset() { attempts = 0 }
}

/// Decides how long to wait until it is looked again whether a transaction is seen: as a rule it is within a few milliseconds,
/// and if it waits for a standby that is away, for hours.
package struct SightDelay {
    private var looks = 0

    /// Begins with a first look.
    package init() {}

    /// The wait after a look that showed nothing yet: a millisecond fifty times, then twice as long each time, to fifty.
    package mutating func next() -> Duration {
        looks = min(looks + 1, 56)
        return .milliseconds(looks <= 50 ? 1 : min(50, 1 << (looks - 50)))
    }
}

/// Keeps a failure that lasts from filling the log: it is told when it begins, and every half minute.
package struct RepeatedFailures: Sendable {
    private var last: (text: String, time: ContinuousClock.Instant)?

    /// Begins without a failure.
    package init() {}

    /// Whether a failure is to be told.
    ///
    /// - Parameters:
    ///   - text: What failed.
    ///   - now: The time.
    /// - Returns: False if the same was told not long ago.
    package mutating func isNew(_ text: String, at now: ContinuousClock.Instant) -> Bool {
        if let last, last.text == text, now - last.time < .seconds(30) { return false }
        last = (text, now)
        return true
    }
}
