import PowerSync
import PowerSyncSystem

/// What a prompt knows of syncing, kept for all who find something out, and the lines that tell of it.
final class StatusBoard: Sendable {
    /// How many lines wait to be shown; beyond that the oldest go.
    private static let bufferLimit = 100

    /// The lines, in their order.
    let news: AsyncStream<String>

    private let state = Lock(PromptStatus())
    private let continuation: AsyncStream<String>.Continuation
    private let retry: Double
    /// Called with the new status after each change.
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
    var current: PromptStatus { state.withLock { $0 } }

    /// Changes what is known, and tells what is new.
    func change(_ change: (inout PromptStatus) -> Void) {
        let (old, new) = state.withLock { state in
            let old = state
            change(&state)
            return (old, state)
        }
        guard new != old else { return }
        isChanged(new)
        for line in new.news(since: old, retry: retry) { continuation.yield(line) }
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
