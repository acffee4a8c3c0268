import PowerSyncCommandLine
import PowerSyncSystem

/// Tells the warnings of rows of one replicator.
package final class RowWarningLog: Sendable {
    private let log: Log
    private let warnings = Lock(RepeatedWarnings())

    /// Makes a log that has told nothing yet.
    package init(_ log: Log) { self.log = log }

    /// Takes warnings and tells what is due.
    package func take(_ new: RowWarnings) { tell(warnings.withLock { $0.take(new, at: .now) }) }

    /// Tells what is due by now, at the end of something everything.
    package func tellDue(isEnd: Bool = false) { tell(warnings.withLock { $0.due(at: .now, isEnd: isEnd) }) }

    private func tell(_ lines: [RepeatedWarnings.Line]) {
        for line in lines {
            log.warning(line.text, ["rows": line.isRepeated ? "\(line.rows) more" : "\(line.rows)"])
        }
    }
}
