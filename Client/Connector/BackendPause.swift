import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem

/// Keeps requests back for as long as a backend asks for that (`Retry-After`: RFC 9110 10.2.3; backend 1.9).
final class BackendPause: Sendable {
    /// The longest pause that is kept.
    static let longest = Duration.seconds(60)

    private let environment: SyncEnvironment
    /// When it is over, as `SyncEnvironment.uptime` tells.
    private let end = Lock<Duration?>(nil)

    /// Makes one that keeps nothing back.
    init(environment: SyncEnvironment) { self.environment = environment }

    /// Waits until the pause is over.
    ///
    /// - Throws: `CancellationError` at once when the task is cancelled.
    func wait() async throws {
        while let end = end.withLock({ $0 }) {
            let left = end - environment.uptime()
            guard left > .zero else { return }
            try await environment.sleep(left)
        }
    }

    /// Begins a pause if an answer asks for one.
    ///
    /// - Parameter response: the answer; only with the statuses 429 and 503 it can ask.
    func heed(_ response: HTTPClientResponse) {
        guard response.status == 429 || response.status == 503,
            let text = response.fields["retry-after"],
            let delay = Self.delay(text, now: environment.now())
        else { return }
        begin(delay)
    }

    /// Begins a pause; one that is longer stays.
    ///
    /// - Parameter delay: how long it is; cut to ``longest``.
    func begin(_ delay: Duration) {
        let end = environment.uptime() + min(delay, Self.longest)
        self.end.withLock { $0 = max($0 ?? end, end) }
    }

    /// Reads the value of `Retry-After`: seconds, or a date.
    ///
    /// - Parameters:
    ///   - text: the value.
    ///   - now: microseconds since 1970.
    /// - Returns: how long to wait, nothing or less for a date of the past; nil for any other text.
    static func delay(_ text: String, now: Int64) -> Duration? {
        if let seconds = Int(text) { return seconds >= 0 ? .seconds(seconds) : nil }
        let date = HTTPDate.seconds(text, now: Int(now / 1_000_000))
        return date.map { Duration.seconds($0) - Duration.microseconds(now) }
    }
}
