import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// How fast something is pruned, batch by batch (backend 3.4, 3.5).
///
/// Between two batches it rests as long as the last one took: uploads have the greater part of the database. While that is
/// busy it waits where it is.
struct PruningPace: Sendable {
    /// A batch has no fewer rows than these.
    private static let least = 50
    /// How often in a row a batch may fail until the rest waits for the next hour: over five minutes.
    private static let failures = 12
    /// The time after which a batch is tried again; it doubles with each failure.
    private static let pauses = (first: Duration.milliseconds(500), longest: Duration.seconds(60))
    private static let tookTooLong = "57014"

    private let poller: Poller
    private let log: Log
    /// How many rows a batch has; one that takes too long is tried with half as many, and so are those behind it.
    private(set) var size: Int

    init(most size: Int, poller: Poller, log: Log) {
        self.size = size
        self.poller = poller
        self.log = log
    }

    /// Does a batch of `size` rows, again while the database is busy, and rests as long as it took.
    ///
    /// - Parameter batch: gets the most rows that it may have.
    /// - Returns: what it returns.
    /// - Throws: what it throws, `CancellationError`.
    mutating func run<Value>(_ batch: (Int) async throws -> Value) async throws -> Value {
        var failures = 0
        while true {
            let begun = ContinuousClock.now
            do {
                let value = try await batch(size)
                try await poller.sleep(until: .now + (.now - begun))
                return value
            } catch let error as PostgresError where failures < Self.failures && Self.passes(error) {
                if error.sqlstate == Self.tookTooLong { size = max(Self.least, size / 2) }
                log.debug("pruning waits", ["error": "\(error)", "pruning.batch": String(size)])
                let pause = Self.pauses.first * (1 << failures)
                failures += 1
                try await poller.sleep(until: .now + min(pause, Self.pauses.longest))
            }
        }
    }

    /// Whether a failure may be one of the moment; the pool is closed for good.
    private static func passes(_ error: PostgresError) -> Bool {
        if error.code == .closed { return false }
        if error.sqlstate == tookTooLong { return true }
        switch DatabaseVerdict(error).kind {
        case .retry, .unavailable: return true
        case .misconfigured, .drift, .rejected, .suspect, .bug: return false
        }
    }
}
