/// Follows a stream of results, and begins anew when it fails.
struct PersistentWatch: Sendable {
    /// The wait after the first failure; it doubles with each failure in a row.
    static let firstPause = Duration.seconds(1)
    /// The longest wait.
    static let longestPause = Duration.seconds(60)

    /// What is watched, for the log.
    let name: String
    let environment: SyncEnvironment
    let logger: any LoggerProtocol
    let tag: String

    /// Takes elements until that is enough, the task is cancelled, or the stream ends without an error, as that of a
    /// closed database does.
    ///
    /// - Parameters:
    ///   - open: returns the stream.
    ///   - take: takes one element, and returns whether to go on; what it throws ends the stream, too.
    /// - Returns: whether it was enough.
    @discardableResult
    func follow<Element: Sendable>(
        _ open: @Sendable () async throws -> AsyncThrowingStream<Element, any Error>,
        take: @Sendable (Element) async throws -> Bool
    ) async -> Bool {
        var pause = Self.firstPause
        while !Task.isCancelled {
            do {
                for try await element in try await open() {
                    guard try await take(element) else { return true }
                    pause = Self.firstPause
                }
                return false
            } catch {
                // Nothing comes of a closed database any more.
                if Task.isCancelled || (error as? PowerSyncError)?.code == .closed { return false }
                logger.warning("Watching \(name) failed, and begins anew: \(error)", tag: tag)
            }
            do {
                try await environment.sleep(pause * RetryPolicy.spread(environment.random()))
            } catch {
                // Cancelled.
                return false
            }
            pause = min(pause * 2, Self.longestPause)
        }
        return false
    }
}
