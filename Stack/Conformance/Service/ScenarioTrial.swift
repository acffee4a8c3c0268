import PowerSyncSyncRules
import PowerSyncWire

/// Plays one scenario after another, each on a service and databases of its own.
struct ScenarioTrial: Sendable {
    /// What is told of one scenario.
    struct Report: Sendable {
        /// What became of it.
        var outcome: ScenarioOutcome
        /// What a reader must know to judge the outcome.
        var remarks: [String] = []
        /// Where lines differ although what a client holds does not.
        var lineDifferences: [String] = []
    }

    /// What all scenarios share.
    let machine: ScenarioService.Machine
    /// What may be refused or not be run; nil if nobody said.
    let missing: MissingConstructs?
    /// Whose lines differ though nothing that a client holds does, and why; nil if nobody said.
    let differing: MissingConstructs?
    /// Where the files of all scenarios go.
    let folder: String

    /// Plays a scenario.
    ///
    /// - Parameters:
    ///   - scenario: what was recorded.
    ///   - number: which one it is, for the names of databases.
    /// - Returns: what to tell.
    /// - Throws: `CancellationError`; every other error is a failure of the scenario.
    func run(_ scenario: ServiceScenario, number: Int) async throws -> Report {
        if case .own = machine.program, let reason = Self.refusal(of: scenario.syncConfigs) {
            return judge(refusal: reason, of: scenario.name)
        } else if case .own = machine.program, !scenario.compacts,
            let reason = missing?.byName[scenario.name]
        {
            return Self.failure("listed as refused (\(reason)), but accepted: strike it off")
        }
        do {
            return try await play(scenario, number)
        } catch let error as CancellationError {
            throw error
        } catch let refusal as ScenarioService.Refusal {
            // What our own refuses is known without starting it.
            if case .own = machine.program { return Self.failure("the service ended: \(refusal.reason)") }
            if refusal.isCrash { return Self.failure("the command did not start: \(refusal.reason)") }
            return judge(refusal: refusal.reason, of: scenario.name)
        } catch {
            return Report(outcome: .failed(["\(error)"]))
        }
    }

    private static func refusal(of configs: [String]) -> String? {
        for config in configs.map({ SyncConfig.compile($0) }) where config.plan == nil {
            return PlacedDiagnostic.all(of: config).first { $0.severity == .fatal }?.line ?? "refused"
        }
        return nil
    }

    /// Returns what a refusal is, a failure unless it is listed with that reason.
    private func judge(refusal: String, of name: String) -> Report {
        let list = missing ?? MissingConstructs()
        if let objection = list.objection(to: refusal, of: name, "refused") { return Self.failure(objection) }
        return Report(outcome: .refusedAsListed(refusal))
    }

    /// Returns what a scenario is that our own service is not asked to its end: a failure if there is a list and it is not
    /// there.
    private func judge(_ report: Report, of name: String) -> Report {
        guard case .own = machine.program, let missing else { return report }
        switch report.outcome {
        case .notRun(let reason):
            return missing.objection(to: reason, of: name, "not run").map(Self.failure) ?? report
        case .passed where missing.byName[name] != nil:
            return Self.failure("listed, but passed: strike it off")
        case .passed, .failed, .refusedAsListed: return report
        }
    }

    private static func failure(_ text: String) -> Report { Report(outcome: .failed([text])) }

    private func play(_ scenario: ServiceScenario, _ number: Int) async throws -> Report {
        let folder = try PrivateFile.makeFolder(
            "\(folder)/\(number)-\(ServiceScenario.fileName(scenario.name))")
        let service = ScenarioService(
            machine, number: number, folder: folder, scenario: scenario, syncConfig: scenario.syncConfig)
        let run = ScenarioRun(scenario, service: service)
        let result: ScenarioRun.Result
        do {
            try await service.begin(scenario.schema)
            if case .command = machine.program, let construct = missing?.byName[scenario.name] {
                throw StackError(
                    .answer, "listed as refused (\(construct)), but the service starts: strike it off")
            }
            result = try await run.run()
            for (client, lines) in await run.received {
                try PrivateFile.write(
                    lines.map { $0.text + "\n" }.joined(),
                    to: "\(folder)/\(ServiceScenario.fileName(client)).ndjson")
            }
        } catch {
            // What went wrong first is the error to tell; the server ends with the run.
            try? await service.end()
            throw error
        }
        var atTheEnd: [String] = []
        do {
            try await service.end()
        } catch {
            atTheEnd.append("at the end: \(error)")
        }
        var report = Report(
            outcome: result.outcome(with: atTheEnd), lineDifferences: result.lineDifferences)
        if result.lacksGauge {
            report.remarks.append(
                "the service has no gauge powersync_sessions_behind: settled is half a second without a line")
        }
        if let reason = differing?.byName[scenario.name], case .passed(let isLineByLine) = report.outcome {
            guard !isLineByLine else {
                return Self.failure("listed for other lines (\(reason)), but they are equal: strike it off")
            }
            report.remarks.append("its lines are others: \(reason)")
        }
        return judge(report, of: scenario.name)
    }
}
