import CPowerSyncSQLite
import PowerSyncSQLite
import Testing

@testable import PowerSync

/// Vector of client-core 9.16: what applying costs, counted in steps of SQLite's machine and not in time.
struct ApplyingVectorTests {
    /// What is waiting to be applied.
    enum Shape: String, CaseIterable {
        case rowsOfTheirOwn, oneRowAgainAndAgain, rowsToLookAtAgain
    }

    @Test(
        "148: applying costs twice as much for twice as many operations",
        arguments: Shape.allCases, [nil, 1])
    func growsWithTheNumberOfOperations(_ shape: Shape, priority: Int?) throws {
        let single = try cost(of: 2000, shape, priority: priority)
        let double = try cost(of: 4000, shape, priority: priority)
        #expect(double < single * 5 / 2, "\(single) and \(double) hundred steps")
    }

    @Test("148: applying sorts once, for grouping, and builds no index of its own", arguments: [200, 1500])
    func buildsNothingLarge(_ count: Int) throws {
        for (shape, priority) in Shape.allCases.flatMap({ [($0, nil), ($0, 1)] }) {
            let (bench, statements) = try apply(count, shape, priority: priority)
            let queries = statements.filter { $0.contains("ps_oplog") && !$0.hasPrefix("--") }
            #expect(!queries.isEmpty)
            for sql in queries {
                let plan = try plan(of: sql, bench.connection)
                // What a LIMIT 1 sorts is one row.
                let sorts = plan.filter {
                    $0.contains("TEMP B-TREE") && !($0.hasSuffix("FOR ORDER BY") && sql.contains("LIMIT 1"))
                }
                #expect(sorts.count <= 1, "\(sql): \(plan)")
                #expect(!plan.contains { $0.contains("AUTOMATIC") }, "\(sql): \(plan)")
            }
        }
    }

    private func plan(of sql: String, _ connection: SQLiteConnection) throws -> [String] {
        let statement = try connection.prepare("EXPLAIN QUERY PLAN \(sql)")
        var lines: [String] = []
        while try statement.step() { lines.append(try statement.row().string(3)) }
        return lines
    }

    /// Applies `count` operations and counts hundreds of steps.
    private func cost(of count: Int, _ shape: Shape, priority: Int?) throws -> Int {
        let bench = try prepared(count, shape, priority: priority)
        final class Counter { var steps = 0 }
        let counter = Counter()
        sqlite3_progress_handler(
            bench.connection.pointer, 100,
            { context in
                if let context { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().steps += 1 }
                return 0
            }, Unmanaged.passUnretained(counter).toOpaque())
        defer { sqlite3_progress_handler(bench.connection.pointer, 0, nil, nil) }
        try complete(bench, count, shape, priority: priority)
        return counter.steps
    }

    /// Applies `count` operations and returns the statements that ran.
    private func apply(
        _ count: Int, _ shape: Shape, priority: Int?
    ) throws -> (bench: SyncBench, statements: Set<String>) {
        let bench = try prepared(count, shape, priority: priority)
        final class Record { var statements: Set<String> = [] }
        let record = Record()
        sqlite3_trace_v2(
            bench.connection.pointer, UInt32(SQLITE_TRACE_STMT),
            { _, context, statement, _ in
                guard let context, let statement, let sql = sqlite3_sql(OpaquePointer(statement)) else {
                    return 0
                }
                Unmanaged<Record>.fromOpaque(context).takeUnretainedValue().statements.insert(
                    String(cString: sql))
                return 0
            }, Unmanaged.passUnretained(record).toOpaque())
        defer { sqlite3_trace_v2(bench.connection.pointer, 0, nil, nil) }
        try complete(bench, count, shape, priority: priority)
        return (bench, record.statements)
    }

    /// An iteration that has received everything but the complete line.
    private func prepared(_ count: Int, _ shape: Shape, priority: Int?) throws -> SyncBench {
        let bench = try SyncBench()
        try bench.start()
        try bench.line(
            SyncLines.checkpoint(count, [SyncLines.Bucket("a", priority: priority ?? 3, count: count)]))
        try bench.line(SyncLines.data("a"))
        let id = shape == .oneRowAgainAndAgain ? "'same'" : "'row' || value"
        try bench.connection.run(
            """
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
            WITH RECURSIVE numbers(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers LIMIT \(count))
            SELECT bucket.id, value, 'items', \(id), 'items/' || value, json_object('col', value), 0
            FROM numbers, ps_buckets AS bucket
            """)
        try bench.connection.run("UPDATE ps_buckets SET last_op = \(count)")
        if shape == .rowsToLookAtAgain {
            try bench.connection.execute(
                """
                INSERT INTO ps_updated_rows SELECT row_type, row_id FROM ps_oplog;
                UPDATE ps_buckets SET last_applied_op = last_op - 100
                """)
        }
        return bench
    }

    private func complete(_ bench: SyncBench, _ count: Int, _ shape: Shape, priority: Int?) throws {
        try bench.line(priority.map { SyncLines.partial($0, count) } ?? SyncLines.complete(count))
        let visible = try bench.items()
        switch shape {
        case .rowsOfTheirOwn: #expect(visible.count == count)
        case .oneRowAgainAndAgain: #expect(visible == [["same", .text("\(count)")]])
        case .rowsToLookAtAgain: #expect(visible.count == (priority == nil ? count : 100))
        }
    }
}
