import PowerSyncSystem

/// By when connections must be out of use, once somebody has said so: nothing is waited for beyond.
///
/// What a call has left behind is put in order as long as there is time; then the connection is closed, and the server rolls
/// back.
package final class ClosingTime: Sendable {
    private let end = Lock<ContinuousClock.Instant?>(nil)

    /// Makes a time that nobody has said yet.
    package init() {}

    /// Says by when.
    package func set(_ end: ContinuousClock.Instant) { self.end.withLock { $0 = end } }

    /// Returns a moment, or the closing time if that is before.
    package func limit(_ moment: ContinuousClock.Instant) -> ContinuousClock.Instant {
        end.withLock { $0.map { min($0, moment) } ?? moment }
    }
}
