import PowerSync
import PowerSyncCommandLine
import PowerSyncSystem

/// The log of a client: lines for whoever reads standard error, of which nothing waits for that.
///
/// Syncing logs in its midst. So a thread writes the lines; what comes while too many are not written yet is dropped, and in
/// its place it is told how many lines that were.
final class LogOutput: LogWriterProtocol {
    /// How many bytes may wait before lines are dropped.
    private static let limit = 64 << 10
    /// How long is waited at the end for somebody who reads.
    private static let patience = Duration.seconds(1)
    /// Stands for the lines that were dropped: no line of a log is empty.
    private static let gap = ""

    private let output: AnswerOutput
    /// How many lines were dropped since the last gap that was told.
    private let dropped: Lock<Int>

    /// Makes a log with nothing in it.
    ///
    /// - Parameter write: writes a line and its end; may block.
    init(_ write: @escaping @Sendable (String) -> Void) {
        let dropped = Lock(0)
        self.dropped = dropped
        output = AnswerOutput { line in
            guard line == Self.gap else { return write(line) }
            let count = dropped.withLock { count in
                defer { count = 0 }
                return count
            }
            let reason = "\(count) lines of the log were dropped, since nobody read those before them"
            write(PrintLogWriter.line(severity: .warning, message: reason, tag: "Client"))
        }
    }

    /// Makes a log on standard error, which is written at the end of a session if anybody reads it.
    static func onStandardError(_ session: Session) -> LogOutput {
        let output = LogOutput { StandardError.print($0) }
        session.onEnd { await output.finish() }
        return output
    }

    /// Adds a line, or drops it; never waits.
    func log(severity: LogSeverity, message: String, tag: String?) {
        let added = dropped.withLock { dropped -> String? in
            if dropped == 0, output.unwritten <= Self.limit {
                return PrintLogWriter.line(severity: severity, message: message, tag: tag)
            }
            dropped += 1
            return dropped == 1 ? Self.gap : nil
        }
        if let added { output.put(added) }
    }

    /// Waits until everything is written, for a short time at most; not at all in a task that is cancelled.
    func finish(within patience: Duration = LogOutput.patience) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.output.flush() }
            // The end of the task is the end of the wait, too.
            group.addTask { _ = try? await ContinuousClock().sleep(for: patience) }
            _ = await group.next()
            group.cancelAll()
        }
    }
}
