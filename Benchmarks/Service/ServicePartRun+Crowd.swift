import PowerSyncPostgres
import PowerSyncWire

extension ServicePartRun {
    // MARK: Connecting

    /// Lets many clients come at once, in turn with a server that sends the same from memory: all with one bucket, then
    /// each with its own.
    func connects() async throws -> [BenchmarkReport.Row] {
        let shared = try await connects(
            to: .items(sizes.rowsOfClient), "one shared bucket", users: { _ in "u1" })
        let own = try await connects(
            to: .owned(users: sizes.clients, rows: sizes.rowsOfClient), "own rows of each",
            users: { "u\($0)" })
        return [shared, own]
    }

    private func connects(
        to tables: ServiceTables, _ what: String, users: @escaping @Sendable (Int) -> String
    ) async throws -> BenchmarkReport.Row {
        try await world.with(tables) { source in
            let (clients, rows) = (sizes.clients, sizes.rowsOfClient)
            let service = try await source.start()
            let first = try await world.firstStream(of: service, user: users(0), operations: rows)
            world.reader.close([first])
            let times = try await world.canned(service, user: users(0), operations: rows) { _, port in
                var times = MeasuredPairs(.seconds)
                for pair in 1...pairs {
                    let ours = try await connect(to: service.port, users)
                    let limit = try await connect(to: port, users)
                    times.add(ours, limit: limit)
                    progress(pair, "\(what): \(times.last)")
                }
                return times
            }
            return times.row("\(clients) clients connect, \(rows) rows each, \(what)", goal: "≤ 2 ×")
        }
    }

    /// Returns the seconds until all clients have their first sync; their connections are closed then.
    private func connect(to port: Int, _ users: (Int) -> String) async throws -> Double {
        let start = ContinuousClock.now
        let streams = crowd(at: port, users)
        defer { world.reader.close(streams) }
        try await world.complete(streams, operations: sizes.rowsOfClient)
        guard let last = streams.compactMap(\.progress.complete).max() else { return 0 }
        return (last - start) / .seconds(1)
    }

    /// Opens a stream for each client.
    func crowd(
        at port: Int, _ users: (Int) -> String = { _ in "u1" }, acceptsGzip: Bool = false
    ) -> [ReadStream] {
        world.reader.open(
            (0..<sizes.clients).map { number in
                StreamRequest(
                    port: port, user: users(number), client: "client-\(number)", acceptsGzip: acceptsGzip)
            })
    }

    // MARK: One change for all

    /// Commits one row after the other, each until all of many clients have it, in turn with a server that sends lines
    /// from memory to as many.
    func fanout() async throws -> [BenchmarkReport.Row] {
        let rows = sizes.rowsOfClient
        return try await world.with(.items(rows)) { source in
            let service = try await source.start()
            let first = try await world.firstStream(of: service, operations: rows)
            world.reader.close([first])
            return try await world.canned(service, operations: rows) { canned, port in
                let ours = crowd(at: service.port)
                try await world.complete(ours, operations: rows)
                let others = crowd(at: port)
                try await world.complete(others, operations: rows)
                var (medians, tails) = (MeasuredPairs(.seconds), MeasuredPairs(.seconds))
                for pair in 1...pairs {
                    let seconds = try await source.connected { try await commits(pair, $0, ours) }
                    let limits = try await pushes(pair, canned, others)
                    medians.add(MeasuredPairs.median(seconds), limit: MeasuredPairs.median(limits))
                    tails.add(
                        MeasuredPairs.quantile(0.99, of: seconds),
                        limit: MeasuredPairs.quantile(0.99, of: limits))
                    progress(pair, "median \(medians.last); p99 \(tails.last)")
                }
                world.reader.close(ours + others)
                let what = "one change to \(sizes.clients) clients, beside a canned server"
                return [
                    medians.row("\(what): median", goal: "≤ 2.5 ×"),
                    tails.row("\(what): p99", goal: "≤ 2.5 ×"),
                ]
            }
        }
    }

    /// How long nothing happens between two changes.
    private static let pause = Duration.milliseconds(300)

    /// Returns the seconds from each commit's answer to the line at each client.
    private func commits(
        _ pair: Int, _ connection: PostgresConnection, _ streams: [ReadStream]
    ) async throws -> [Double] {
        try await changes(pair, streams) { id in
            try await connection.query("INSERT INTO items(id, name) VALUES($1, 'x')", [id])
            return .now
        }
    }

    /// Returns the seconds from each push to the line at each client.
    private func pushes(
        _ pair: Int, _ canned: CannedService, _ streams: [ReadStream]
    ) async throws -> [Double] {
        try await changes(pair, streams) { id in
            let lines = Self.lines(id)
            let start = ContinuousClock.now
            canned.push(lines)
            return start
        }
    }

    private func changes(
        _ pair: Int, _ streams: [ReadStream], _ make: (String) async throws -> ContinuousClock.Instant
    ) async throws -> [Double] {
        var times: [Double] = []
        for number in 1...sizes.changes {
            let id = "fanout-\(pair)-\(number)"
            for stream in streams { stream.expect(id) }
            let start = try await make(id)
            times += try await world.arrivals(at: streams).map { ($0 - start) / .seconds(1) }
            try await Phase.pause(Self.pause)
        }
        return times
    }

    /// The lines that a service sends for one row more.
    static func lines(_ id: String) -> [UInt8] {
        let bucket = "1#all|0[]"
        let operation = Operation(
            id: 1, kind: .put, objectType: "items", objectID: id,
            subkey: "117ab485-4b42-58a2-ab32-0053a22c3423", checksum: Checksum(1),
            data: #"{"id":"\#(id)","name":"x","a":null,"b":null,"n":null,"x":null}"#)
        let diff = CheckpointDiff(
            lastOpID: 1,
            updatedBuckets: [
                BucketChecksum(
                    bucket: bucket, checksum: Checksum(1), priority: 3, count: 1,
                    subscriptions: [.defaultStream(0)])
            ], removedBuckets: [])
        let lines: [SyncLine] = [
            .checkpointDiff(diff), .data(DataLine(bucket: bucket, operations: OperationList([operation]))),
            .checkpointComplete(lastOpID: 1),
        ]
        return lines.flatMap { $0.encoded() + [UInt8(ascii: "\n")] }
    }
}
