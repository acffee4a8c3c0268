import PowerSync
import PowerSyncSQLite

/// A first sync, from lines in memory to the committed checkpoint, beside a bare loop that stores the same rows.
///
/// The loop is the least that any client must do on the same SQLite with the same settings: insert the operations,
/// build the three indexes, insert the rows in order of their ids, commit with its WAL checkpoint.
enum FirstSyncBenchmark {
    /// What the way that ships may do without, to see what it is worth.
    enum Part: String, CaseIterable {
        /// Applying by one scan along an index.
        case scan

        fileprivate func remove(from tuning: inout StorageTuning) {
            switch self {
            case .scan: tuning.scannedRows = .max
            }
        }
    }

    /// Measures a number of rows: as it ships, and once without each of some parts, in turns.
    static func run(rows count: Int, pairs: Int, without parts: [Part]) throws -> [BenchmarkReport.Row] {
        BenchmarkReport.progress("first sync of \(count) rows: making them")
        let rows = BenchmarkRows(count: count)
        let byID = rows.inOrderOfIDs
        var lines: [[UInt8]] = []
        rows.forEachLine { lines.append($0) }
        let ways: [Part?] = [nil] + parts.map { Optional($0) }
        var times = ways.map { _ in PairedTimes() }
        for pair in 1...pairs {
            let limit = try bareLoop(rows, byID)
            for (index, way) in ways.enumerated() {
                var tuning = StorageTuning.standard
                way?.remove(from: &tuning)
                times[index].add(ours: try sync(lines, tuning, expecting: count), limit: limit)
                BenchmarkReport.progress(
                    "\(name(count, way)): pair \(pair) of \(pairs): \(times[index].last)")
            }
        }
        return zip(ways, times).map { way, times in
            times.row(name(count, way), goal: way == nil ? "≤ 1.7 ×" : "")
        }
    }

    private static func name(_ count: Int, _ way: Part?) -> String {
        "first sync, \(count) rows\(way.map { ", without \($0.rawValue)" } ?? "")"
    }

    /// Stores rows by the least that any client must do; returns how long that took.
    static func bareLoop(_ rows: BenchmarkRows, _ byID: [Int]) throws -> Duration {
        let database = try BenchmarkDatabase()
        defer { database.close() }
        try database.connection.execute(
            """
            CREATE TABLE ps_oplog (bucket INTEGER NOT NULL, op_id INTEGER NOT NULL, row_type TEXT, row_id TEXT,
                key TEXT, data TEXT, hash INTEGER NOT NULL) STRICT;
            CREATE TABLE ps_data__todos (id TEXT PRIMARY KEY NOT NULL, data TEXT);
            """)
        let operation = try database.prepare(
            "INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash) VALUES (1, ?, ?, ?, ?, ?, ?)"
        )
        let row = try database.prepare("INSERT INTO ps_data__todos(id, data) VALUES (?, ?)")
        defer {
            operation.finalize()
            row.finalize()
        }
        return try BenchmarkDatabase.measure {
            try rows.bytes.withUnsafeBufferPointer { bytes in
                try database.connection.execute("BEGIN")
                for number in 0..<rows.count {
                    let key = rows.keys[number]
                    operation.bind(1, Int64(number + 1))
                    operation.bind(2, bytes, key.lowerBound..<key.lowerBound + 5)
                    operation.bind(3, bytes, rows.id(number))
                    operation.bind(4, bytes, key)
                    operation.bind(5, bytes, rows.data[number])
                    operation.bind(6, Int64(number))
                    try operation.run()
                }
                try database.connection.execute(
                    """
                    CREATE INDEX ps_oplog_row ON ps_oplog (row_type, row_id);
                    CREATE INDEX ps_oplog_opid ON ps_oplog (bucket, op_id);
                    CREATE INDEX ps_oplog_key ON ps_oplog (bucket, key);
                    """)
                for number in byID {
                    row.bind(1, bytes, rows.id(number))
                    row.bind(2, bytes, rows.data[number])
                    try row.run()
                }
                try database.connection.execute("COMMIT")
            }
        }
    }

    private static func sync(
        _ lines: [[UInt8]], _ tuning: StorageTuning, expecting count: Int
    ) throws -> Duration {
        let database = try BenchmarkDatabase()
        defer { database.close() }
        try database.install(BenchmarkRows.table)
        let time = try BenchmarkDatabase.measure {
            var sync = try BenchmarkSync(database.connection, tuning: tuning)
            for line in lines { try sync.take(line) }
        }
        let stored = try database.connection.one("SELECT count(*) FROM ps_data__todos") { $0.int64(0) }
        guard stored == Int64(count) else {
            throw BenchmarkError("\(stored ?? 0) of \(count) rows are there")
        }
        return time
    }
}
