import PowerSyncSQLite

/// Making a checkpoint visible whose data is stored, beside a bare INSERT of the same rows in the order of their ids.
///
/// It is one transaction, for which everybody waits who wants to write.
enum ApplyBenchmark {
    /// Measures a number of rows.
    static func run(rows count: Int, pairs: Int) throws -> BenchmarkReport.Row {
        BenchmarkReport.progress("applying \(count) rows: making them")
        let rows = BenchmarkRows(count: count)
        let byID = rows.inOrderOfIDs
        var lines: [[UInt8]] = []
        rows.forEachLine { lines.append($0) }
        var times = PairedTimes()
        for pair in 1...pairs {
            let limit = try insert(rows, byID)
            times.add(ours: try apply(lines, expecting: count), limit: limit)
            BenchmarkReport.progress("applying \(count) rows: pair \(pair) of \(pairs): \(times.last)")
        }
        return times.row("applying a checkpoint of \(count) rows", goal: "≤ 1.5 ×")
    }

    private static func insert(_ rows: BenchmarkRows, _ byID: [Int]) throws -> Duration {
        let database = try BenchmarkDatabase()
        defer { database.close() }
        try database.connection.execute(
            "CREATE TABLE ps_data__todos (id TEXT PRIMARY KEY NOT NULL, data TEXT)")
        let row = try database.prepare("INSERT INTO ps_data__todos(id, data) VALUES (?, ?)")
        defer { row.finalize() }
        return try BenchmarkDatabase.measure {
            try rows.bytes.withUnsafeBufferPointer { bytes in
                try database.connection.execute("BEGIN")
                for number in byID {
                    row.bind(1, bytes, rows.id(number))
                    row.bind(2, bytes, rows.data[number])
                    try row.run()
                }
                try database.connection.execute("COMMIT")
            }
        }
    }

    private static func apply(_ lines: [[UInt8]], expecting count: Int) throws -> Duration {
        let database = try BenchmarkDatabase()
        defer { database.close() }
        try database.install(BenchmarkRows.table)
        var sync = try BenchmarkSync(database.connection)
        for line in lines.dropLast() { try sync.take(line) }
        try sync.storeLines()
        let time = try BenchmarkDatabase.measure { try sync.take(lines[lines.count - 1]) }
        let stored = try database.connection.one("SELECT count(*) FROM ps_data__todos") { $0.int64(0) }
        guard stored == Int64(count) else {
            throw BenchmarkError("\(stored ?? 0) of \(count) rows are there")
        }
        return time
    }
}
