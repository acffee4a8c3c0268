import Foundation
import PowerSyncCrashChild
import PowerSyncSQLite

/// What a file must hold after its program was killed, whenever that was.
struct CrashVerdict {
    /// The last local transaction in the file.
    private(set) var lastTransaction: Int64 = 0
    /// The version of the synced rows; 0 before the first checkpoint.
    private(set) var version: Int64 = 0
    /// What is wrong.
    private(set) var problems: [String] = []

    /// Opens the database, which recovers it, and looks at everything.
    ///
    /// `uploads` is the file into which uploads were written, `committed` the last local transaction whose COMMIT
    /// returned.
    init(path: String, uploads: String, committed: Int64) throws {
        let connection = try SQLiteConnection(path: path, flags: .readWrite)
        defer { connection.close() }
        let integrity = try connection.one("PRAGMA integrity_check") { $0.string(0) } ?? ""
        check(integrity == "ok", integrity)
        let hasTables =
            try connection.one("SELECT 1 FROM sqlite_schema WHERE name = 'ps_view_insert_parts'") { _ in true
            }
        guard hasTables == true else {
            check(committed == 0, "the tables are gone")
            return
        }
        try checkTransactions(connection, committed)
        try checkQueue(connection, try Self.uploaded(uploads))
        try checkVersions(connection)
        try checkPositions(connection)
    }

    /// Looks at what was synced alone.
    init(ofSynced connection: SQLiteConnection) throws {
        try checkVersions(connection)
        try checkPositions(connection)
    }

    private mutating func check(_ condition: Bool, _ problem: String) {
        if !condition { problems.append(problem) }
    }

    /// Local transactions are there as a whole, and each one that the program was told of.
    private mutating func checkTransactions(_ connection: SQLiteConnection, _ committed: Int64) throws {
        let journal = try connection.query(
            "SELECT json_extract(data, '$.number') FROM ps_data_local__journal ORDER BY 1"
        ) { $0.int64(0) }
        lastTransaction = journal.last ?? 0
        check(journal == Array(Int64(1)..<lastTransaction + 1), "local transactions are missing: \(journal)")
        check(
            lastTransaction == committed || lastTransaction == committed + 1,
            "the last transaction is \(lastTransaction), but \(committed) was committed")
        let halves = try connection.query(
            """
            SELECT json_extract(data, '$.number') FROM ps_data__parts GROUP BY 1 HAVING count(*) <> ?
            """, [.integer(Int64(CrashChild.rowsOfTransaction))]
        ) { $0.int64(0) }
        check(halves.isEmpty, "half of the transactions \(halves) is visible")
        let hidden = try connection.query(
            """
            SELECT data ->> '$.id' FROM ps_crud
            WHERE data ->> '$.id' NOT IN (SELECT id FROM ps_data__parts)
            """
        ) { $0.string(0) }
        check(hidden.isEmpty, "the rows \(hidden) wait for their upload, but cannot be seen")
    }

