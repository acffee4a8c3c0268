/// Decides when a stream says how long its token is valid (service 3.9).
///
/// Only the end of the token is a time of the wall; who sets that clock neither silences a stream nor floods it.
package struct KeepaliveSchedule: Sendable {
    private let expiry: Double
    /// On the monotonic clock.
    private var nextPeriodic: Double
    /// Whether the warning shortly before the end is still to come.
    private var warns: Bool

    /// Begins when a stream is opened.
    ///
    /// - Parameters:
    ///   - expiry: When the token expires, in seconds since 1970.
    ///   - moment: The time.
    ///   - random: From 0 to 1.
    package init(expiry: Double, at moment: ServiceClock.Moment, random: Double) {
        self.expiry = expiry
        nextPeriodic = moment.monotonic + Self.period(random)
        warns = Self.left(expiry, at: moment) > 20
    }

    /// The seconds until the token expires, to the millisecond: no more is sure after one time was taken off another.
    private static func left(_ expiry: Double, at moment: ServiceClock.Moment) -> Double {
        ((expiry - moment.wall) * 1000).rounded() / 1000
    }

    private static func period(_ random: Double) -> Double { 20 * (0.9 + 0.2 * random) }

    /// Whether the token has expired.
    package func isExpired(at moment: ServiceClock.Moment) -> Bool { Self.left(expiry, at: moment) <= 0 }

    /// When `due` is to be asked again, on the monotonic clock and as far as can be said now.
    package func next(at moment: ServiceClock.Moment) -> Double {
        let end = moment.monotonic + Self.left(expiry, at: moment)
        return min(hasPeriodic(before: end) ? nextPeriodic : .infinity, warns ? end - 20 : .infinity, end)
    }

    /// Shortly before the warning and behind it there are no periodic lines.
    private func hasPeriodic(before end: Double) -> Bool { nextPeriodic < end - 25 }

    /// Waits for something, and says meanwhile how long the token is valid.
    ///
    /// - Parameters:
    ///   - clock: The time.
    ///   - value: What is waited for; it is cancelled when the token expires.
    ///   - say: Sends the seconds that are left.
    /// - Returns: What was waited for; nil if the token has expired before.
    /// - Throws: What `value` and `say` throw, and `CancellationError`.
    package mutating func wait<Value: Sendable>(
        _ clock: ServiceClock, for value: @escaping @Sendable () async throws -> Value,
        saying say: (_ seconds: Int) async throws -> Void
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await value() }
            defer { group.cancelAll() }
            while true {
                let time = next(at: clock.moment)
                group.addTask {
                    try await clock.sleep(time)
                    return nil
                }
                if let value = try await group.next() ?? nil { return value }
                let now = clock.moment
                guard let seconds = due(at: now, random: clock.random()) else { continue }
                try await say(seconds)
                if isExpired(at: now) { return nil }
            }
        }
    }

    /// The seconds to send now, nil if it is too early.
    ///
    /// - Parameters:
    ///   - moment: The time.
    ///   - random: From 0 to 1, for the next period; drawn if something is due, since that is asked behind every line.
    /// - Returns: Whole seconds until the token expires; 0 means that the stream ends.
    package mutating func due(at moment: ServiceClock.Moment, random: @autoclosure () -> Double) -> Int? {
        let left = Self.left(expiry, at: moment)
        // The clock was set back behind the warning, which is to come again then.
        if left > 25 { warns = true }
        // What `next` has named, be it by a rounded millisecond, is due.
        let end = moment.monotonic + left + 0.01
        let isPeriodic = moment.monotonic >= nextPeriodic && hasPeriodic(before: end)
        guard isPeriodic || warns && left <= 20 || left <= 0 else { return nil }
        if left <= 20 { warns = false }
        nextPeriodic = moment.monotonic + Self.period(random())
        // A token may be valid for longer than an integer can say.
        return max(0, Int(exactly: left.rounded(.up)) ?? .max)
    }
}
