/// How long the client waits between two iterations, and which errors it shows.
struct RetryPolicy: Sendable {
    /// The longest wait.
    static let longest = Duration.seconds(300)
    /// The least time from a reconnect with fresh credentials until others are fetched ahead of their end.
    static let leastRefreshDistance = Duration.seconds(5)
    /// The wait that grows when the app has chosen a shorter one.
    static let leastAfterMismatches = Duration.seconds(1)

    /// The wait after an ordinary failure.
    let base: Duration
    private var mismatches = 0
    /// Whether a silent connection was replaced and nothing has come since.
    private var isReplaced = false

    init(base: Duration) { self.base = base }

    /// Notes that a checkpoint was applied.
    mutating func succeeded() { mismatches = 0 }

    /// Notes that the service said something.
    mutating func heard() { isReplaced = false }

    /// Notes that a connection was given up because it was silent; returns whether to try again at once.
    ///
    /// It was most likely dead for long, on a network that works again: a device that slept, a router that forgot the
    /// connection. If the next one is silent from its beginning, the service is.
    mutating func fellSilent() -> Bool {
        defer { isReplaced = true }
        return !isReplaced
    }

    /// Notes that data did not match its checksum; returns whether it is worth telling the app.
    ///
    /// Once is cured by downloading the bucket again. From the second time on the service and the client do not
    /// agree, and asking again at the full pace would download the same data for ever.
    mutating func mismatched() -> Bool {
        mismatches += 1
        return mismatches > 1
    }

    /// Returns the wait after an ordinary end; `random`, from 0 to 1, spreads clients by ±10 %.
    func delay(random: Double) -> Duration { base * Self.spread(random) }

    /// Returns the wait after data that did not match its checksum, the longer the more often in a row.
    func delayAfterMismatch(random: Double) -> Duration {
        // Twice nothing would be nothing.
        var delay = mismatches > 1 ? max(base, Self.leastAfterMismatches) : base
        for _ in 1..<max(mismatches, 1) where delay < Self.longest { delay *= 2 }
        // A longer delay that the app itself chose stays.
        return min(delay, max(Self.longest, base)) * Self.spread(random)
    }

    /// Returns by what to multiply a wait; `random`, from 0 to 1, spreads clients by ±10 %.
    static func spread(_ random: Double) -> Double { 0.9 + 0.2 * random }
}
