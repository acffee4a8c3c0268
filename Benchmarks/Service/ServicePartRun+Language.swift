import PowerSyncPostgres
import PowerSyncStack

extension ServicePartRun {
    /// How long everything comes to rest before processor time is counted.
    private static let rest = Duration.seconds(1)

    /// What is measured beside a stream of all rows.
    private struct LanguageShape {
        let what: String
        let streams: String
        /// How many operations of a row the client gets.
        var copies = 1
        let goal: String
    }

    private static let all = "  all: {auto_subscribe: true, query: SELECT * FROM items}\n"

    private static let languageShapes = [
        LanguageShape(
            what: "three streams over one table",
            streams: """
                  above: {auto_subscribe: true, query: SELECT * FROM items WHERE n > 0}
                  from: {auto_subscribe: true, query: SELECT * FROM items WHERE n >= 0}
                  others: {auto_subscribe: true, query: SELECT * FROM items WHERE n != 0}

                """, copies: 3, goal: "≥ 1.0 ×"),
        LanguageShape(
            what: "a join",
            streams: """
                  joined:
                    auto_subscribe: true
                    query: SELECT items.* FROM items JOIN projects ON items.project_id = projects.id
                      WHERE projects.owner_id = auth.user_id()

                """, goal: "≥ 0.6 ×"),
        LanguageShape(
            what: "a sub-select of two levels",
            streams: """
                  nested:
                    auto_subscribe: true
                    query: SELECT * FROM items WHERE project_id IN (SELECT id FROM projects
                      WHERE org_id IN (SELECT org_id FROM members WHERE user_id = auth.user_id()))

                """, goal: "≥ 0.6 ×"),
    ]

    /// Takes a snapshot and replicates many small transactions with each kind of query, each time in turn with the same
    /// rows in one stream.
    func language() async throws -> [BenchmarkReport.Row] {
        var rows: [BenchmarkReport.Row] = []
        for shape in Self.languageShapes {
            var rates = MeasuredPairs(.perSecond("operations"))
            var times = MeasuredPairs(.seconds)
            let (ours, limit) = (tables(shape.streams), tables(Self.all))
            try await world.with(ours) { source in
                try await world.with(limit) { other in
                    for pair in 1...pairs {
                        let figures = try await replicated(pair, source, copies: shape.copies)
                        let limits = try await replicated(pair, other, copies: 1)
                        rates.add(figures.rate, limit: limits.rate)
                        if let seconds = figures.processorTime, let limit = limits.processorTime {
                            times.add(seconds, limit: limit)
                        }
                        progress(pair, "\(shape.what): \(rates.last); processor time \(times.last)")
                    }
                }
            }
            let what = "\(shape.what), beside SELECT * FROM items"
            rows.append(rates.row("snapshot of \(sizes.rows) rows: \(what)", goal: shape.goal))
            rows.append(
                times.row("processor time, \(sizes.singles) transactions: \(what)", goal: "≤ 1.7 ×"))
        }
        return rows
    }

    /// Items of a hundred projects that the user of the measures gets, and as many again for others in lookups.
    private func tables(_ streams: String) -> ServiceTables {
        ServiceTables(
            sql: """
                CREATE TABLE items(id text PRIMARY KEY, project_id text NOT NULL, name text, a text, b text, n int,
                    x double precision);
                CREATE TABLE projects(id text PRIMARY KEY, org_id text NOT NULL, owner_id text NOT NULL);
                CREATE TABLE members(id text PRIMARY KEY, org_id text NOT NULL, user_id text NOT NULL);
                INSERT INTO items SELECT 'id-' || lpad(g::text, 9, '0'), 'p' || g % 100, 'row ' || g,
                    md5(g::text) || md5((g + 1)::text), repeat(md5(g::text), 4), g, g * 1.5
                FROM generate_series(1, \(sizes.rows)) g;
                INSERT INTO projects SELECT 'p' || g, 'o' || g / 10, 'u' || 1 + g / 100
                FROM generate_series(0, 999) g;
                INSERT INTO members SELECT 'm' || g, 'o' || g % 100, 'u' || 1 + g / 10
                FROM generate_series(0, 999) g;
                """,
            syncConfig: "config: {edition: 3}\nstreams:\n\(streams)")
    }

    /// What a service took for a source.
    private struct Replication: Sendable {
        /// How many operations a client gets in a second, from the start of the service to its first checkpoint.
        let rate: Double
        /// The seconds of the service's processor time for all transactions; nil elsewhere than on Linux.
        let processorTime: Double?
    }

    private func replicated(
        _ pair: Int, _ source: ServiceSource, copies: Int
    ) async throws -> Replication {
        let operations = sizes.rows * copies
        let service = try await source.start()
        let stream = try await world.firstStream(of: service, operations: operations)
        let ready = try Self.ready(stream, service)
        try await Phase.pause(Self.rest)
        let before = service.processorTime
        stream.expect(Self.id(pair, sizes.singles))
        _ = try await write(pair, to: source, project: "p0")
        _ = try await world.arrivals(at: [stream])
        // What follows the last line is a part of it.
        try await Phase.pause(Self.rest)
        let after = service.processorTime
        try await end([stream], source)
        // The next one begins with the same rows.
        try await source.connected { connection in
            try await connection.query("DELETE FROM items WHERE id LIKE 'single-%'")
            try await connection.script("VACUUM ANALYZE items", until: .now + ServiceSource.patience)
            try await connection.script("CHECKPOINT", until: .now + ServiceSource.patience)
        }
        guard let before, let after else {
            return Replication(rate: Double(operations) / ready, processorTime: nil)
        }
        return Replication(rate: Double(operations) / ready, processorTime: after - before)
    }
}
