import PowerSyncStack

/// What must be over in time.
enum Phase {
    /// Does something, and ends it with an error when it takes too long.
    ///
    /// - Parameters:
    ///   - name: what is done, in words that complete "waited 10 s for …".
    ///   - limit: how long it may take.
    ///   - body: does it; it is cancelled when the time is over, and waited for.
    /// - Returns: what `body` returns.
    /// - Throws: `StackError` with `.deadline`, or what `body` throws.
    static func run<Value: Sendable>(
        _ name: String, within limit: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await ContinuousClock().sleep(for: limit)
                throw StackError(.deadline, "waited \(limit.components.seconds) s for \(name)")
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    /// Lets time pass that is part of what is measured, or that lets everything come to rest before.
    static func pause(_ duration: Duration) async throws { try await ContinuousClock().sleep(for: duration) }
}
