/// The moments of a stop, all counted from its beginning (backend 8.1; Backend/Start/SPEC.md).
///
/// Whoever runs backends kills one that is still there after half a minute: a stop takes two seconds less, whatever hangs.
package struct StopBudget: Sendable, Hashable {
    /// Until when the backend says that it leaves, and still takes what comes.
    package let leavingEnd: ContinuousClock.Instant
    /// Until when requests in work may end by themselves.
    package let requestsEnd: ContinuousClock.Instant
    /// Until when statements may end that were cancelled, and transactions be rolled back; then their connections are closed.
    package let connectionsEnd: ContinuousClock.Instant
    /// When everything is over: a program that is still there then ends all the same.
    package let end: ContinuousClock.Instant

    /// Makes the budget of a stop.
    ///
    /// - Parameters:
    ///   - configuration: the times.
    ///   - now: when it begins.
    package init(_ configuration: BackendConfiguration, from now: ContinuousClock.Instant) {
        leavingEnd = now + configuration.drainDelay
        // Whoever says for longer that it leaves has no time for requests, and none less than that.
        requestsEnd = max(leavingEnd, now + configuration.grace)
        connectionsEnd = requestsEnd + configuration.closing * 3 / 4
        end = requestsEnd + configuration.closing
    }
}
