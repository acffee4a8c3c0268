import PowerSyncSyncRules
import PowerSyncSystem

/// Counts what the service does, for Prometheus (service 10.3).
package final class ServiceMetrics: Sendable {
    /// What only grows.
    package struct Counters: Sendable {
        /// Bytes of lines before compression.
        var syncedBytes = 0
        /// Bytes of lines as they were sent.
        var sentBytes = 0
        /// Operations in lines.
        var syncedOperations = 0
        /// Bytes of messages of the replication stream.
        var replicatedBytes = 0
        /// Changes of rows that the configuration uses.
        var replicatedRows = 0
        /// Commits, also those of transactions without such a change.
        var replicatedTransactions = 0
        /// Batches that were written.
        var replicatedChunks = 0
        /// When the transactions were committed that are being replicated, in seconds since 1970; one for each link, of
        /// which there are two while one configuration takes the other's place.
        private(set) var replicatingSince: [String: Double] = [:]

        /// From 1970 to 2000, from where Postgres counts.
        private static let secondsTo2000 = 946_684_800.0

        /// Notes messages of the replication stream of a link.
        ///
        /// - Parameters:
        ///   - bytes: Their bytes.
        ///   - commits: How many of them are commits.
        ///   - commitTime: When the last transaction was committed that began among them, in microseconds since 2000; nil if
        ///     none did.
        ///   - link: Which one.
        package mutating func note(bytes: Int, commits: Int, commitTime: Int64?, of link: String) {
            replicatedBytes += bytes
            replicatedTransactions += commits
            guard let time = commitTime else { return }
            replicatingSince[link] = Double(time) / 1_000_000 + Self.secondsTo2000
        }

        /// Notes what a link has written.
        package mutating func note(_ outcome: WriteOutcome, of link: String) {
            replicatedChunks += outcome.batches
            replicatedRows += outcome.changes
            if outcome.committed != nil { isUpToDate(link) }
        }

        /// Notes that a link has nothing to write, or is over.
        package mutating func isUpToDate(_ link: String) { replicatingSince[link] = nil }
    }

    /// What is measured when somebody asks.
    package struct Gauges: Sendable {
        /// Open streams.
        package var connections = 0
        /// Open streams that have something to look at or to send.
        package var sessionsBehind = 0
        /// How often an open stream that had nothing to look at got something.
        package var sessionWakeups = 0
        /// The size of the state file.
        package var storedBytes: Int64 = 0

        /// Begins with zeros.
        package init() {}
    }

    private let counters = Lock(Counters())

    /// Begins with zeros.
    package init() {}

    /// Changes counters.
    package func count(_ change: (inout Counters) -> Void) { counters.withLock { change(&$0) } }

    /// The page for Prometheus, in its text format.
    ///
    /// - Parameters:
    ///   - gauges: What was measured now.
    ///   - now: Seconds since 1970.
    /// - Returns: Lines of names, kinds and values.
    package func text(_ gauges: Gauges, now: Double) -> String {
        let counters = counters.withLock { $0 }
        let lag = counters.replicatingSince.values.min().map { max(0, now - $0) } ?? 0
        let metrics: [(name: String, kind: String, help: String, value: String)] = [
            (
                "data_synced_bytes_total", "counter", "Bytes of lines to clients before compression",
                "\(counters.syncedBytes)"
            ),
            (
                "data_sent_bytes_total", "counter", "Bytes of lines to clients as sent",
                "\(counters.sentBytes)"
            ),
            ("operations_synced_total", "counter", "Operations to clients", "\(counters.syncedOperations)"),
            ("concurrent_connections", "gauge", "Open sync streams", "\(gauges.connections)"),
            (
                "sessions_behind", "gauge",
                "Open sync streams that have something to look at or to send",
                "\(gauges.sessionsBehind)"
            ),
            (
                "session_wakeups_total", "counter",
                "How often a sync stream with nothing to look at was told of a checkpoint",
                "\(gauges.sessionWakeups)"
            ),
            (
                "data_replicated_bytes_total", "counter",
                "Bytes of each replication stream: two while one configuration takes the other's place",
                "\(counters.replicatedBytes)"
            ),
            (
                "rows_replicated_total", "counter",
                "Changes of rows that the configuration uses, in each replication stream",
                "\(counters.replicatedRows)"
            ),
            (
                "transactions_replicated_total", "counter",
                "Commits, also without such rows, in each replication stream",
                "\(counters.replicatedTransactions)"
            ),
            ("chunks_replicated_total", "counter", "Batches written", "\(counters.replicatedChunks)"),
            (
                "replication_lag_seconds", "gauge", "Age of the oldest commit that is being replicated",
                NumberText.javaScript(lag)
            ),
            (
                "operation_storage_size_bytes", "gauge", "Size of the state file, which holds everything",
                "\(gauges.storedBytes)"
            ),
            (
                "replication_storage_size_bytes", "gauge", "None: held in operation_storage_size_bytes", "0"
            ),
            ("parameter_storage_size_bytes", "gauge", "None: held in operation_storage_size_bytes", "0"),
        ]
        return metrics.map { metric in
            let name = "powersync_\(metric.name)"
            return "# HELP \(name) \(metric.help).\n# TYPE \(name) \(metric.kind)\n\(name) \(metric.value)\n"
        }.joined()
    }
}
