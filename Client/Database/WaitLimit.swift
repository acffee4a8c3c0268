#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The longest time of a wait, kept in the same way by all calls that have one (client-api 5.5).
///
/// A limit of nothing asks once and does not wait. What comes with the end of the time has come.
struct WaitLimit: Sendable {
    private let time: Duration
    /// What is thrown when the time is over.
    private let late: any Error
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - seconds: the time; 0, less or no number for whoever only asks.
    ///   - late: what is thrown when it is over.
    ///   - sleep: waits; throws `CancellationError`.
    init(
        _ seconds: TimeInterval, late: any Error,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await ContinuousClock().sleep(for: $0)
        }
    ) {
        time = Duration(waiting: seconds)
        self.late = late
        self.sleep = sleep
    }

    /// Waits for something, and gives up when the time is over.
    ///
    /// - Parameters:
    ///   - isSo: whether there is nothing to wait for; asked once, before.
    ///   - body: waits; must end when it is cancelled.
    /// - Throws: what they throw; the error of the limit; `CancellationError` when the caller is cancelled.
    func wait(
        unless isSo: () async throws -> Bool, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        if try await isSo() { return }
        guard time > .zero else { throw late }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body()
                return true
            }
            group.addTask { [sleep, time] in
                try await sleep(time)
                return false
            }
            defer { group.cancelAll() }
            if try await group.next() == true { return }
            group.cancelAll()
            do {
                if try await group.next() == true { return }
            } catch is CancellationError {
                // That of the body, unless the caller is cancelled, too.
                try Task.checkCancellation()
            }
            throw late
        }
    }
}
