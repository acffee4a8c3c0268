import PowerSyncPostgres
import PowerSyncStack

extension ServicePartRun {
    /// How long everything comes to rest before processor time is counted.
    private static let rest = Duration.seconds(1)

    /// Commits to a table that nobody syncs beside many streams that have nothing to do, in turn with none; counts the
    /// processor time of the service (Linux).
    func idle() async throws -> [BenchmarkReport.Row] {
        let (rows, commits) = (sizes.rowsOfClient, sizes.commitsOfOthers)
        var times = MeasuredPairs(.seconds)
        try await world.with(.itemsAndOthers(rows)) { source in
            let service = try await source.start()
            let first = try await world.firstStream(of: service, operations: rows)
            world.reader.close([first])
            for pair in 1...pairs {
                let limit = try await processorTime(of: service, source)
                let streams = crowd(at: service.port)
                try await world.complete(streams, operations: rows)
                let ours = try await processorTime(of: service, source)
                world.reader.close(streams)
                if let ours, let limit { times.add(ours, limit: limit) }
                progress(pair, times.last)
            }
        }
        return [
            times.row(
                "processor time, \(commits) commits of others: \(sizes.clients) idle streams, beside none",
                goal: "≤ 1.3 ×")
        ]
    }

    /// Returns the seconds of the service's processor time from the first commit until all are acknowledged.
    private func processorTime(of service: MeasuredService, _ source: ServiceSource) async throws -> Double? {
        try await Phase.pause(Self.rest)
        let before = service.processorTime
        try await source.connected { connection in
            for _ in 1...sizes.commitsOfOthers {
                try await connection.query("INSERT INTO others DEFAULT VALUES")
            }
            let end = try await connection.query("SELECT pg_current_wal_flush_lsn()").scalar
            try await Deadline.wait(.seconds(60), for: "the commits to be acknowledged") {
                () async throws -> Bool? in
                let answer = try await connection.query(
                    """
                    SELECT bool_and(confirmed_flush_lsn >= $1::pg_lsn) FROM pg_replication_slots
                    WHERE database = current_database()
                    """, [end])
                return answer.scalar == "t" ? true : nil
            }
        }
        guard let before, let after = service.processorTime else { return nil }
        return after - before
    }
}
