import PowerSyncSystem

/// Sends log lines of at least a minimum severity to a list of writers.
public final class DefaultLogger: LoggerProtocol, @unchecked Sendable {
    // Safe because the only stored property is a lock around values.
    private let state: Lock<State>

    private struct State {
        var minSeverity: LogSeverity
        var writers: [any LogWriterProtocol]
    }

    /// Creates a logger.
    ///
    /// - Parameters:
    ///   - minSeverity: the least severity that is written.
    ///   - writers: the destinations; nil means one ``PrintLogWriter``.
    public init(minSeverity: LogSeverity = .debug, writers: [any LogWriterProtocol]? = nil) {
        state = Lock(State(minSeverity: minSeverity, writers: writers ?? [PrintLogWriter()]))
    }

    /// Replaces the destinations.
    public func setWriters(_ writers: [any LogWriterProtocol]) {
        state.withLock { $0.writers = writers }
    }

    /// Changes the least severity that is written.
    public func setMinSeverity(_ severity: LogSeverity) {
        state.withLock { $0.minSeverity = severity }
    }

    /// Logs a detail for whoever looks for a fault.
    public func debug(_ message: String, tag: String? = nil) {
        write(.debug, message, tag)
    }

    /// Logs something normal that is worth knowing.
    public func info(_ message: String, tag: String? = nil) {
        write(.info, message, tag)
    }

    /// Logs something odd that the SDK copes with.
    public func warning(_ message: String, tag: String? = nil) {
        write(.warning, message, tag)
    }

    /// Logs something that failed.
    public func error(_ message: String, tag: String? = nil) {
        write(.error, message, tag)
    }

    /// Logs something that must never happen.
    public func fault(_ message: String, tag: String? = nil) {
        write(.fault, message, tag)
    }

    private func write(_ severity: LogSeverity, _ message: String, _ tag: String?) {
        // The writers are copied under the lock and called outside it: they are the app's code.
        let writers = state.withLock { severity.rawValue >= $0.minSeverity.rawValue ? $0.writers : [] }
        for writer in writers { writer.log(severity: severity, message: message, tag: tag) }
    }
}
