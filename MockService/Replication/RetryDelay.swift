import PowerSyncPostgres

/// Decides how long to wait before replication is tried again (service 7.8).
struct RetryDelay {
    private var attempts = 0

    /// The wait after a failure: short at first, at most a second while the server is away, else at most 30
    /// seconds.
    mutating func next(after error: any Error, jitter: Double) -> Duration {
        attempts = min(attempts + 1, 10)
        let postgres = error as? PostgresError
        let isAway = postgres.map { $0.isConnectionLost || $0.code == .timedOut } ?? false
        let limit = isAway ? 1.0 : 30.0
        let delay = min(limit, 0.1 * Double(1 << (attempts - 1)))
        return .milliseconds(Int64(delay * (0.9 + 0.2 * jitter) * 1000))
    }

    /// Begins anew after success.
    mutating func reset() { attempts = 0 }
}
