import PowerSyncWire

/// Does the steps of one scenario to a service and tells where it differs.
package actor ScenarioRun {
    /// What became of the steps.
    package struct Result: Sendable {
        /// The differences, each with its step.
        package var failures: [String] = []
        /// Where lines differ although what a client holds does not.
        package var lineDifferences: [String] = []
        /// Why the run ended before the last step although nothing differs.
        package var stopped: String?
        /// How many things were compared.
        package var compared = 0
        /// Whether settling was by silence because the service has no gauge.
        package var lacksGauge = false

        /// Makes the result of no step.
        package init() {}

        /// Returns what that is for the scenario.
        ///
        /// - Parameter more: failures beside those of the steps.
        /// - Returns: its outcome.
        package func outcome(with more: [String] = []) -> ScenarioOutcome {
            if !(failures + more).isEmpty { return .failed(failures + more) }
            if let stopped { return .notRun(stopped) }
            guard compared > 0 else { return .failed(["it compares nothing"]) }
            return .passed(lineByLine: lineDifferences.isEmpty)
        }
    }

    let scenario: ServiceScenario
    let service: any ServiceUnderTest
    let silence: Duration
    private(set) var result = Result()
    var clients: [String: ScenarioClient] = [:]
    var firstNumbers: (recorded: Int?, received: Int?)
    /// Whether something was written since the last settle.
    var hasWritten = false { didSet { isPublished = !hasWritten } }
    /// Whether nothing was written since then that no probe has waited for.
    var isPublished = true
    var transactions = 0
    var probes = 0

    /// How long a state may take to come.
    static let patience = Duration.seconds(60)

    /// Prepares the run of a scenario.
    ///
    /// - Parameters:
    ///   - scenario: what was recorded.
    ///   - service: the service under test, which has begun.
    ///   - silence: how long nothing must have come behind the last step.
    package init(
        _ scenario: ServiceScenario, service: any ServiceUnderTest, silence: Duration = .milliseconds(50)
    ) {
        self.scenario = scenario
        self.service = service
        self.silence = silence
    }

    /// Does all steps; the first settled state that differs ends it.
    ///
    /// - Returns: what was found.
    /// - Throws: `CancellationError`; every other error is a failure of its step.
    package func run() async throws -> Result {
        for (index, step) in scenario.steps.enumerated() {
            do {
                let found = try await perform(step, at: index)
                result.failures += found.map { "step \(index) (\(step.kind)): \($0)" }
                let goesOn = if case .http = step { true } else { found.isEmpty }
                if !goesOn || result.stopped != nil { break }
            } catch let error as CancellationError {
                throw error
            } catch let refusal as ScenarioService.Refusal {
                result.failures.append("step \(index) (\(step.kind)): the service ended: \(refusal.reason)")
                break
            } catch {
                let log = await service.logEnd
                result.failures.append(
                    "step \(index) (\(step.kind)): \(error); the log of the service ends: \(log)")
                break
            }
        }
        if result.failures.isEmpty, result.stopped == nil { try await compareWhatCameLast() }
        for client in clients.values { client.stream.close() }
        return result
    }

    /// What each client received, for those who want to read it.
    var received: [String: [JSON]] { clients.mapValues(\.lines) }

    private func perform(_ step: ServiceStep, at index: Int) async throws -> [String] {
        switch step {
        case .open(let opening): try await open(opening, at: index)
        case .tx(let statements):
            try await service.transact(statements)
            hasWritten = true
            transactions += 1
        case .settle(let lines): return try await settle(lines, at: index)
        case .close(let client): leave(client)
        case .waitEnd(let end): return try await waitEnd(end)
        case .http(let request, let answer):
            hasWritten = true
            return try await exchange(request, answer)
        case .pause(let duration): try await ContinuousClock().sleep(for: duration)
        case .stop:
            try await service.stop()
            for client in clients.keys { leave(client) }
        case .restart(let syncConfig):
            for client in clients.keys { leave(client) }
            try await service.restart(syncConfig)
            if syncConfig != nil { try await waitForNewNumber(after: index) }
            hasWritten = true
        case .compact:
            if let reason = try await service.compact() {
                result.stopped = "not run from step \(index) (compact) on: \(reason)"
            }
        }
        return []
    }

    private func open(_ opening: RecordedOpening, at index: Int) async throws {
        // What the real service wrote was published when the next client came, as its first lines show.
        if !isPublished, await service.isRunning, mayProbe(at: index) { try await probe() }
        let access = await service.access
        let client = try ScenarioClient(
            opening, former: opening.positionsOf.flatMap { clients[$0] }
        ) { body in
            try access.open(
                user: opening.user, claims: opening.claims,
                fields: [("Accept", opening.accept)] + opening.headers, body: body)
        }
        clients[opening.client] = client
        // The head comes with the first line, so what follows is behind the checkpoint that was opened at.
        try await Deadline.wait(
            Self.patience, pause: .milliseconds(2), for: "an answer to \(opening.client)",
            seen: { client.stream.reason }
        ) {
            client.stream.response != nil || client.stream.end != nil ? () : nil
        }
    }

    /// Ends what a client hears.
    private func leave(_ name: String) {
        clients[name]?.drain()
        clients[name]?.stream.close()
        clients[name]?.isGone = true
    }

    private func exchange(_ request: RecordedRequest, _ recorded: RecordedAnswer) async throws -> [String] {
        try await service.requireLife()
        let answer = try await service.access.send(request)
        let comparison = AnswerComparison(request, recorded: recorded, received: answer)
        if comparison.isCompared { noteComparison() }
        result.lineDifferences += comparison.detailDifferences
        return comparison.differences.map { "\(request.method) \(request.path): \($0)" }
    }

    /// Compares what every client knows; call it when nothing more is to come.
    ///
    /// - Parameters:
    ///   - ending: the client whose stream was waited for to end.
    ///   - isChosen: which clients are compared.
    /// - Returns: the differences.
    func compare(
        ending: String? = nil, where isChosen: (ScenarioClient) -> Bool = { _ in true }
    ) -> [String] {
        learnFirstNumbers()
        var differences: [String] = []
        for (name, client) in clients.sorted(by: { $0.key < $1.key })
        where !client.isGone && isChosen(client) {
            if name != ending, let end = client.earlyEnd { differences.append("\(name): \(end)") }
            let comparison = StateComparison(
                recorded: client.recorded, received: client.received, firstNumbers: firstNumbers)
            result.compared += comparison.compared
            differences += comparison.differences.map { "\(name): \($0)" }
        }
        return differences
    }

    private func learnFirstNumbers() {
        for client in clients.values {
            let old = client.recorded.listed.values.lazy.compactMap { BucketLabel($0.name).number }.first
            let new = client.received.listed.values.lazy.compactMap { BucketLabel($0.name).number }.first
            firstNumbers.recorded = firstNumbers.recorded ?? old
            firstNumbers.received = firstNumbers.received ?? new
        }
    }

    /// Compares the lines that came since the last time.
    ///
    /// - Parameters:
    ///   - recorded: what the real service sent, a client.
    ///   - withTokens: whether `token_expires_in` counts.
    ///   - isChosen: which clients are compared.
    func compareLines(
        _ recorded: [String: RecordedLines], withTokens: Bool = false,
        where isChosen: (ScenarioClient) -> Bool = { _ in true }
    ) {
        for (name, client) in clients.sorted(by: { $0.key < $1.key }) where isChosen(client) {
            let new = Array(client.lines[client.comparedLines...])
            clients[name]?.comparedLines = client.lines.count
            guard !client.isGone else { continue }
            let difference = NormalLines.difference(
                recorded: NormalLines.texts(recorded[name]?.lines ?? [], withTokens: withTokens),
                received: NormalLines.texts(new, withTokens: withTokens))
            if let difference { result.lineDifferences.append("\(name): \(difference)") }
        }
    }

    /// Adds a failure beside those of the steps.
    func fail(_ failure: String) { result.failures.append(failure) }

    /// Counts one more thing that was compared.
    func noteComparison() { result.compared += 1 }

    /// Remembers that settling was by silence.
    func noteMissingGauge() { result.lacksGauge = true }
}
