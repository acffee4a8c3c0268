import Foundation
import PowerSyncCrashChild
import PowerSyncSQLite

/// What a file must hold that two programs write and one of them syncs, at any moment.
struct PairVerdict {
    /// The last local transaction of each writer.
    private(set) var last: [String: Int64] = [:]
    /// How many entries were uploaded.
    private(set) var uploaded = 0
    /// How many entries wait.
    private(set) var waiting = 0
    /// What is wrong.
    private(set) var problems: [String] = []

    /// Looks at everything at one moment.
    ///
    /// `uploads` is the file into which uploads were written, `committed` the last local transaction of each writer whose
    /// COMMIT returned.
    init(path: String, uploads: String, committed: [String: Int64]) throws {
        let connection = try SQLiteConnection(path: path, flags: .readWrite)
        defer { connection.close() }
        connection.setBusyTimeout(.seconds(30))
        try connection.execute("BEGIN")
        let queue = try connection.query(
            "SELECT id, tx_id, data ->> '$.op', data ->> '$.type', data ->> '$.id' FROM ps_crud ORDER BY id"
        ) {
            Entry(
                id: $0.int64(0), transaction: $0.int64(1), operation: $0.string(2), table: $0.string(3),
                row: $0.string(4))
        }
        let clients = try connection.one("SELECT count(*) FROM ps_kv WHERE key = 'client_id'") { $0.int64(0) }
        check(clients == 1, "\(clients ?? 0) clients have one file")
        // Behind the queue: what has left that is here.
        let text = try String(contentsOfFile: uploads, encoding: .utf8)
        try checkJournals(connection, committed)
        let sent = entries(text)
        checkEntries(queue, sent)
        problems += try CrashVerdict(ofSynced: connection).problems
        try connection.execute("ROLLBACK")
        let integrity = try connection.one("PRAGMA integrity_check") { $0.string(0) } ?? ""
        check(integrity == "ok", integrity)
    }

    private mutating func check(_ condition: Bool, _ problem: String) {
        if !condition { problems.append(problem) }
    }

    /// Local transactions are there as a whole, and each one that its writer was told of.
    private mutating func checkJournals(_ connection: SQLiteConnection, _ committed: [String: Int64]) throws {
        let journal = try connection.query(
            "SELECT data ->> '$.writer', data ->> '$.number' FROM ps_data_local__journal ORDER BY 2"
        ) { (writer: $0.string(0), number: $0.int64(1)) }
        for (writer, rows) in Dictionary(grouping: journal, by: { $0.writer }) {
            let numbers = rows.map { $0.number }
            last[writer] = numbers.last
            check(
                numbers == Array(Int64(1)..<Int64(numbers.count) + 1),
                "transactions of \(writer) are missing: \(numbers)")
        }
        for (writer, number) in committed {
            check(
                last[writer] ?? 0 >= number,
                "\(number) of \(writer) was committed, but the last one is \(last[writer] ?? 0)")
        }
        let halves = try connection.query(
            "SELECT id FROM ps_data__parts GROUP BY substr(id, 1, length(id) - 2) HAVING count(*) <> ?",
            [.integer(Int64(CrashChild.rowsOfTransaction))]
        ) { $0.string(0) }
        check(halves.isEmpty, "half of the transactions \(halves) is visible")
    }

    /// Each row has one entry, uploaded or in the queue, and a transaction its own number.
    private mutating func checkEntries(_ queue: [Entry], _ sent: [Entry]) {
        var known: [Int64: Entry] = [:]
        for entry in sent + queue {
            check(known[entry.id].map { $0 == entry } ?? true, "the entry \(entry.id) came with two contents")
            known[entry.id] = entry
        }
        (uploaded, waiting) = (known.count - queue.count, queue.count)
        var rows: [String: Int] = [:]
        var transactions: [Int64: Set<Substring>] = [:]
        for entry in known.values {
            check(entry.operation == "PUT" && entry.table == "parts", "an entry is \(entry)")
            rows[entry.row, default: 0] += 1
            transactions[entry.transaction, default: []].insert(entry.row.dropLast(2))
        }
        var missing: [String] = []
        for (writer, number) in last {
            for number in 1..<number + 1 {
                for part in 0..<CrashChild.rowsOfTransaction where rows["\(writer)-\(number)-\(part)"] == nil
                {
                    missing.append("\(writer)-\(number)-\(part)")
                }
            }
        }
        check(missing.isEmpty, "lost: \(missing)")
        let twice = rows.filter { $0.value > 1 }.keys.sorted()
        check(twice.isEmpty, "queued twice: \(twice)")
        let mixed = transactions.filter { $0.value.count > 1 }
        check(mixed.isEmpty, "two transactions have one number: \(mixed)")
    }

    private struct Entry: Equatable {
        let id: Int64
        let transaction: Int64
        let operation: String
        let table: String
        let row: String
    }

    /// Reads whole lines; what is being written at this moment is in the queue, too.
    private mutating func entries(_ text: String) -> [Entry] {
        var entries: [Entry] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ").map(String.init)
            if words.count == 5, let id = Int64(words[0]), let transaction = Int64(words[1]) {
                entries.append(
                    Entry(
                        id: id, transaction: transaction, operation: words[2], table: words[3], row: words[4])
                )
            } else {
                check(false, String(line))
            }
        }
        return entries
    }
}
