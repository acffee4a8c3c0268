/// Where the SDK sends its log lines.
///
/// `tag` names the part that speaks, for example `PowerSyncDatabase` or `StreamingSyncClient`. Lines of the SDK hold
/// no tokens, row values or bound parameters; they may quote what the app's own errors say. Two warnings name
/// parameters of streams: that of a stream which the service cannot resolve, and that of buckets whose checksums do
/// not match. Lines about attachments name their ids and paths. What a ``SyncRequestLoggerConfiguration`` logs is the
/// app's choice, and may be every row.
///
/// Whatever logs waits for the method to return, syncing among it: one that may have to wait hands its line on.
public protocol LoggerProtocol: Sendable {
    /// Logs something normal that is worth knowing.
    func info(_ message: String, tag: String?)
    /// Logs something that failed.
    func error(_ message: String, tag: String?)
    /// Logs a detail for whoever looks for a fault.
    func debug(_ message: String, tag: String?)
    /// Logs something odd that the SDK copes with.
    func warning(_ message: String, tag: String?)
    /// Logs something that must never happen.
    func fault(_ message: String, tag: String?)
}

extension LoggerProtocol {
    /// Logs with a severity that is a value.
    func log(_ severity: LogSeverity, _ message: String, tag: String?) {
        switch severity {
        case .debug: debug(message, tag: tag)
        case .info: info(message, tag: tag)
        case .warning: warning(message, tag: tag)
        case .error: error(message, tag: tag)
        case .fault: fault(message, tag: tag)
        }
    }
}

/// One destination of a ``DefaultLogger``.
public protocol LogWriterProtocol: Sendable {
    /// Writes one line, at once or later; called only for lines that pass the logger's minimum severity.
    func log(severity: LogSeverity, message: String, tag: String?)
}
