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
    /// - Parameter timeout: as for ``waitForStatus(timeout:until:)``.
    /// - Throws: as ``waitForStatus(timeout:until:)``.
    public func waitForFirstSync(timeout: TimeInterval) async throws {
        try await waitForStatus(timeout: timeout) { $0.hasSynced == true }
    }

    /// Returns once the data of a priority was complete; at once if it was before.
    ///
    /// - Parameters:
    ///   - priority: the priority.
    ///   - timeout: as for ``waitForStatus(timeout:until:)``.
    /// - Throws: as ``waitForStatus(timeout:until:)``.
    public func waitForFirstSync(priority: BucketPriority, timeout: TimeInterval) async throws {
        try await waitForStatus(timeout: timeout) { $0.statusForPriority(priority).hasSynced == true }
    }

    /// Runs a callback with the writing connection, unless that is in use for too long.
    ///
    /// A database of another making cannot be asked whether it is free: without a time it has a moment for that.
    public func writeLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await LimitedLock(timeout > 0 ? timeout : LimitedLock.moment).run { begin in
            try await self.writeLock {
                try begin()
                return try callback($0)
            }
        }
    }

    /// Runs a callback with a reading connection, unless all are in use for too long.
    ///
    /// A database of another making cannot be asked whether one is free: without a time it has a moment for that.
    public func readLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await LimitedLock(timeout > 0 ? timeout : LimitedLock.moment).run { begin in
            try await self.readLock {
                try begin()
                return try callback($0)
            }
        }
    }

    /// Waits for something, and gives up when its time is over.
    ///
    /// - Parameters:
    ///   - timeout: the time in seconds; nil for no limit, 0 or less asks once.
    ///   - what: what is waited for, for the error.
    ///   - sleep: waits; throws `CancellationError`.
    ///   - isSo: whether there is nothing to wait for; asked once, before, where there is a limit.
    ///   - body: waits; must end when it is cancelled.
    /// - Throws: what they throw; `PowerSyncError` with the code `timedOut`.
    package func limited(
        to timeout: TimeInterval?, waitingFor what: String = "what was waited for",
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await ContinuousClock().sleep(for: $0)
        },
        unless isSo: () async throws -> Bool, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let timeout else { return try await body() }
        let late = PowerSyncError(.timedOut, detail: "\(what) has not come within \(timeout) seconds")
        try await WaitLimit(timeout, late: late, sleep: sleep).wait(unless: isSo, body)
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

    /// How long, in seconds, is waited for connections of others that are to be had at once or not at all: nobody can be
    /// asked whether they are free.
    static let moment: TimeInterval = 0.05

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

    /// What is thrown when its time is over.
    var late: PowerSyncError {
        PowerSyncError(
            .databaseBusy,
            timeout > 0 ? "The database was in use for \(timeout) seconds" : "The database is in use")
    }
}
