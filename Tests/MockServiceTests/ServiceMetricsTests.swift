import PowerSyncPostgresSource
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import Testing

/// What Prometheus reads (service 10.3).
struct ServiceMetricsTests {
    /// The value of a metric at a time in seconds since 2000.
    private func value(_ name: String, _ metrics: ServiceMetrics, at seconds: Double) -> String? {
        let lines = metrics.text(ServiceMetrics.Gauges(), now: 946_684_800 + seconds).split(separator: "\n")
        return lines.first { $0.hasPrefix("powersync_\(name) ") }?.split(separator: " ").last.map(String.init)
    }

    private func begin(_ seconds: Int64) -> StreamDecoder.Notes {
        var notes = StreamDecoder.Notes()
        notes.bytes = 1
        notes.begun = [1]
        notes.commitTime = seconds * 1_000_000
        return notes
    }

    /// A dashboard of the real service finds each of them.
    @Test func everyMetricOfTheRealServiceIsThere() {
        let metrics = ServiceMetrics()
        for name in [
            "data_synced_bytes_total", "data_sent_bytes_total", "operations_synced_total",
            "concurrent_connections", "data_replicated_bytes_total", "rows_replicated_total",
            "transactions_replicated_total", "chunks_replicated_total", "replication_lag_seconds",
            "replication_storage_size_bytes", "operation_storage_size_bytes", "parameter_storage_size_bytes",
        ] {
            #expect(value(name, metrics, at: 0) == "0", "\(name)")
        }
    }

    /// Two replicate while one configuration takes the other's place.
    @Test func whatOneLinkHasWrittenSaysNothingOfTheOther() {
        let metrics = ServiceMetrics()
        #expect(value("replication_lag_seconds", metrics, at: 100) == "0")
        metrics.count { $0.note(begin(90), of: "former") }
        metrics.count { $0.note(begin(95), of: "new") }
        #expect(value("replication_lag_seconds", metrics, at: 100) == "10")
        // A piece of a transaction ends nothing.
        var outcome = WriteOutcome()
        outcome.batches = 1
        outcome.changes = 7
        metrics.count { $0.note(outcome, of: "former") }
        outcome.committed = LSN.zero
        metrics.count { $0.note(outcome, of: "new") }
        #expect(value("replication_lag_seconds", metrics, at: 100) == "10")
        metrics.count { $0.isUpToDate("former") }
        #expect(value("replication_lag_seconds", metrics, at: 100) == "0")
        #expect(value("data_replicated_bytes_total", metrics, at: 100) == "2")
        #expect(value("chunks_replicated_total", metrics, at: 100) == "2")
        #expect(value("rows_replicated_total", metrics, at: 100) == "14")
    }
}
