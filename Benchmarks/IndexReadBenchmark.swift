import PowerSync
import PowerSyncSQLite

/// SELECT through an index of a view, beside the same through an index of a typed table.
enum IndexReadBenchmark {
    private static let queries = 20_000
    /// How many rows one value of the indexed column has.
    private static let rowsOfValue = 10

    /// Measures with a number of rows.
    static func run(rows count: Int, pairs: Int) throws -> [BenchmarkReport.Row] {
        BenchmarkReport.progress("reads through an index of \(count) rows: making them")
        let values = max(1, count / rowsOfValue)
        let view = try BenchmarkDatabase()
        defer { view.close() }
        try view.install(
            Table(
                name: "todos", columns: BenchmarkRows.columns,
                indexes: [.ascending(name: "position", column: "position")]))
        try fill(view, count, values)
        let typed = try BenchmarkDatabase()
        defer { typed.close() }
        let columns = BenchmarkRows.columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
        try typed.connection.execute(
            """
            CREATE TABLE todos (id TEXT PRIMARY KEY NOT NULL, \(columns));
            CREATE INDEX todos_position ON todos (position);
            """)
        try copy(view, into: typed)
        return try [("id", Int32(1)), ("*", Int32(BenchmarkRows.columns.count + 1))].map { selected, width in
            let sql = "SELECT \(selected) FROM todos WHERE position = ?"
            var times = PairedTimes()
            for _ in 1...pairs {
                let limit = try read(sql, width, from: typed, values)
                times.add(ours: try read(sql, width, from: view, values), limit: limit)
            }
            BenchmarkReport.progress("SELECT \(selected) through an index: \(times.last)")
            return times.row(
                "SELECT \(selected) by index, \(rowsOfValue) of \(count) rows",
                goal: width == 1 ? "≤ 1.5 ×" : "", operations: queries)
        }
    }

    /// Stores rows as a sync would, in random order of their ids.
    private static func fill(_ database: BenchmarkDatabase, _ count: Int, _ values: Int) throws {
        var random = SplitMix(seed: 3)
        try database.connection.transaction {
            for number in 0..<count {
                let id = random.uuid()
                let data = BenchmarkRows.json(id, number, &random)
                try database.connection.run(
                    "INSERT INTO ps_data__todos(id, data) VALUES (?1, json_set(?2, '$.position', ?3))",
                    [.text(id), .text(data), .integer(Int64(number % values))])
            }
        }
    }

    /// Gives a typed table the same rows in the same order.
    private static func copy(_ view: BenchmarkDatabase, into typed: BenchmarkDatabase) throws {
        let places = (0...BenchmarkRows.columns.count).map { "?\($0 + 1)" }.joined(separator: ", ")
        let rows = try view.connection.query("SELECT * FROM todos") { row in
            (0..<row.count).map { row[$0] }
        }
        try typed.connection.transaction {
            for row in rows { try typed.connection.run("INSERT INTO todos VALUES (\(places))", row) }
        }
    }

    private static func read(
        _ sql: String, _ width: Int32, from database: BenchmarkDatabase, _ values: Int
    ) throws -> Duration {
        let statement = try database.prepare(sql)
        defer { statement.finalize() }
        var random = SplitMix(seed: 5)
        var found = 0
        let time = try BenchmarkDatabase.measure {
            for _ in 0..<queries {
                statement.bind(1, Int64.random(in: 0..<Int64(values), using: &random))
                found += try statement.run(columns: width)
            }
        }
        guard found >= queries else { throw BenchmarkError("only \(found) rows were found") }
        return time
    }
}
