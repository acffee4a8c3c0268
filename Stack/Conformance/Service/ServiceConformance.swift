import PowerSyncHTTPClient
import PowerSyncPostgresServer
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Plays recordings of the real service against another one and tells what differs.
package struct ServiceConformance: Sendable {
    /// What a run is asked for.
    package struct Options: Sendable {
        /// A folder of recordings, or one file.
        package var path: String
        /// The command line that starts the service; nil for this program's own.
        package var command: String?
        /// The command line that compacts its storage.
        package var compaction: String?
        /// The scenarios to run; empty for all.
        package var only: Set<String> = []
        /// The path of the list of what may be refused.
        package var missing: String?
        /// The path of the list of whose lines differ.
        package var differing: String?
        /// Whether files stay.
        package var keepsFiles = false
        /// Whether scenarios that pass get a line, and lines that differ are shown.
        package var isVerbose = false
        /// How many services run side by side.
        package var jobs = 2

        /// Makes options with the defaults.
        package init(path: String) { self.path = path }
    }

    private let options: Options
    private let executable: String
    private let print: @Sendable (String) -> Void
    private let progress: @Sendable (_ done: Int, _ total: Int, _ last: String) -> Void

    /// Makes a run.
    ///
    /// - Parameters:
    ///   - options: what was asked for.
    ///   - executable: the path of `powersync-stack`.
    ///   - print: receives each line of the report.
    ///   - progress: receives how many scenarios are done, of how many, and which was the last.
    package init(
        _ options: Options, executable: String, print: @escaping @Sendable (String) -> Void,
        progress: @escaping @Sendable (_ done: Int, _ total: Int, _ last: String) -> Void = { _, _, _ in }
    ) {
        self.options = options
        self.executable = executable
        self.print = print
        self.progress = progress
    }

    /// Plays every `*.json` below the folder.
    ///
    /// - Parameter session: closes what is opened.
    /// - Returns: whether all passed.
    /// - Throws: `StackError` if there is nothing to play, `PostgresServerError`, `CancellationError`.
    package func run(_ session: Session) async throws -> Bool {
        func list(_ path: String) throws(StackError) -> MissingConstructs {
            try MissingConstructs(parsing: try TextFile.read(path), named: path)
        }
        let missing = try options.missing.map { path throws(StackError) in try list(path) }
        let differing = try options.differing.map { path throws(StackError) in try list(path) }
        let work = try chosen(missing)
        let folder = try scratch(session)
        if options.keepsFiles { print("configurations, logs and received lines go to \(folder)") }
        let poller = try session.poller()
        let client = try HTTPClient()
        session.onEnd { client.close() }
        let server = try await PostgresServer.start(log: { _ in })
        session.onEnd { await server.stop() }
        let machine = ScenarioService.Machine(
            program: options.command.map { .command($0) } ?? .own(executable: executable),
            compaction: options.compaction, server: server, poller: poller, client: client,
            environment: ProcessInfo.processInfo.environment)
        let trial = ScenarioTrial(
            machine: machine, missing: missing, differing: differing, folder: folder)
        let count = try await play(work, trial)
        print(count.summary)
        return count.isSuccess
    }

    private struct Work: Sendable {
        let file: String
        let scenario: ServiceScenario
    }

    private func chosen(_ missing: MissingConstructs?) throws(StackError) -> [Work] {
        var work: [Work] = []
        for file in try JSONFiles.below(options.path) {
            // They lie beside the scenarios and are another kind of file.
            if file.dropFirst(options.path.count).split(separator: "/").dropLast().contains("captures") {
                continue
            }
            let scenario = try Self.scenario(file)
            if let other = work.first(where: { $0.scenario.name == scenario.name }) {
                throw StackError(
                    .file, "\(other.file) and \(file) are both named \(scenario.name); names must differ")
            }
            work.append(Work(file: file, scenario: scenario))
        }
        let names = Set(work.map(\.scenario.name))
        if let unknown = options.only.subtracting(names).min() {
            throw StackError(.file, "there is no scenario \(unknown) below \(options.path)")
        }
        if options.only.isEmpty, let missing, let stale = Set(missing.byName.keys).subtracting(names).min() {
            throw StackError(.file, "the list of what may be refused names \(stale), which is not there")
        }
        work = work.filter { options.only.isEmpty || options.only.contains($0.scenario.name) }
        guard !work.isEmpty else {
            throw StackError(.file, "there is no scenario below \(options.path); see --help")
        }
        return work
    }

    private static func scenario(_ file: String) throws(StackError) -> ServiceScenario {
        do throws(StackError) {
            return try ServiceScenario(parsing: try TextFile.read(file))
        } catch {
            throw StackError(.file, "\(file): \(error.message)")
        }
    }

    private func scratch(_ session: Session) throws -> String {
        guard options.keepsFiles else { return try session.temporaryFolder() }
        let name = "powersync-conformance-\(UUID().uuidString.prefix(8))"
        return try PrivateFile.makeFolder(FileManager.default.temporaryDirectory.path + "/" + name)
    }

    /// Plays some scenarios side by side; what is printed keeps the order of the files.
    private func play(_ work: [Work], _ trial: ScenarioTrial) async throws -> OutcomeCount {
        var count = OutcomeCount()
        var waiting: [Int: ScenarioTrial.Report] = [:]
        var (next, printed) = (0, 0)
        try await withThrowingTaskGroup(of: (Int, ScenarioTrial.Report).self) { group in
            func add() {
                guard next < work.count else { return }
                let (number, scenario) = (next, work[next].scenario)
                next += 1
                group.addTask { (number, try await trial.run(scenario, number: number)) }
            }
            for _ in 0..<max(1, options.jobs) { add() }
            while let (number, report) = try await group.next() {
                add()
                waiting[number] = report
                progress(printed + waiting.count, work.count, work[number].scenario.name)
                while let report = waiting.removeValue(forKey: printed) {
                    tell(report, of: work[printed].file)
                    count.add(report.outcome)
                    printed += 1
                }
            }
        }
        return count
    }

    private func tell(_ report: ScenarioTrial.Report, of file: String) {
        for remark in report.remarks { print("\(file): \(remark)") }
        switch report.outcome {
        case .failed(let failures): for failure in failures { print("\(file): \(failure)") }
        case .notRun(let reason): print("\(file): not run: \(reason)")
        case .passed(let isLineByLine):
            guard options.isVerbose else { return }
            for difference in report.lineDifferences { print("\(file): lines: \(difference)") }
            print("\(file): passed\(isLineByLine ? ", line by line too" : "")")
        case .refusedAsListed(let reason):
            if options.isVerbose { print("\(file): refused as listed: \(reason)") }
        }
    }
}