    /// Each row has one entry, uploaded or in the queue, in the order of the writes.
    private mutating func checkQueue(_ connection: SQLiteConnection, _ uploaded: [Entry]) throws {
        let queue = try connection.query(
            """
            SELECT id, tx_id, data ->> '$.op', data ->> '$.type', data ->> '$.id' FROM ps_crud ORDER BY id
            """
        ) {
            Entry(
                id: $0.int64(0), transaction: $0.int64(1), operation: $0.string(2), table: $0.string(3),
                row: $0.string(4))
        }
        var known: [Int64: Entry] = [:]
        for entry in uploaded + queue {
            check(known[entry.id].map { $0 == entry } ?? true, "the entry \(entry.id) came with two contents")
            known[entry.id] = entry
        }
        let rows = Int64(CrashChild.rowsOfTransaction)
        check(
            known.count == lastTransaction * rows, "\(known.count) entries of \(lastTransaction) transactions"
        )
        var last: Int64 = 0
        for (position, entry) in known.values.sorted(by: { $0.id < $1.id }).enumerated() {
            let (number, part) = (Int64(position) / rows + 1, Int64(position) % rows)
            check(
                entry.operation == "PUT" && entry.table == "parts" && entry.row == "\(number)-\(part)",
                "entry \(entry.id) is \(entry) instead of \(number)-\(part)")
            check(
                part == 0 ? entry.transaction > last : entry.transaction == last,
                "\(entry.row) has transaction \(entry.transaction) behind \(last)")
            last = entry.transaction
        }
        // What is uploaded comes before what waits.
        let front = queue.first?.id ?? .max
        check(
            uploaded.allSatisfy { entry in entry.id < front || queue.contains(entry) },
            "the queue begins with \(front), behind which uploads lie")
        guard !queue.isEmpty else { return }
        let target = try connection.one(
            "SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'"
        ) { $0.int64(0) }
        check(target == .max, "writes wait, but the gate is \(target.map(String.init) ?? "open")")
    }

    /// A checkpoint is there as a whole.
    private mutating func checkVersions(_ connection: SQLiteConnection) throws {
        func versions(_ tables: String...) throws -> (Set<Int64>, Int) {
            let all = try tables.flatMap { table in
                try connection.query("SELECT data ->> '$.version' FROM ps_data__\(table)") { $0.int64(0) }
            }
            return (Set(all), all.count)
        }
        let (both, count) = try versions("lefts", "rights")
        check(both.count <= 1, "rows of the checkpoints \(both.sorted()) are visible together")
        check(count == 0 || count == Int(CrashService.operations), "\(count) rows are visible")
        let (urgent, urgentCount) = try versions("urgents")
        check(urgent.count <= 1, "urgent rows of the checkpoints \(urgent.sorted()) are visible together")
        check(
            urgentCount == 0 || urgentCount == Int(CrashService.operations / 2),
            "\(urgentCount) urgent rows are visible")
        version = both.first ?? 0
        check(urgent.first ?? 0 >= version, "urgent rows are of \(urgent), the others of \(version)")
        let applied = try connection.query(
            "SELECT last_applied_op FROM ps_buckets WHERE name = 'both[]' AND last_applied_op > 0"
        ) { $0.int64(0) }
        check(
            applied.allSatisfy { $0 == version * CrashService.operations },
            "rows of version \(version) are visible, but \(applied) is said to be")
    }

    /// Where the next stream goes on is what is stored.
    private mutating func checkPositions(_ connection: SQLiteConnection) throws {
        let buckets = try connection.query(
            """
            SELECT name, last_applied_op, last_op, op_checksum, (add_checksum + op_checksum) & 4294967295,
                (SELECT ifnull(sum(hash), 0) & 4294967295 FROM ps_oplog WHERE bucket = ps_buckets.id)
            FROM ps_buckets
            """
        ) {
            (name: $0.string(0), numbers: [$0.int64(1), $0.int64(2), $0.int64(3), $0.int64(4), $0.int64(5)])
        }
        for (name, numbers) in buckets {
            check(
                numbers[0] <= numbers[1], "\(name) is applied to \(numbers[0]), but stored to \(numbers[1])")
            check(numbers[2] == numbers[4], "\(name) has a checksum other than its operations")
            check(
                numbers[3] == Int64(CrashService.checksum(through: numbers[1])),
                "\(name) is not what the service has up to \(numbers[1])")
        }
    }

    private struct Entry: Equatable {
        let id: Int64
        let transaction: Int64
        let operation: String
        let table: String
        let row: String
    }

    private static func uploaded(_ path: String) throws -> [Entry] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            let words = line.split(separator: " ").map(String.init)
            return Entry(
                id: Int64(words[0]) ?? 0, transaction: Int64(words[1]) ?? 0, operation: words[2],
                table: words[3], row: words[4])
        }
    }
}
