import PowerSync
import PowerSyncSystem

/// An INSERT of a literal with 10,000 semicolons through the public API, beside one with commas in their places.
enum StatementTextBenchmark {
    private static let marks = 10_000
    /// How many statements one time covers; no two have the same text, so each is compiled.
    private static let statements = 5

    /// Measures some pairs.
    static func run(pairs: Int) async throws -> BenchmarkReport.Row {
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "notes", columns: [.text("content")])),
            dbFilename: folder.path + "/bench.db", logger: DefaultLogger(writers: []))
        try await database.execute("SELECT 1")
        var times = PairedTimes()
        for pair in 1...pairs {
            let limit = try await insert(",", pair, into: database)
            times.add(ours: try await insert(";", pair, into: database), limit: limit)
            BenchmarkReport.progress("text with semicolons: pair \(pair) of \(pairs): \(times.last)")
        }
        try await database.close()
        return times.row(
            "INSERT of a literal with \(marks) semicolons", goal: "≤ 1.1 ×", operations: statements)
    }

    private static func insert(
        _ mark: String, _ pair: Int, into database: any PowerSyncDatabaseProtocol
    ) async throws -> Duration {
        let literal = String(
            repeating: "A sentence of fifty bytes, the last of them a mark\(mark)", count: marks)
        let texts = (0..<statements).map { number in
            "INSERT INTO notes (id, content) VALUES (uuid(), '\(pair) \(number) \(literal)')"
        }
        let start = ContinuousClock.now
        for text in texts { try await database.execute(text) }
        return start.duration(to: .now)
    }
}
