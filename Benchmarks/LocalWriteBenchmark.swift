import PowerSync
import PowerSyncSQLite

/// Local writes through the view, with their entries in the upload queue, beside the same rows written to a typed table
/// and a table like the queue by prepared statements.
enum LocalWriteBenchmark {
    /// Measures both kinds of rows, `count` in one transaction and a fifth of them in transactions of their own.
    static func run(rows count: Int, pairs: Int) throws -> [BenchmarkReport.Row] {
        try [WriteRows.texts, WriteRows.todos].flatMap { make in
            try run(make(count), .one, pairs: pairs) + run(make(count / 5), .single, pairs: pairs)
        }
    }

    /// How rows are grouped.
    private enum Transactions: String {
        case one = "one transaction"
        case single = "single rows"
    }

    /// What is done to the rows, in this order.
    private enum Write: Int, CaseIterable {
        case insert, update, delete

        var goal: String { self == .insert ? "≤ 2.5 ×" : "" }
    }

    private static func run(
        _ rows: WriteRows, _ transactions: Transactions, pairs: Int
    ) throws -> [BenchmarkReport.Row] {
        var times = Write.allCases.map { _ in PairedTimes() }
        for pair in 1...pairs {
            let limits = try writeBare(rows, transactions)
            let ours = try writeViews(rows, transactions)
            for write in Write.allCases {
                times[write.rawValue].add(ours: ours[write.rawValue], limit: limits[write.rawValue])
            }
            BenchmarkReport.progress(
                "local writes, \(rows.name), \(transactions.rawValue): pair \(pair) of \(pairs): insert \(times[0].last)"
            )
        }
        return Write.allCases.map { write in
            times[write.rawValue].row(
                "\(write) \(rows.name), \(transactions.rawValue), each", goal: write.goal,
                operations: rows.count)
        }
    }

    private static func writeViews(
        _ rows: WriteRows, _ transactions: Transactions
    ) throws -> [Duration] {
        let database = try BenchmarkDatabase()
        defer { database.close() }
        try database.install(Table(name: rows.table, columns: rows.columns))
        let statements = try rows.statements.map { try database.prepare($0) }
        defer { for statement in statements { statement.finalize() } }
        let times = try Write.allCases.map { write in
            try measure(rows, transactions, on: database) { row, bytes in
                rows.bind(row, write.rawValue, to: statements[write.rawValue], bytes)
                try statements[write.rawValue].run()
            }
        }
        let queued = try database.connection.one("SELECT count(*) FROM ps_crud") { $0.int64(0) }
        guard queued == Int64(3 * rows.count) else { throw BenchmarkError("the queue lacks entries") }
        return times
    }

    private static func writeBare(_ rows: WriteRows, _ transactions: Transactions) throws -> [Duration] {
        let database = try BenchmarkDatabase()
        defer { database.close() }
        let columns = rows.columns.map { "\"\($0.name)\" \($0.type)" }.joined(separator: ", ")
        try database.connection.execute(
            """
            CREATE TABLE "\(rows.table)" (id TEXT PRIMARY KEY NOT NULL, \(columns));
            CREATE TABLE queue (id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT, tx_id INTEGER);
            """)
        let statements = try rows.statements.map { try database.prepare($0) }
        let queue = try database.prepare("INSERT INTO queue(tx_id, data) VALUES (1, ?)")
        defer { for statement in statements + [queue] { statement.finalize() } }
        return try Write.allCases.map { write in
            try measure(rows, transactions, on: database) { row, bytes in
                rows.bind(row, write.rawValue, to: statements[write.rawValue], bytes)
                try statements[write.rawValue].run()
                queue.bind(1, bytes, rows.entries[write.rawValue][row])
                try queue.run()
            }
        }
    }

    private static func measure(
        _ rows: WriteRows, _ transactions: Transactions, on database: BenchmarkDatabase,
        _ body: (Int, UnsafeBufferPointer<UInt8>) throws -> Void
    ) throws -> Duration {
        let begin = try database.prepare("BEGIN IMMEDIATE")
        let commit = try database.prepare("COMMIT")
        defer {
            begin.finalize()
            commit.finalize()
        }
        return try BenchmarkDatabase.measure {
            try rows.bytes.withUnsafeBufferPointer { bytes in
                if transactions == .one { try begin.run() }
                for row in 0..<rows.count {
                    if transactions == .single { try begin.run() }
                    try body(row, bytes)
                    if transactions == .single { try commit.run() }
                }
                if transactions == .one { try commit.run() }
            }
        }
    }
}
