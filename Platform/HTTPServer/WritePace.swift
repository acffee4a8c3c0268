/// Judges whether a client takes enough of what waits for it, one stretch of time after another.
struct WritePace {
    /// When the client must have taken enough.
    let end: ContinuousClock.Instant
    private let taken: Int
    private let stretch: Duration

    /// Begins when a client is first waited for.
    ///
    /// - Parameters:
    ///   - taken: How many bytes it has taken, counted from any moment.
    ///   - now: The time.
    ///   - stretch: The time in which it must take enough.
    init(taken: Int, now: ContinuousClock.Instant, within stretch: Duration) {
        self.taken = taken
        self.stretch = stretch
        end = now + stretch
    }

    /// Looks at a client that is still waited for.
    ///
    /// - Parameters:
    ///   - taken: How many bytes it has taken by now.
    ///   - now: The time.
    ///   - minimum: How many it must take in each stretch.
    /// - Returns: The stretch that it is in; nil if it has taken too few in the one that is over.
    func judged(taken: Int, now: ContinuousClock.Instant, minimum: Int) -> WritePace? {
        if now < end { return self }
        guard taken - self.taken >= minimum else { return nil }
        return WritePace(taken: taken, now: now, within: stretch)
    }
}
