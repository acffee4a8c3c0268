import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Waits that end after a time.
extension PowerSyncDatabaseProtocol {
    /// Returns once all data was complete; at once if it was before.
    ///
    /// - Parameter timeout: the longest time in seconds.
    /// - Throws: `PowerSyncError` with the code `timedOut` when the time is over, with `closed` when the database is closed;
    ///   `CancellationError`.
    public func waitForFirstSync(timeout: TimeInterval) async throws {
        try await limited(to: timeout) { try await self.waitForFirstSync() }
    }

    /// Returns once the data of a priority was complete; at once if it was before.
    ///
    /// - Parameters:
    ///   - priority: the priority.
    ///   - timeout: the longest time in seconds.
    /// - Throws: as ``waitForFirstSync(timeout:)``.
    public func waitForFirstSync(priority: BucketPriority, timeout: TimeInterval) async throws {
        try await limited(to: timeout) { try await self.waitForFirstSync(priority: priority) }
    }

    /// Runs a callback with the writing connection as `writeLock(callback:)`, unless that is in use for too long.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the connection, in seconds; the callback itself may take any time.
    ///   - callback: uses the connection.
    /// - Returns: what the callback returns.
    /// - Throws: `PowerSyncError` with the code `databaseBusy` when the time is over, before the callback has begun; what the
    ///   callback throws; `CancellationError`.
    public func writeLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await LimitedLock(timeout).run { begin in
            try await self.writeLock {
                try begin()
                return try callback($0)
            }
        }
    }

    /// Runs a callback with a reading connection as `readLock(callback:)`, unless all are in use for too long.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for a connection, in seconds; the callback itself may take any time.
    ///   - callback: uses the connection.
    /// - Returns: what the callback returns.
    /// - Throws: as ``writeLock(timeout:callback:)``.
    public func readLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await LimitedLock(timeout).run { begin in
            try await self.readLock {
                try begin()
                return try callback($0)
            }
        }
    }

    /// Runs a body, and cancels it when its time is over.
    ///
    /// - Parameters:
    ///   - timeout: the time in seconds; nil for no limit.
    ///   - what: what is waited for, for the error.
    ///   - body: must end when it is cancelled.
    /// - Throws: what the body throws; `PowerSyncError` with the code `timedOut`.
    package func limited(
        to timeout: TimeInterval?, waitingFor what: String = "what was waited for",
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let timeout else { return try await body() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await ContinuousClock().sleep(for: Duration(waiting: timeout))
                throw PowerSyncError(.timedOut, detail: "\(what) has not come within \(timeout) seconds")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// The wait for a lock, which ends when its time is over, and not what was begun with it.
final class LimitedLock: Sendable {
    private enum Phase {
        case waiting
        case begun
        case over
    }

    /// A value on its way from the child that made it to the one task that asked for it.
    private struct Made<Value>: @unchecked Sendable {
        // Safe because the child that made it is over when it is taken.
        let value: Value
    }

    private let timeout: TimeInterval
    private let sleep: @Sendable (Duration) async throws -> Void
    private let phase = Lock(Phase.waiting)

    init(
        _ timeout: TimeInterval,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await ContinuousClock().sleep(for: $0)
        }
    ) {
        self.timeout = timeout
        self.sleep = sleep
    }

    /// Whether its time was over before it had begun.
    var isOver: Bool { phase.withLock { $0 == .over } }

    /// Runs a lock.
    ///
    /// - Parameter lock: waits for the connection, and calls its argument when it has it.
    /// - Returns: what it returns.
    /// - Throws: what it throws.
    func run<R>(
        _ lock: @escaping @Sendable (_ begin: @escaping @Sendable () throws -> Void) async throws -> R
    ) async throws -> R {
        try await withThrowingTaskGroup(of: Made<R>?.self) { group in
            group.addTask { Made(value: try await lock { try self.begin() }) }
            group.addTask {
                // Who does not sleep to the end is not needed any more.
                guard (try? await self.sleep(Duration(waiting: self.timeout))) != nil else { return nil }
                try self.end()
                return nil
            }
            defer { group.cancelAll() }
            while let made = try await group.next() {
                if let made { return made.value }
            }
            throw CancellationError()
        }
    }

    private func begin() throws {
        try phase.withLock { phase in
            if phase == .over { throw late }
            phase = .begun
        }
    }

    private func end() throws {
        try phase.withLock { phase in
            guard phase == .waiting else { return }
            phase = .over
            throw late
        }
    }

    private var late: PowerSyncError {
        PowerSyncError(.databaseBusy, "The database was in use for \(timeout) seconds")
    }
}
