import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension ServicePartRun {
    // MARK: One large transaction

    /// Inserts many rows at once, each time until a client has the last.
    func bulk() async throws -> [BenchmarkReport.Row] {
        let count = sizes.bulkRows
        var times = MeasuredPairs(.seconds)
        try await world.with(.items(sizes.rows)) { source in
            let service = try await source.start()
            let stream = try await world.firstStream(of: service, operations: sizes.rows)
            try await source.connected { connection in
                for pair in 1...pairs {
                    stream.expect("bulk-\(pair)-\(count)")
                    try await connection.query(
                        """
                        INSERT INTO items SELECT 'bulk-\(pair)-' || g, 'row ' || g, md5(g::text) || md5((g + 1)::text),
                            repeat(md5(g::text), 4), g, g * 1.5 FROM generate_series(1, \(count)) g
                        """, until: .now + ServiceSource.patience)
                    let committed = ContinuousClock.now
                    let arrival = try await world.arrivals(at: [stream])[0]
                    times.add((arrival - committed) / .seconds(1))
                    progress(pair, times.last)
                }
            }
            try await end([stream], source)
        }
        return [times.row("one transaction of \(count) rows: at a client after its commit", goal: "≤ 2.0 s")]
    }

    // MARK: Many small transactions

    /// Lets psql insert rows one by one beside a service that streams them to a client, each time in turn with the same
    /// beside pg_recvlogical.
    func singles() async throws -> [BenchmarkReport.Row] {
        let count = sizes.singles
        var behind = MeasuredPairs(.seconds)
        var rates = MeasuredPairs(.perSecond("tx"))
        try await world.with(.items(sizes.rows)) { source in
            try await world.with(.items(sizes.rows)) { other in
                for pair in 1...pairs {
                    let service = try await source.start()
                    let stream = try await world.firstStream(of: service, operations: nil)
                    stream.expect(Self.id(pair, count))
                    let ours = try await write(pair, to: source)
                    let arrival = try await world.arrivals(at: [stream])[0]
                    world.reader.close([stream])
                    // Its state stays: the next round begins without a snapshot.
                    try await source.stop(keepingState: true)
                    let limit = try await received(from: other) { try await write(pair, to: other) }
                    behind.add(max(0, (arrival - ours.end) / .seconds(1)))
                    rates.add(Double(count) / ours.seconds, limit: Double(count) / limit.seconds)
                    progress(pair, "\(behind.last) behind, \(rates.last)")
                }
                try await source.dropSlots()
            }
        }
        return [
            behind.row("\(count) single-row transactions: at a client after the last", goal: "≤ 0.3 s"),
            rates.row("their writer, beside pg_recvlogical", goal: "≥ 0.8 ×"),
        ]
    }

    /// What the writer took.
    struct Writing: Sendable {
        let seconds: Double
        let end: ContinuousClock.Instant
    }

    /// The id of a row that `write` inserts.
    static func id(_ pair: Int, _ number: Int) -> String { "single-\(pair)-\(number)" }

    /// Inserts rows with one psql, whose commits wait for no disk; in a project if items are of one.
    func write(_ pair: Int, to source: ServiceSource, project: String? = nil) async throws -> Writing {
        let text = String(repeating: "x", count: 100)
        let (column, value) = project.map { (", project_id", ", '\($0)'") } ?? ("", "")
        let lines = (1...sizes.singles).map { number in
            "INSERT INTO items(id, name, a, n\(column)) "
                + "VALUES('\(Self.id(pair, number))', 'row \(number)', '\(text)', \(number)\(value));\n"
        }
        let file = world.postgres.folder + "/singles.sql"
        try PrivateFile.write(lines.joined(), to: file)
        let psql = try await world.postgres.program("psql")
        let start = ContinuousClock.now
        let result = try await ChildProcess.run(
            psql,
            [
                "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "SET synchronous_commit = off", "-f", file,
                source.uri,
            ], timeout: ServiceSource.patience)
        let end = ContinuousClock.now
        guard result.status == .exited(0) else {
            throw BenchmarkError("psql failed: \(result.error.split(separator: "\n").first ?? "")")
        }
        return Writing(seconds: (end - start) / .seconds(1), end: end)
    }

    /// Lets pg_recvlogical read the log of a database while `body` runs.
    private func received<Value: Sendable>(
        from source: ServiceSource, while body: () async throws -> Value
    ) async throws -> Value {
        // Without a loop it ends with the server, and so with us, however we end.
        let receiver = try ChildProcess.spawn(
            try await world.postgres.program("pg_recvlogical"),
            [
                "--dbname", source.uri, "--slot", "bench_limit", "--plugin", "pgoutput", "--create-slot",
                "--start", "--no-loop", "--option", "proto_version=1", "--option",
                "publication_names=powersync", "--file", "/dev/null",
            ], ownSession: true)
        do {
            try await source.connected { connection in
                try await Deadline.wait(.seconds(60), for: "pg_recvlogical to stream") {
                    () async throws -> Bool? in
                    if receiver.hasEnded { throw BenchmarkError("pg_recvlogical has ended by itself") }
                    let active = try await connection.query(
                        """
                        SELECT 1 FROM pg_replication_slots
                        WHERE database = current_database() AND slot_name = 'bench_limit' AND active
                        """)
                    return active.rowCount > 0 ? true : nil
                }
            }
            let value = try await body()
            await Self.end(receiver)
            try await source.dropSlots()
            return value
        } catch {
            await Self.end(receiver)
            throw error
        }
    }

    private static func end(_ receiver: ChildProcess) async {
        // It has nothing to finish, and its walsender sees the end of the connection.
        receiver.signal(SIGKILL)
        _ = await receiver.wait()
    }
}
