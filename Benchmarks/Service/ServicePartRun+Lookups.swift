import PowerSyncPostgres
import PowerSyncStack

extension ServicePartRun {
    /// How long everything comes to rest before memory is looked at.
    private static let rest = Duration.seconds(1)
    /// How long nothing happens between two commits.
    private static let pause = Duration.milliseconds(20)
    /// Users of the source that the memory of many is compared with.
    private static let fewUsers = 10

    /// Gives one of many users another team, again and again, until the session has its rows; and looks at the memory of
    /// a service whose users have no session, in turn with few users.
    func lookups() async throws -> [BenchmarkReport.Row] {
        let users = sizes.users
        var medians = MeasuredPairs(.seconds)
        var memory = MeasuredPairs(.megabytes, comparison: .difference)
        try await world.with(members(users)) { source in
            try await world.with(members(Self.fewUsers)) { other in
                for pair in 1...pairs {
                    let service = try await source.start()
                    let stream = try await world.firstStream(of: service, operations: 1)
                    world.reader.close([stream])
                    try await Phase.pause(Self.rest)
                    let ours = try service.memory(.resident)
                    medians.add(MeasuredPairs.median(try await moves(source, service)))
                    try await source.stop()
                    let limit = try await idleMemory(other)
                    if let ours, let limit { memory.add(ours, limit: limit) }
                    progress(pair, "\(medians.last); memory \(memory.last)")
                }
            }
        }
        let what = "\(users) users with a row of a lookup each"
        return [
            medians.row("\(what): its change, until the session has its rows", goal: "≤ 5 ms"),
            memory.row(
                "resident, \(what) and no session, beside \(Self.fewUsers)",
                goal: "≤ + \(max(1, users / 1_000)) MB"),
        ]
    }

    /// A user is a member of one team, of a hundred with a document each.
    private func members(_ users: Int) -> ServiceTables {
        ServiceTables(
            sql: """
                CREATE TABLE members(id text PRIMARY KEY, team text NOT NULL);
                CREATE TABLE docs(id text PRIMARY KEY, team text NOT NULL, name text);
                INSERT INTO members SELECT 'u' || g, 't' || g % 100 FROM generate_series(0, \(users - 1)) g;
                INSERT INTO docs SELECT 'doc-t' || g, 't' || g, 'document ' || g
                FROM generate_series(0, 99) g;
                """,
            syncConfig: """
                config: {edition: 3}
                streams:
                  docs:
                    auto_subscribe: true
                    query: SELECT * FROM docs WHERE team IN (SELECT team FROM members WHERE id = auth.user_id())

                """)
    }

    /// Returns the megabytes of a service to which nobody is connected.
    private func idleMemory(_ source: ServiceSource) async throws -> Double? {
        let service = try await source.start()
        let stream = try await world.firstStream(of: service, operations: 1)
        world.reader.close([stream])
        try await Phase.pause(Self.rest)
        let memory = try service.memory(.resident)
        try await source.stop()
        return memory
    }

    /// Returns the seconds of each commit from its answer to the line.
    private func moves(_ source: ServiceSource, _ service: MeasuredService) async throws -> [Double] {
        let stream = try await world.firstStream(of: service, operations: 1)
        defer { world.reader.close([stream]) }
        return try await source.connected { connection in
            var times: [Double] = []
            for number in 1...sizes.commits {
                // A team that it was not a member of just before, so that all of its bucket comes.
                let team = "t\(2 + number % 2)"
                stream.expect("doc-\(team)")
                try await connection.query("UPDATE members SET team = $1 WHERE id = 'u1'", [team])
                let committed = ContinuousClock.now
                let arrival = try await world.arrivals(at: [stream])[0]
                times.append((arrival - committed) / .seconds(1))
                try await Phase.pause(Self.pause)
            }
            // As it was, for the next round.
            try await connection.query("UPDATE members SET team = 't1' WHERE id = 'u1'")
            return times
        }
    }
}
