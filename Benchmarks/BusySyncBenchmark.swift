import PowerSync
import PowerSyncSQLite
import PowerSyncSystem

/// How long an app waits that writes while a first sync arrives, and what its writes cost the sync.
///
/// The app writes one transaction into a synced table every 100 ms by the clock, whether the one before is done or not;
/// how long it took counts from when it was due. Uploads are held back until the last data line, since they end what
/// blocks the checkpoint. Lines come from memory, through everything behind the network.
enum BusySyncBenchmark {
    /// The time from one write of the app to the next.
    static let interval = Duration.milliseconds(100)

    /// Measures a number of rows, without writes and then with them for each budget.
    static func run(rows count: Int, holds: [Duration]) async throws -> [BenchmarkReport.Row] {
        BenchmarkReport.progress("busy sync of \(count) rows: making them")
        let rows = BenchmarkRows(count: count)
        let byID = rows.inOrderOfIDs
        var lines: [[UInt8]] = []
        rows.forEachLine { lines.append($0 + [UInt8(ascii: "\n")]) }
        let quiet = try await measure(lines, count, writes: false, hold: nil)
        var times = PairedTimes()
        times.add(ours: quiet.time, limit: try FirstSyncBenchmark.bareLoop(rows, byID))
        BenchmarkReport.progress("busy sync of \(count) rows: without writes \(times.last)")
        var report = [times.row("first sync without writes, \(count) rows", goal: "≤ 1.7 ×")]
        for hold in holds.isEmpty ? [StorageTuning.standard.hold] : holds {
            let limit = try FirstSyncBenchmark.bareLoop(rows, byID)
            let outcome = try await measure(lines, count, writes: true, hold: hold)
            var times = PairedTimes()
            times.add(ours: outcome.time, limit: limit)
            let name = "hold \(PairedTimes.text(hold))"
            report.append(times.row("first sync with writes, \(count) rows, \(name)", goal: "≤ 2.5 ×"))
            report += latencies(outcome.latencies, "local write, \(count) rows, \(name)")
            BenchmarkReport.progress(
                "busy sync of \(count) rows, \(name): \(times.last), \(outcome.latencies.count) writes")
        }
        return report
    }

    private static func latencies(_ latencies: [Duration], _ name: String) -> [BenchmarkReport.Row] {
        let sorted = latencies.sorted()
        guard let worst = sorted.last else {
            return [BenchmarkReport.Row(what: name, ours: "no write was due")]
        }
        return [
            BenchmarkReport.Row(
                what: "\(name): median of \(sorted.count)",
                ours: PairedTimes.text(PairedTimes.median(sorted)), goal: "≤ 100 ms"),
            BenchmarkReport.Row(
                what: "\(name): p99", ours: PairedTimes.text(sorted[(sorted.count - 1) * 99 / 100]),
                goal: "≤ 400 ms"),
            BenchmarkReport.Row(what: "\(name): worst", ours: PairedTimes.text(worst), goal: "≤ 1 s"),
        ]
    }

    private static func measure(
        _ lines: [[UInt8]], _ count: Int, writes: Bool, hold: Duration?
    ) async throws -> (time: Duration, latencies: [Duration]) {
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        let pool = try await SQLitePool.open(path: folder.path + "/bench.db", readers: 4) {
            connection, isWriter in
            for pragma in BenchmarkDatabase.pragmas where isWriter || !pragma.hasPrefix("journal_mode") {
                try connection.execute("PRAGMA \(pragma)")
            }
            connection.setBusyTimeout(.seconds(30))
            if isWriter {
                try BenchmarkDatabase.install([BenchmarkRows.table], on: connection)
            } else {
                try CoreExtension.install(on: connection)
            }
        }
        do {
            let outcome = try await BusySync(pool, lines, count, writes: writes, hold: hold).run()
            let stored = try await pool.read { connection in
                try connection.one("SELECT count(*) FROM ps_data__todos") { $0.int64(0) }
            }
            await pool.close()
            guard stored == Int64(count) else {
                throw BenchmarkError("\(stored ?? 0) of \(count) rows are there")
            }
            return outcome
        } catch {
            await pool.close()
            throw error
        }
    }
}

/// One first sync, with an app that may write meanwhile.
private final class BusySync: Sendable {
    private struct State {
        var latencies: [Duration] = []
        /// Whether the last data line has been taken.
        var isDownloaded = false
    }

    /// The longest that a sync may take before it counts as stuck.
    private static let patience = Duration.seconds(900)

    private let pool: SQLitePool
    private let lines: [[UInt8]]
    private let lastOp: Int
    private let writes: Bool
    private let hold: Duration?
    private let state = Lock(State())
    private let downloaded = AsyncFlag()
    private let quiet = AsyncFlag()
    private let complete = AsyncFlag()

    init(_ pool: SQLitePool, _ lines: [[UInt8]], _ lastOp: Int, writes: Bool, hold: Duration?) {
        self.pool = pool
        self.lines = lines
        self.lastOp = lastOp
        self.writes = writes
        self.hold = hold
    }

