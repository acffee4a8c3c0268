extension ServicePartRun {
    /// Looks for the most memory that a service has needed, each time with a new one.
    func memory() async throws -> [BenchmarkReport.Row] {
        let (rows, many, clients) = (sizes.rows, sizes.manyRows, sizes.clients)
        return [
            try await peak("a snapshot of \(rows) rows, one client", "≤ 80 MB", .items(rows)) { service in
                [try await world.firstStream(of: service, operations: rows)]
            },
            try await peak("\(many) rows, a second client warm", "≤ 120 MB", .items(many)) { service in
                let first = try await world.firstStream(of: service, operations: many)
                let second = world.reader.open(StreamRequest(port: service.port))
                try await world.complete([second], operations: many)
                return [first, second]
            },
            try await peak("\(clients) clients", "≤ 100 MB", .items(sizes.rowsOfClient)) {
                try await crowded($0, acceptsGzip: false)
            },
            try await peak("\(clients) clients with gzip", "≤ 200 MB", .items(sizes.rowsOfClient)) {
                try await crowded($0, acceptsGzip: true)
            },
        ]
    }

    private func peak(
        _ what: String, _ goal: String, _ tables: ServiceTables,
        _ use: (MeasuredService) async throws -> [ReadStream]
    ) async throws -> BenchmarkReport.Row {
        var peaks = MeasuredPairs(.megabytes)
        try await world.with(tables) { source in
            for pair in 1...pairs {
                let service = try await source.start()
                let streams = try await use(service)
                if let peak = try service.memory(.peak) { peaks.add(peak) }
                progress(pair, "\(what): \(peaks.last)")
                try await end(streams, source)
            }
        }
        return peaks.row("most memory: \(what)", goal: goal)
    }

    /// Opens a stream for each client, and waits until all have their first sync.
    private func crowded(_ service: MeasuredService, acceptsGzip: Bool) async throws -> [ReadStream] {
        let first = try await world.firstStream(of: service, operations: sizes.rowsOfClient)
        let streams = crowd(at: service.port, acceptsGzip: acceptsGzip)
        try await world.complete(streams, operations: sizes.rowsOfClient)
        return streams + [first]
    }
}
