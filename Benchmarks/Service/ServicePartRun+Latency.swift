import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

extension ServicePartRun {
    /// How long nothing happens between two commits.
    private static let pause = Duration.milliseconds(20)

    // MARK: Commit to line

    /// Commits one row after the other, each until a client has it, in turn with a program in C that replicates, syncs
    /// and forwards.
    func latency() async throws -> [BenchmarkReport.Row] {
        var medians = MeasuredPairs(.seconds, comparison: .difference)
        var tails = MeasuredPairs(.seconds)
        try await world.with(.items(sizes.rows)) { source in
            try await world.with(.items(sizes.rows)) { other in
                for pair in 1...pairs {
                    let service = try await source.start()
                    let stream = try await world.firstStream(of: service, operations: nil)
                    let ours = try await commitToLine(pair, source, stream)
                    world.reader.close([stream])
                    // Its state stays: the next round begins without a snapshot.
                    try await source.stop(keepingState: true)
                    let limit = try await forwarded(pair, other)
                    medians.add(MeasuredPairs.median(ours), limit: MeasuredPairs.median(limit))
                    tails.add(
                        MeasuredPairs.quantile(0.99, of: ours),
                        limit: MeasuredPairs.quantile(0.99, of: limit))
                    progress(pair, "median \(medians.last); p99 \(tails.last)")
                }
                try await source.dropSlots()
            }
        }
        let what = "commit to line, beside a forwarder in C"
        return [
            medians.row("\(what): median of \(sizes.commits)", goal: "≤ + 1 ms"),
            tails.row("\(what): p99", goal: "≤ 1.5 ×"),
        ]
    }

    /// Returns the seconds of each commit from its answer to the line at a client of the program in C.
    private func forwarded(_ pair: Int, _ source: ServiceSource) async throws -> [Double] {
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        return try await LimitThread.forward(source.uri, at: folder.path + "/limit.sqlite") { port in
            let stream = world.reader.open(StreamRequest(port: port))
            defer { world.reader.close([stream]) }
            try await world.complete([stream], operations: 0)
            return try await commitToLine(pair, source, stream)
        }
    }

    /// Returns the seconds of each commit from its answer to the line; less than 0 for a line that came first.
    private func commitToLine(
        _ pair: Int, _ source: ServiceSource, _ stream: ReadStream
    ) async throws -> [Double] {
        try await source.connected { connection in
            var times: [Double] = []
            for number in 1...sizes.commits {
                let id = "latency-\(pair)-\(number)"
                stream.expect(id)
                try await connection.query("INSERT INTO items(id, name) VALUES($1, 'x')", [id])
                let committed = ContinuousClock.now
                let arrival = try await world.arrivals(at: [stream])[0]
                times.append((arrival - committed) / .seconds(1))
                try await Phase.pause(Self.pause)
            }
            return times
        }
    }

    // MARK: Write checkpoints

    /// Asks for one write checkpoint after the other, each until the client's stream has it.
    func writeCheckpoint() async throws -> [BenchmarkReport.Row] {
        var medians = MeasuredPairs(.seconds)
        try await world.with(.items(sizes.rows)) { source in
            let service = try await source.start()
            let stream = try await world.firstStream(of: service, client: "gate", operations: sizes.rows)
            let client = try HTTPClient()
            defer { client.close() }
            for pair in 1...pairs {
                var times: [Double] = []
                for _ in 1...sizes.writeCheckpoints {
                    times.append(try await requestToLine(service, client, stream))
                }
                medians.add(MeasuredPairs.median(times))
                progress(pair, medians.last)
            }
            try await end([stream], source)
        }
        return [
            medians.row(
                "write checkpoint, request to line: median of \(sizes.writeCheckpoints)", goal: "≤ 3 ms")
        ]
    }

    private func requestToLine(
        _ service: MeasuredService, _ client: HTTPClient, _ stream: ReadStream
    ) async throws -> Double {
        let token = try StreamToken.make(stream.request.user)
        let url = "http://127.0.0.1:\(service.port)/write-checkpoint2.json?client_id=\(stream.request.client)"
        let start = ContinuousClock.now
        let answer = try await client.send(
            HTTPClientRequest(url: url, fields: ["authorization": "Token \(token)"]))
        guard answer.status == 200,
            let text = try JSON.parse(answer.body)["data"]?["write_checkpoint"]?.stringValue,
            let id = Int64(text)
        else { throw BenchmarkError("a write checkpoint was answered with the status \(answer.status)") }
        let arrival = try await Deadline.wait(
            .seconds(60), pause: .milliseconds(1), for: "write checkpoint \(id)"
        ) { stream.arrival(ofWriteCheckpoint: id) }
        return (arrival - start) / .seconds(1)
    }
}
