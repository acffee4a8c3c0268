import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// A first sync, from lines in memory to the committed checkpoint, beside a bare loop that stores the same rows.
///
/// The loop is the least that any client must do on the same SQLite with the same settings: insert the operations,
/// build the three indexes, insert the rows in order of their ids, commit with its WAL checkpoint.
enum FirstSyncBenchmark {
    private static let bucket = "1#all|0[]"

    static func run(rows count: Int, pairs: Int) throws {
        let rows = BenchmarkRows(count: count).rows
        let lines = try syncLines(rows)
        let bytes = lines.reduce(0) { $0 + $1.count }
        print(
            "first sync of \(count) rows, \(bytes / count) bytes a line and operation, \(pairs) interleaved pairs"
        )
        var ours: [Duration] = []
        var limits: [Duration] = []
        for _ in 0..<pairs {
            limits.append(try measure { try bareLoop(rows, $0) })
            ours.append(try measure { try sync(lines, $0) })
        }
        let ratios = zip(ours, limits).map { $0 / $1 }.sorted()
        print("| what | median | rows a second |")
        print("|---|---|---|")
        for (name, times) in [("this client", ours), ("bare loop", limits)] {
            let median = times.sorted()[times.count / 2] / .seconds(1)
            print("| \(name) | \(rounded(median)) s | \(Int(Double(count) / median)) |")
        }
        print(
            "ratio: median \(rounded(ratios[ratios.count / 2])), from \(rounded(ratios[0])) to \(rounded(ratios[ratios.count - 1]))"
        )
    }

    private static func rounded(_ number: Double) -> Double { (number * 100).rounded() / 100 }

    private static func measure(_ body: (SQLiteConnection) throws -> Void) throws -> Duration {
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        let connection = try SQLiteConnection(path: folder.path + "/bench.db")
        defer { connection.close() }
        for pragma in [
            "page_size = 4096", "journal_mode = WAL", "synchronous = NORMAL", "cache_size = -51200",
            "temp_store = MEMORY", "wal_autocheckpoint = 1000", "journal_size_limit = 6291456",
        ] { try connection.execute("PRAGMA \(pragma)") }
        return try ContinuousClock().measure { try body(connection) }
    }

    private static func bareLoop(_ rows: [BenchmarkRows.Row], _ connection: SQLiteConnection) throws {
        try connection.execute(
            """
            CREATE TABLE ps_oplog (bucket INTEGER NOT NULL, op_id INTEGER NOT NULL, row_type TEXT, row_id TEXT,
                key TEXT, data TEXT, hash INTEGER NOT NULL) STRICT;
            CREATE TABLE ps_data__todos (id TEXT PRIMARY KEY NOT NULL, data TEXT);
            """)
        let byID = rows.sorted { $0.id < $1.id }
        try connection.transaction {
            let operation = try connection.prepare("INSERT INTO ps_oplog VALUES (1, ?, 'todos', ?, ?, ?, ?)")
            for (number, row) in rows.enumerated() {
                try operation.run([
                    .integer(Int64(number + 1)), .text(row.id), .text(row.key), .text(row.data),
                    .integer(Int64(number)),
                ])
            }
            try connection.execute(
                """
                CREATE INDEX ps_oplog_row ON ps_oplog (row_type, row_id);
                CREATE INDEX ps_oplog_opid ON ps_oplog (bucket, op_id);
                CREATE INDEX ps_oplog_key ON ps_oplog (bucket, key);
                """)
            let data = try connection.prepare("INSERT INTO ps_data__todos VALUES (?, ?)")
            for row in byID { try data.run([.text(row.id), .text(row.data)]) }
        }
    }

    private static func syncLines(_ rows: [BenchmarkRows.Row]) throws -> [[UInt8]] {
        var sum = Checksum.zero
        var lines: [[UInt8]] = []
        for start in stride(from: 0, to: rows.count, by: 1000) {
            let operations = (start..<min(start + 1000, rows.count)).map { number in
                let row = rows[number]
                let subkey = row.key.split(separator: "/").last.map(String.init)
                return Operation(
                    id: Int64(number + 1), kind: .put, objectType: "todos", objectID: row.id, subkey: subkey,
                    checksum: Checksum(UInt32(number)), data: row.data)
            }
            for operation in operations { sum += operation.checksum }
            lines.append(
                SyncLine.data(
                    DataLine(
                        bucket: bucket, after: Int64(start), hasMore: true,
                        operations: OperationList(operations))
                ).encoded())
        }
        let checkpoint = SyncLine.checkpoint(
            Checkpoint(
                lastOpID: Int64(rows.count),
                buckets: [
                    BucketChecksum(bucket: bucket, checksum: sum, priority: 3, count: Int64(rows.count))
                ]))
        return [checkpoint.encoded()] + lines
            + [SyncLine.checkpointComplete(lastOpID: Int64(rows.count)).encoded()]
    }

    private static func sync(_ lines: [[UInt8]], _ connection: SQLiteConnection) throws {
        let schema = Schema(
            Table(
                name: "todos",
                columns: [
                    .text("owner_id"), .text("description"), .integer("position"), .integer("completed"),
                    .real("weight"), .text("created_at"), .text("note"),
                ]))
        _ = try CoreExtension.install(on: connection)
        try connection.transaction {
            try SchemaApplication.apply(
                json: String(decoding: try JSONEncoder().encode(schema), as: UTF8.self), on: connection)
        }
        var state = SyncState()
        func step(_ event: SyncEvent) throws -> [SyncEffect] {
            let (next, effects) = try connection.transaction {
                try SyncTransaction.run([event], from: state, on: SyncStore(connection: connection, now: 1))
            }
            state = next
            return effects
        }
        _ = try step(.start(SyncStart()))
        _ = try step(.connectionEstablished)
        for line in lines { _ = try step(.line(SyncLine(parsing: line), size: line.count)) }
        let count = try connection.one("SELECT count(*) FROM ps_data__todos") { $0[0] }
        let expected = SQLiteValue.integer(Int64((lines.count - 2) * 1000))
        precondition(count == expected, "the checkpoint was not applied")
    }
}
