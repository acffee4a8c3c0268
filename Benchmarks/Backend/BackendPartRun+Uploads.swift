extension BackendPartRun {
    // MARK: One table

    /// Uploads large transactions for one table, in turn with a program in C that writes the same with one upsert each.
    func uniform() async throws -> BackendPart.Figures {
        let tables = UploadTables.uniform
        var rates = MeasuredPairs(.perSecond("rows"))
        var times = ProcessorTimes()
        try await world.with(tables) { source in
            try await world.with(tables) { other in
                let backend = try await source.start()
                let token = try await backend.tokens(["u1"])[0]
                for pair in 1...pairs {
                    let rows = rows(tables, pair)
                    let (ours, round) = try await sent(rows, tables, pair, to: backend, token: token)
                    let (limit, limitRound) = try await written(rows, tables, by: .arrays, in: other)
                    rates.add(rate(ours), limit: rate(limit))
                    times.add(joined(round, limitRound))
                    progress(pair, rates.last)
                }
                try await require(pairs * rowCount, in: tables, of: source)
                try await require(pairs * rowCount, in: tables, of: other)
            }
        }
        let row = rates.row("\(title): \(sizes.rows) PUTs a request, beside an upsert in C", goal: "≥ 0.5 ×")
        return BackendPart.Figures(rows: [row], processor: times.cells(title))
    }

    // MARK: Three tables

    /// Uploads large transactions for several tables, in turn with programs in C that write the same: one row after the
    /// other in one pipeline, and with an upsert for each table, which keeps no order.
    ///
    /// - Parameters:
    ///   - tables: the tables.
    ///   - what: what is said of them.
    ///   - goal: what is aimed at beside the pipeline.
    /// - Returns: the figures.
    /// - Throws: what goes wrong.
    func mixed(_ tables: UploadTables, what: String, goal: String) async throws -> BackendPart.Figures {
        var rates = MeasuredPairs(.perSecond("rows"))
        var besideUpserts = MeasuredPairs(.perSecond("rows"))
        var times = ProcessorTimes()
        try await world.with(tables) { source in
            try await world.with(tables) { ordered in
                try await world.with(tables) { grouped in
                    let backend = try await source.start()
                    let token = try await backend.tokens(["u1"])[0]
                    for pair in 1...pairs {
                        let rows = rows(tables, pair)
                        let (ours, round) = try await sent(rows, tables, pair, to: backend, token: token)
                        let (limit, limitRound) = try await written(rows, tables, by: .rows, in: ordered)
                        let (upserts, _) = try await written(rows, tables, by: .arrays, in: grouped)
                        rates.add(rate(ours), limit: rate(limit))
                        besideUpserts.add(rate(ours), limit: rate(upserts))
                        times.add(joined(round, limitRound))
                        progress(pair, "\(rates.last); beside upserts: \(besideUpserts.last)")
                    }
                    for database in [source, ordered, grouped] {
                        try await require(pairs * rowCount, in: tables, of: database)
                    }
                }
            }
        }
        let text = "\(title): \(sizes.rows) PUTs a request, three tables, \(what)"
        return BackendPart.Figures(
            rows: [
                rates.row("\(text), beside a pipeline of rows in C", goal: goal),
                besideUpserts.row("the same, beside three upserts in C"),
            ], processor: times.cells(title))
    }

    // MARK: One round

    /// The transactions of a round, with the first one, which is not measured.
    private var transactions: Int { sizes.transactions + 1 }

    /// The rows of all of them.
    private var rowCount: Int { transactions * sizes.rows }

    private func rows(_ tables: UploadTables, _ pair: Int) -> [UploadRow] {
        UploadRow.rows(of: tables, rowCount, seed: UInt64(pair))
    }

    /// Rows a second.
    private func rate(_ run: UploadThread.Run) -> Double {
        Double(sizes.transactions * sizes.rows) / run.seconds
    }

    /// Uploads rows through one connection.
    private func sent(
        _ rows: [UploadRow], _ tables: UploadTables, _ pair: Int, to backend: MeasuredBackend, token: String
    ) async throws -> (UploadThread.Run, ProcessorTimes.Round) {
        var requests = UploadRequests(connections: 1, perConnection: transactions, port: backend.port)
        for transaction in 0..<transactions {
            let operations = (0..<sizes.rows).map { place in
                let index = transaction * sizes.rows + place
                return rows[index].operation(
                    on: tables.names[place % tables.names.count], number: (pair - 1) * rowCount + index + 1)
            }
            requests.add(operations, token: token)
        }
        let before = (backend.processorTime, world.processorTime)
        let run = try await UploadThread.send(requests, warm: 1, to: backend.port)
        let round = ProcessorTimes.Round(
            backend: each(before.0, backend.processorTime), postgres: each(before.1, world.processorTime),
            generator: run.processor / Double(sizes.transactions * sizes.rows))
        return (run, round)
    }

    /// Has the same rows written by a program in C.
    private func written(
        _ rows: [UploadRow], _ tables: UploadTables, by way: UploadThread.Way, in source: BackendSource
    ) async throws -> (UploadThread.Run, ProcessorTimes.Round) {
        let before = world.processorTime
        let run = try await UploadThread.write(
            rows, transactions: transactions, to: tables, by: way, in: source.uri)
        let round = ProcessorTimes.Round(
            postgresOfLimit: each(before, world.processorTime),
            limit: run.processor / Double(sizes.transactions * sizes.rows))
        return (run, round)
    }

    /// What a row took of the time between two moments.
    private func each(_ before: Double?, _ after: Double?) -> Double? {
        guard let before, let after else { return nil }
        return (after - before) / Double(rowCount)
    }

    private func joined(_ ours: ProcessorTimes.Round, _ limit: ProcessorTimes.Round) -> ProcessorTimes.Round {
        ProcessorTimes.Round(
            backend: ours.backend, postgres: ours.postgres, generator: ours.generator,
            postgresOfLimit: limit.postgresOfLimit, limit: limit.limit)
    }
}
