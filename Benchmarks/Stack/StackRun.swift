import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

/// One run of the measures of two clients: what is done, when it begins and when it counts as done.
///
/// It is the work that the official stack was measured with. A figure ends with the line that tells of the end: the answer
/// to a wait, or a result of a watched query.
struct StackRun: Sendable {
    /// How many writes are followed from one client to the other.
    static let writes = 60
    /// How many rows one transaction has.
    private static let transactionRows = 1000
    /// How many transactions of one row there are.
    private static let singles = 300

    /// What is measured.
    let plan: StackBenchmark
    /// What the run is called.
    let name: String
    /// Closes what is opened.
    let session: Session
    /// Gets the figures as they come.
    let figures: Lock<[StackBenchmark.Figure: Double]>

    /// Starts everything, measures, and compares all rows at the end.
    ///
    /// - Throws: `StackError` with `.deadline` for what does not come, with `.partEnded` when a part dies; errors of
    ///   starting and of the clients.
    func measure() async throws {
        BenchmarkReport.progress("\(name): starting Postgres, backend and service")
        try await StackWorld.with(items: plan.rows, session: session) { world in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await world.stack.watch() }
                group.addTask { try await measure(in: world) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func measure(in world: StackWorld) async throws {
        try await warm(world)
        let service = try await world.stack.url(.service)
        let a = try await world.client("a", at: service)
        let first = try await firstSync(of: a)
        let peak = try ProcessMemory.other(a.processID, .peak)
        if plan.works.contains(.firstSync) {
            note(.firstSync, first)
            note(.memory, bytes: peak)
        }
        let b = try await world.client("b", at: service)
        _ = try await firstSync(of: b)
        try await b.watch("SELECT id, body FROM notes ORDER BY id DESC LIMIT 1")
        try await Phase.pause(.seconds(1))
        if plan.works.contains(.writeToWatch) { try await writeToWatch(a, b) }
        if plan.works.contains(.oneTransaction) { try await oneTransaction(a, b) }
        if plan.works.contains(.singleTransactions) { try await singleTransactions(a, b) }
        try await world.converge([a, b])
        BenchmarkReport.progress("\(name): A = B = Postgres")
    }

    // MARK: First sync

    /// Lets a client sync through a server that records, so that the service has everything ready, and measures another one
    /// with the recorded bytes.
    private func warm(_ world: StackWorld) async throws {
        let service = try await world.stack.url(.service)
        let canned = try CannedService(of: service, poller: world.poller)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await canned.run() }
            defer { group.cancelAll() }
            let recorded = try await world.client("recorded", at: canned.url)
            _ = try await firstSync(of: recorded)
            await recorded.end()
            guard plan.works.contains(.firstSync) else { return }
            canned.replay()
            BenchmarkReport.progress("\(name): recorded a first sync of \(canned.size) bytes")
            let client = try await world.client("canned", at: canned.url, token: "none")
            note(.firstSyncCanned, try await firstSync(of: client))
            note(.memoryCanned, bytes: try ProcessMemory.other(client.processID, .peak))
            await client.end()
        }
    }

    /// Returns how long a client that has nothing takes from connecting to the end of its first sync.
    private func firstSync(of client: MeasuredClient) async throws -> Duration {
        try await client.ready()
        let start = ContinuousClock.now
        try await client.ask("connect")
        let end = try await client.wait(for: "first-sync", within: .seconds(600)).arrival
        let count = try await client.rows("SELECT count(*) AS n FROM items").first?["n"]?.int64Value
        guard count == Int64(plan.rows) else {
            throw BenchmarkError(
                "client \(client.name) has \(count ?? 0) of \(plan.rows) items after its first sync")
        }
        return end - start
    }

    // MARK: Writes

    private func writeToWatch(_ a: MeasuredClient, _ b: MeasuredClient) async throws {
        var times: [Duration] = []
        for number in 1...Self.writes {
            let id = StackApp.id("n", number)
            let start = ContinuousClock.now
            try await a.transact([StackApp.note(id)])
            times.append(try await b.arrival(of: id) - start)
            try await a.wait(for: "queue-empty")
            try await Phase.pause(.milliseconds(50))
        }
        note(.writeMedian, PairedTimes.median(times))
        note(.writeWorst, times.max() ?? .zero)
    }

    private func oneTransaction(_ a: MeasuredClient, _ b: MeasuredClient) async throws {
        let notes = (1...Self.transactionRows).map { StackApp.note(StackApp.id("q", $0)) }
        let start = ContinuousClock.now
        try await a.transact(notes)
        let uploaded = try await a.wait(for: "queue-empty", within: .seconds(300)).arrival
        let arrived = try await b.arrival(
            of: StackApp.id("q", Self.transactionRows), within: .seconds(300))
        note(.transactionUploaded, uploaded - start)
        note(.transactionArrived, arrived - start)
    }

    private func singleTransactions(_ a: MeasuredClient, _ b: MeasuredClient) async throws {
        let start = ContinuousClock.now
        var sent: [Int] = []
        for number in 1...Self.singles {
            let statements = JSON.array([StackApp.note(StackApp.id("r", number))])
            sent.append(try await a.send("write", [JSONMember("tx", statements)]))
        }
        for id in sent { _ = try await a.answer(to: id, of: "write") }
        let uploaded = try await a.wait(for: "queue-empty", within: .seconds(300)).arrival
        _ = try await b.arrival(of: StackApp.id("r", Self.singles), within: .seconds(300))
        note(.singlesUploaded, uploaded - start)
    }

    // MARK: Figures

    private func note(_ figure: StackBenchmark.Figure, _ time: Duration) {
        figures.withLock { $0[figure] = time / .seconds(1) }
        BenchmarkReport.progress("\(name): \(figure.rawValue) \(PairedTimes.text(time))")
    }

    /// Notes memory, in megabytes of 1,048,576 bytes; nothing where it is not known.
    private func note(_ figure: StackBenchmark.Figure, bytes: Int?) {
        guard let bytes else { return }
        let megabytes = Double(bytes) / 1_048_576
        figures.withLock { $0[figure] = megabytes }
        BenchmarkReport.progress("\(name): \(figure.rawValue) \(Int(megabytes.rounded())) MB")
    }
}
