import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem

/// Measures a service, part by part, each figure in turn with its limit.
struct ServiceBenchmark: Sendable {
    /// How often everything is measured unless it is said otherwise.
    static let standardPairs = 5

    /// What is measured.
    let parts: [ServicePart]
    /// How often.
    let pairs: Int
    /// The path of the service; nil for the one that was built with this program.
    var program: String?
    /// How much of everything there is.
    var sizes = ServiceSizes.standard

    /// Measures, and prints the table; returns the exit status.
    func run() async throws -> Int32 {
        let end = try await Session.run(until: StopSignal.stream()) { session in
            BenchmarkReport.progress("service: starting Postgres")
            return try await measure(session)
        }
        guard let end else { return 130 }
        var report = BenchmarkReport()
        report.add(end.rows)
        StandardOutput.print(try report.text())
        return end.hasFailed ? 1 : 0
    }

    /// Measures all parts; one that goes wrong has a line that says so, and does not keep the next from being measured.
    ///
    /// - Parameter session: closes what is opened.
    /// - Returns: the lines of the table, and whether a part went wrong.
    /// - Throws: errors of starting Postgres; `CancellationError`.
    func measure(_ session: Session) async throws -> (rows: [BenchmarkReport.Row], hasFailed: Bool) {
        let world = try await ServiceWorld(program: program, session: session)
        var rows: [BenchmarkReport.Row] = []
        var hasFailed = false
        for part in parts {
            do {
                rows += try await part.measure(in: world, sizes: sizes, pairs: pairs)
            } catch {
                try Task.checkCancellation()
                hasFailed = true
                BenchmarkReport.progress("\(part.rawValue) failed: \(error)")
                rows.append(BenchmarkReport.Row(what: part.rawValue, ours: "failed"))
            }
        }
        return (rows, hasFailed)
    }
}
