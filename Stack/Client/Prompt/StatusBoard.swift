import PowerSync
import PowerSyncSystem

/// What a prompt knows of syncing, kept for all who find something out, and the lines that tell of it.
final class StatusBoard: Sendable {
    private struct State {
        var status = PromptStatus()
        /// Whether somebody shows a status, and whether there is a newer one.
        var isShowing = false
        var isOutdated = false
    }

    /// How many lines wait to be shown; beyond that the oldest go.
    private static let bufferLimit = 100

    /// The lines, in their order.
    let news: AsyncStream<String>

    private let state = Lock(State())
    private let continuation: AsyncStream<String>.Continuation
    private let retry: Double
    /// Called with the newest status after a change, by one task at a time.
    private let isChanged: @Sendable (PromptStatus) -> Void

    /// Knows nothing yet.
    ///
    /// - Parameters:
    ///   - retry: the wait after an error, in seconds.
    ///   - isChanged: shows a new status; must be quick.
    init(retry: Double, isChanged: @escaping @Sendable (PromptStatus) -> Void) {
        self.retry = retry
        self.isChanged = isChanged
        (news, continuation) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
    }

    deinit { continuation.finish() }

    /// What is known.
    var current: PromptStatus { state.withLock { $0.status } }

    /// Changes what is known, and tells what is new.
    func change(_ change: (inout PromptStatus) -> Void) {
        let mustShow = state.withLock { state in
            let old = state.status
            change(&state.status)
            guard state.status != old else { return false }
            for line in state.status.news(since: old, retry: retry) { continuation.yield(line) }
            state.isOutdated = true
            defer { state.isShowing = true }
            return !state.isShowing
        }
        guard mustShow else { return }
        while let status = takeOutdated() { isChanged(status) }
    }

    /// Returns the newest status unless it has been shown; then nobody shows any more.
    private func takeOutdated() -> PromptStatus? {
        state.withLock { state in
            state.isShowing = state.isOutdated
            defer { state.isOutdated = false }
            return state.isOutdated ? state.status : nil
        }
    }

    /// Adds a line that is no change of the status.
    func tell(_ line: String) { continuation.yield(line) }
}

/// Log lines of the database among the news.
///
/// What syncing logs is left out: it shows in the status.
struct NewsLogWriter: LogWriterProtocol {
    /// The tag of the lines of syncing.
    private static let syncTag = "StreamingSyncClient"

    let tell: @Sendable (String) -> Void

    func log(severity: LogSeverity, message: String, tag: String?) {
        if tag != Self.syncTag { tell(DisplayText.of("\(severity.stringValue.lowercased()): \(message)")) }
    }
}
