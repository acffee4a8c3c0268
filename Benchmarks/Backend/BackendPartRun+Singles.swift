import PowerSyncWire

extension BackendPartRun {
    /// The number of the operation by which the backend's statements are told from others.
    private static let toldNumber = 7_000_001

    /// Lets many users upload one operation after the other, in turn with pgbench, which sends the backend's statements.
    func singles() async throws -> BackendPart.Figures {
        let tables = UploadTables.uniform
        let pgbench = try await PgbenchRun(
            program: world.postgres.program("pgbench"), folder: world.postgres.folder)
        var figures = SingleFigures(title: title, users: sizes.users)
        try await world.with(tables) { source in
            try await world.with(tables) { other in
                let script = try await told(other)
                let backend = try await source.start()
                let tokens = try await backend.tokens((0..<sizes.users).map { "user-\($0)" })
                for pair in 1...pairs {
                    let (ours, round) = try await sent(pair, to: backend, tokens)
                    let (limit, limitRound) = try await repeated(script, pair, by: pgbench, in: other)
                    figures.add(ours, round, limit, limitRound)
                    progress(pair, figures.last)
                }
                let count = pairs * sizes.users * sizes.singles
                // Each user's first request of a round is not measured.
                try await require(count + pairs * sizes.users, in: tables, of: source)
                try await require(count + 3, in: tables, of: other)
            }
        }
        return figures.figures
    }

    // MARK: The statements

    /// Uploads three operations while the server logs all statements, and returns a script of the last one's.
    private func told(_ source: BackendSource) async throws -> PipelineScript {
        try await source.logsStatements(true)
        let backend = try await source.start()
        let token = try await backend.tokens(["told"])[0]
        var requests = UploadRequests(connections: 1, perConnection: 3, port: backend.port)
        let numbers = (Self.toldNumber - 2)...Self.toldNumber
        for number in numbers {
            requests.add([operation(id: "told-\(number)", number: number)], token: token)
        }
        _ = try await UploadThread.send(requests, warm: 0, to: backend.port)
        await source.end()
        try await source.logsStatements(false)
        return try PipelineScript(
            ServerLog.statements(of: try world.postgres.log()), number: Self.toldNumber,
            rowID: "told-\(Self.toldNumber)", user: "told")
    }

    private func operation(id: String, number: Int) -> UploadOperation {
        let row = UploadRow(
            values: [id, UploadTables.kinds[0], "a text of some forty bytes, as in an app", "7", "1.5"])
        return row.operation(on: UploadTables.uniform.names[0], number: number)
    }

    // MARK: One round

    /// What came of a round, by the backend or by pgbench.
    struct Outcome: Sendable {
        /// Transactions a second.
        var rate: Double
        /// How long each took, in seconds.
        var times: [Double]
    }

    private func sent(
        _ pair: Int, to backend: MeasuredBackend, _ tokens: [String]
    ) async throws -> (Outcome, ProcessorTimes.Round) {
        let perConnection = sizes.singles + 1
        var requests = UploadRequests(
            connections: sizes.users, perConnection: perConnection, port: backend.port)
        for (user, token) in tokens.enumerated() {
            for place in 1...perConnection {
                let number = (pair - 1) * perConnection + place
                requests.add([operation(id: "\(user)-\(number)", number: number)], token: token)
            }
        }
        let before = (backend.processorTime, world.processorTime)
        let run = try await UploadThread.send(requests, warm: 1, to: backend.port)
        let all = sizes.users * perConnection
        let measured = Double(sizes.users * sizes.singles)
        let round = ProcessorTimes.Round(
            backend: each(before.0, backend.processorTime, of: all),
            postgres: each(before.1, world.processorTime, of: all), generator: run.processor / measured)
        return (Outcome(rate: measured / run.seconds, times: run.latencies), round)
    }

    private func repeated(
        _ script: PipelineScript, _ pair: Int, by pgbench: PgbenchRun, in source: BackendSource
    ) async throws -> (Outcome, ProcessorTimes.Round) {
        let before = (world.processorTime, ProcessorTime.ofEndedChildren())
        let outcome = try await pgbench.run(
            script, clients: sizes.users, transactions: sizes.singles, first: pair * 1_000_000,
            in: source.uri)
        let all = sizes.users * sizes.singles
        let round = ProcessorTimes.Round(
            postgresOfLimit: each(before.0, world.processorTime, of: all),
            limit: each(before.1, ProcessorTime.ofEndedChildren(), of: all))
        return (outcome, round)
    }

    /// What a transaction took of the time between two moments.
    private func each(_ before: Double?, _ after: Double?, of count: Int) -> Double? {
        guard let before, let after else { return nil }
        return (after - before) / Double(count)
    }
}

/// The figures of the rounds of `singles`.
struct SingleFigures {
    private let title: String
    private let users: Int
    private var rates = MeasuredPairs(.perSecond("tx"))
    private var medians = MeasuredPairs(.seconds)
    private var tails = MeasuredPairs(.seconds)
    private var tailsOfLimit = MeasuredPairs(.seconds)
    private var times = ProcessorTimes()

    /// Begins without figures.
    ///
    /// - Parameters:
    ///   - title: the name of the part in the tables.
    ///   - users: how many users there are.
    init(title: String, users: Int) {
        self.title = title
        self.users = users
    }

    /// Adds a round.
    mutating func add(
        _ ours: BackendPartRun.Outcome, _ round: ProcessorTimes.Round, _ limit: BackendPartRun.Outcome,
        _ limitRound: ProcessorTimes.Round
    ) {
        let (median, tail) = (MeasuredPairs.median(ours.times), MeasuredPairs.quantile(0.99, of: ours.times))
        let tailOfLimit = MeasuredPairs.quantile(0.99, of: limit.times)
        rates.add(ours.rate, limit: limit.rate)
        medians.add(median, limit: MeasuredPairs.median(limit.times))
        tails.add(tail, limit: Self.tailLimit(median: median, limit: tailOfLimit))
        tailsOfLimit.add(tail, limit: tailOfLimit)
        times.add(
            ProcessorTimes.Round(
                backend: round.backend, postgres: round.postgres, generator: round.generator,
                postgresOfLimit: limitRound.postgresOfLimit, limit: limitRound.limit))
    }

    /// The time below which 99 of 100 requests should be.
    ///
    /// - Parameters:
    ///   - median: the median of them all, in seconds.
    ///   - limit: the time below which 99 of 100 transactions of pgbench are.
    /// - Returns: five times the one or twice the other, whichever is more.
    static func tailLimit(median: Double, limit: Double) -> Double { max(5 * median, 2 * limit) }

    /// The last round, for the progress on standard error.
    var last: String { "\(rates.last); median \(medians.last); p99 \(tailsOfLimit.last)" }

    /// What the part says at its end.
    var figures: BackendPart.Figures {
        BackendPart.Figures(
            rows: [
                rates.row(
                    "\(title): one PUT a request, \(users) users, beside pgbench with the same statements",
                    goal: "≥ 0.5 ×"),
                medians.row("the same: median"),
                tails.row(
                    "the same: p99, beside the larger of 5 × median and 2 × that of pgbench",
                    goal: "≤ 1.0 ×"),
                tailsOfLimit.row("the same: p99, beside that of pgbench"),
            ], processor: times.cells(title))
    }
}
