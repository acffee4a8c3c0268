#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A checkpoint that the service was asked for, and that includes everything written to it before.
///
/// Made by ``PowerSyncDatabaseProtocol/requestCheckpoint()``. It holds when the connection is lost and made again, and is
/// worth nothing after `disconnectAndClear`.
public protocol CheckpointRequest: Sendable {
    /// Whether the checkpoint, or a newer one, was applied here.
    var hasSynced: Bool { get }

    /// Waits until the checkpoint, or a newer one, is applied here; returns at once if it is.
    ///
    /// Throws ``CheckpointWaitError``, and `CancellationError` when the task is cancelled.
    func waitForSync() async throws

    /// Waits as ``waitForSync()``, but not longer than a time.
    ///
    /// - Parameter timeout: the time in seconds; 0 or less only looks.
    /// - Throws: ``CheckpointWaitError``, `CancellationError`.
    func waitForSync(timeout: TimeInterval) async throws
}

/// A request of this process.
final class RequestedCheckpoint: CheckpointRequest {
    private let number: Int
    private let progress: SessionProgress
    private let environment: SyncEnvironment

    init(_ number: Int, in progress: SessionProgress, environment: SyncEnvironment) {
        self.number = number
        self.progress = progress
        self.environment = environment
    }

    deinit { progress.state.change { $0.requests[number] = nil } }

    var hasSynced: Bool { progress.state.current.requests[number]?.isApplied == true }

    func waitForSync() async throws { try await progress.waitForSync(number) }

    func waitForSync(timeout: TimeInterval) async throws {
        try await WaitLimit(timeout, late: CheckpointWaitError.timeout, sleep: environment.sleep)
            .wait(unless: { hasSynced }) { try await self.waitForSync() }
    }
}
