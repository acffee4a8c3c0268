import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem

/// Measures a backend, part by part, each figure in turn with its limit.
struct BackendBenchmark: Sendable {
    /// How often everything is measured unless it is said otherwise.
    static let standardPairs = 5

    /// What is measured.
    let parts: [BackendPart]
    /// How often.
    let pairs: Int
    /// Whether commits wait for the disk: a run for each.
    var durabilities = [true, false]
    /// The path of the backend; nil for the one that was built with this program.
    var program: String?
    /// How much of everything there is.
    var sizes = BackendSizes.standard

    /// What came of a run.
    struct Outcome: Sendable {
        /// The lines of the table.
        var rows: [BenchmarkReport.Row] = []
        /// The lines of the table of processor time.
        var processor: [[String]] = []
        /// Whether a part went wrong.
        var hasFailed = false
    }

    /// Measures on one Postgres after the other, and prints the tables; returns the exit status.
    func run() async throws -> Int32 {
        var all = Outcome()
        for isDurable in durabilities {
            let end = try await Session.run(until: StopSignal.stream()) { session in
                BenchmarkReport.progress("backend: starting Postgres with fsync \(isDurable ? "on" : "off")")
                return try await measure(session, isDurable: isDurable)
            }
            guard let end else { return 130 }
            all.rows += end.rows
            all.processor += end.processor
            all.hasFailed = all.hasFailed || end.hasFailed
        }
        var report = BenchmarkReport()
        report.add(all.rows)
        StandardOutput.print(
            BenchmarkReport.table(ProcessorTimes.head, all.processor) + "\n\n" + (try report.text()))
        return all.hasFailed ? 1 : 0
    }

    /// Measures all parts; one that goes wrong has a line that says so, and does not keep the next from being measured.
    ///
    /// - Parameters:
    ///   - session: closes what is opened.
    ///   - isDurable: whether a commit waits for the disk.
    /// - Returns: what came of it.
    /// - Throws: errors of starting Postgres; `CancellationError`.
    func measure(_ session: Session, isDurable: Bool) async throws -> Outcome {
        let world = try await BackendWorld(isDurable: isDurable, program: program, session: session)
        var outcome = Outcome()
        for part in parts {
            do {
                let figures = try await part.measure(in: world, sizes: sizes, pairs: pairs)
                outcome.rows += figures.rows
                outcome.processor.append(figures.processor)
            } catch {
                try Task.checkCancellation()
                outcome.hasFailed = true
                let name = "\(part.rawValue), \(world.durability)"
                BenchmarkReport.progress("\(name) failed: \(error)")
                outcome.rows.append(BenchmarkReport.Row(what: name, ours: "failed"))
            }
        }
        return outcome
    }
}
