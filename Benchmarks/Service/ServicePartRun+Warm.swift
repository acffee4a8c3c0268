extension ServicePartRun {
    /// Reads a bucket that others have got before, each time beside a server that sends the same bytes from memory.
    func warm(rows: Int) async throws -> [BenchmarkReport.Row] {
        try await world.with(.items(rows)) { source in
            let service = try await source.start()
            let first = try await world.firstStream(of: service, operations: rows)
            world.reader.close([first])
            let rates = try await world.canned(service, operations: rows) { canned, port in
                progress("recorded \(canned.size) bytes")
                var rates = MeasuredPairs(.perSecond("ops"))
                for pair in 1...pairs {
                    let ours = try await firstSync(at: service.port, rows)
                    let limit = try await firstSync(at: port, rows)
                    rates.add(Double(rows) / ours, limit: Double(rows) / limit)
                    progress(pair, rates.last)
                }
                return rates
            }
            return [rates.row("warm bucket of \(rows) rows, beside a canned server", goal: "≥ 0.6 ×")]
        }
    }

    /// Returns the seconds from connecting to the first complete line.
    private func firstSync(at port: Int, _ rows: Int) async throws -> Double {
        let stream = world.reader.open(StreamRequest(port: port))
        defer { world.reader.close([stream]) }
        try await world.complete([stream], operations: rows)
        guard let time = stream.progress.firstSync else { throw BenchmarkError("a stream has no end") }
        return time / .seconds(1)
    }
}
