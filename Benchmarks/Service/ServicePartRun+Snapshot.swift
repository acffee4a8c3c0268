import PowerSyncSystem

extension ServicePartRun {
    /// Starts services on an empty database; no program in C does that.
    func start() async throws -> [BenchmarkReport.Row] {
        var times = MeasuredPairs(.seconds)
        var memory = MeasuredPairs(.megabytes)
        try await world.with(.items(0)) { source in
            for pair in 1...pairs {
                let service = try await source.start()
                let stream = try await world.firstStream(of: service, operations: 0)
                times.add(try Self.ready(stream, service))
                if let resident = try service.memory(.resident) { memory.add(resident) }
                progress(pair, "\(times.last), \(memory.last)")
                try await end([stream], source)
            }
        }
        return [
            times.row("start to first checkpoint, empty database", goal: "≤ 0.3 s"),
            memory.row("resident then", goal: "≤ 20 MB"),
        ]
    }

    /// Starts services on a database with rows, each time beside the thread in C that stores the same.
    func snapshot(rows: Int) async throws -> [BenchmarkReport.Row] {
        var rates = MeasuredPairs(.perSecond("rows"))
        try await world.with(.items(rows)) { source in
            for pair in 1...pairs {
                let service = try await source.start()
                let stream = try await world.firstStream(of: service, operations: rows)
                let ours = try Self.ready(stream, service)
                try await end([stream], source)
                let limit = try await storedInC(source, rows)
                rates.add(Double(rows) / ours, limit: Double(rows) / limit)
                progress(pair, rates.last)
            }
        }
        return [
            rates.row("snapshot of \(rows) rows, with the start, beside COPY to SQLite in C", goal: "≥ 0.5 ×")
        ]
    }

    /// Returns the seconds from the start of a service to its first checkpoint.
    static func ready(_ stream: ReadStream, _ service: MeasuredService) throws -> Double {
        guard let checkpoint = stream.progress.checkpoint else {
            throw BenchmarkError("a stream has no checkpoint")
        }
        return (checkpoint - service.start) / .seconds(1)
    }

    /// Returns the seconds that the thread in C takes for all rows.
    private func storedInC(_ source: ServiceSource, _ rows: Int) async throws -> Double {
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        let (count, time) = try await LimitThread.store(source.uri, at: folder.path + "/limit.sqlite")
        guard count == rows else { throw BenchmarkError("the thread in C stored \(count) of \(rows) rows") }
        return time / .seconds(1)
    }

    /// Closes streams and stops the service with all that it keeps.
    func end(_ streams: [ReadStream], _ source: ServiceSource) async throws {
        world.reader.close(streams)
        try await source.stop()
    }
}