    func run() async throws -> (time: Duration, latencies: [Duration]) {
        var options = SyncOptions()
        options.uploadThrottle = .zero
        if let hold { options.tuning.hold = hold }
        let environment = SyncEnvironment.system()
        let transport = MemoryTransport(lines.dropLast(), last: { try await self.lastLines() })
        let status = SharedStatus(SyncStatusSnapshot())
        status.observe { [complete] snapshot in
            let priorities = snapshot?.priorities ?? []
            if priorities.contains(where: { $0.priority == PrioritySyncState.fullSync }) { complete.raise() }
        }
        let coordinator = SyncCoordinator(
            database: SyncDatabase(pool: pool, environment: environment),
            backend: SyncBackend(
                fetchCredentials: { SyncCredentials(endpoint: "http://memory", token: "none") },
                uploadData: { try await self.upload() }),
            transport: transport, options: options, status: SyncStatusHub(of: status),
            environment: environment,
            log: { severity, message in
                if severity.rawValue >= LogSeverity.warning.rawValue { BenchmarkReport.progress(message) }
            })
        let start = ContinuousClock.now
        let time = try await withThrowingTaskGroup(of: Void.self, returning: Duration.self) { group in
            group.addTask { await coordinator.run() }
            group.addTask {
                try await ContinuousClock().sleep(for: Self.patience)
                throw BenchmarkError("the sync did not come to its end")
            }
            if writes {
                group.addTask {
                    try await self.writeByTheClock(from: start)
                    self.quiet.raise()
                    // What it wrote may go now, and the checkpoint be applied.
                    coordinator.triggerUpload()
                    try await Task.sleep(for: .seconds(86_400))
                }
            }
            group.addTask { try await self.complete.wait() }
            defer { group.cancelAll() }
            // The first that ends is the last of these, or an error.
            try await group.next()
            return ContinuousClock.now - start
        }
        return (time, state.withLock { $0.latencies })
    }

    /// Writes until the last data line has come, and returns when all that was due is committed.
    private func writeByTheClock(from start: ContinuousClock.Instant) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var due = start
            for number in 1... {
                due += BusySyncBenchmark.interval
                try await ContinuousClock().sleep(until: due)
                if state.withLock({ $0.isDownloaded }) { break }
                group.addTask { [due] in try await self.write(number, due: due) }
            }
            try await group.waitForAll()
        }
    }

    private func write(_ number: Int, due: ContinuousClock.Instant) async throws {
        try await pool.write(isCounted: true) { connection in
            try connection.transaction {
                try connection.run(
                    "INSERT INTO todos(id, description, position) VALUES (?1, ?2, ?3)",
                    [.text("local-\(number)"), .text("written while rows arrive"), .integer(Int64(number))])
            }
        }
        let latency = ContinuousClock.now - due
        state.withLock { $0.latencies.append(latency) }
    }

    /// The app's connector: everything at once, when it may.
    private func upload() async throws {
        while !state.withLock({ $0.isDownloaded }) { try await downloaded.wait() }
        try await pool.write(isCounted: true) { try $0.run("DELETE FROM ps_crud") }
    }

    /// What comes behind the last data line: the complete line, with the write checkpoint of what was uploaded.
    private func lastLines() async throws -> [UInt8] {
        state.withLock { $0.isDownloaded = true }
        downloaded.raise()
        let complete = lines.last ?? []
        guard writes else { return complete }
        try await quiet.wait()
        let diff = """
            {"checkpoint_diff":{"last_op_id":"\(lastOp)","write_checkpoint":"1","updated_buckets":[],\
            "removed_buckets":[]}}

            """
        return Array(diff.utf8) + complete
    }
}

/// A service whose lines are in memory.
private final class MemoryTransport: SyncTransport {
    private let lines: ArraySlice<[UInt8]>
    private let last: @Sendable () async throws -> [UInt8]

    init(_ lines: ArraySlice<[UInt8]>, last: @escaping @Sendable () async throws -> [UInt8]) {
        self.lines = lines
        self.last = last
    }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        MemoryStream(lines, last: last)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        SyncHTTPResponse(status: 200, body: Array("{\"data\":{\"write_checkpoint\":\"1\"}}".utf8))
    }
}

private final class MemoryStream: SyncResponseStream {
    let status = 200
    let headers = [SyncHTTPHeader("Content-Type", "application/x-ndjson")]
    private let lines: ArraySlice<[UInt8]>
    private let last: @Sendable () async throws -> [UInt8]
    private let position = Lock(0)

    init(_ lines: ArraySlice<[UInt8]>, last: @escaping @Sendable () async throws -> [UInt8]) {
        self.lines = lines
        self.last = last
    }

    func next() async throws -> [UInt8]? {
        let index = position.withLock { position in
            defer { position += 1 }
            return position
        }
        if index < lines.count { return lines[lines.startIndex + index] }
        if index == lines.count { return try await last() }
        // The stream stays open until the client leaves.
        try await Task.sleep(for: .seconds(86_400))
        return nil
    }

    func cancel() {}
}
