import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem

/// Measures what two clients of one user, backend and service do together.
struct StackBenchmark: Sendable {
    /// What can be measured; each run does all that was chosen, in this order.
    enum Work: String, CaseIterable, Sendable {
        /// A client that has nothing yet.
        case firstSync = "first-sync"
        /// One write after the other, each until the other client has it.
        case writeToWatch = "write-to-watch"
        /// Many rows in one transaction.
        case oneTransaction = "one-transaction"
        /// Many transactions of one row.
        case singleTransactions = "single-transactions"
    }

    /// What a run has one figure of: seconds, and megabytes of memory.
    enum Figure: String, Sendable {
        case writeMedian = "write to watch, median"
        case writeWorst = "write to watch, worst"
        case transactionUploaded = "one transaction, uploaded"
        case transactionArrived = "one transaction, at B"
        case singlesUploaded = "single transactions, uploaded"
        case firstSync = "first sync"
        case firstSyncCanned = "first sync from a canned server"
        case memory = "peak memory"
        case memoryCanned = "peak memory with a canned server"

        /// What it counts.
        var unit: FigureRow.Unit {
            switch self {
            case .memory, .memoryCanned: .megabytes
            default: .seconds
            }
        }
    }

    /// The size that the goals are for.
    static let standardRows = 100_000

    /// What is measured.
    let works: [Work]
    /// How many items the first sync has, a multiple of 1,000.
    let rows: Int
    /// How often everything is measured.
    let runs: Int

    /// Measures in all runs, each in a world of its own, and prints the table; returns the exit status.
    func run() async throws -> Int32 {
        var outcomes: [[Figure: Double]] = []
        var hasFailed = false
        for run in 1...runs {
            let figures = Lock<[Figure: Double]>([:])
            let name = "stack, run \(run) of \(runs)"
            do {
                let end = try await Session.run(until: StopSignal.stream()) { session in
                    try await StackRun(plan: self, name: name, session: session, figures: figures).measure()
                    return true
                }
                guard end != nil else { return 130 }
            } catch let error as StackError where error.code == .closing {
                // Something of it may still be there, and a signal may have been the reason.
                throw error
            } catch {
                hasFailed = true
                BenchmarkReport.progress("\(name) failed: \(error)")
            }
            outcomes.append(figures.withLock { $0 })
        }
        StandardOutput.print(FigureRow.table(table(outcomes)) + "\n\n" + (try BenchmarkReport.machine()))
        return hasFailed ? 1 : 0
    }

    private func table(_ outcomes: [[Figure: Double]]) -> [FigureRow] {
        func row(_ work: String, _ goal: String, _ figure: Figure, canned: Figure? = nil) -> FigureRow {
            FigureRow(
                work: work, goal: goal, unit: figure.unit, figures: outcomes.map { $0[figure] },
                canned: canned.map { canned in outcomes.map { $0[canned] } } ?? [])
        }
        return works.flatMap { work -> [FigureRow] in
            switch work {
            case .writeToWatch:
                let text = "local write on A to watched query on B"
                return [
                    row("\(text), median of \(StackRun.writes)", "≤ 6 ms", .writeMedian),
                    row("\(text), worst of \(StackRun.writes)", "≤ 20 ms", .writeWorst),
                ]
            case .oneTransaction:
                return [
                    row("1,000 rows in one transaction: uploaded", "≤ 80 ms", .transactionUploaded),
                    row("1,000 rows in one transaction: at B", "≤ 120 ms", .transactionArrived),
                ]
            case .singleTransactions:
                return [row("300 single-row transactions: uploaded", "≤ 400 ms", .singlesUploaded)]
            case .firstSync:
                let hasGoal = rows == Self.standardRows
                return [
                    row(
                        "first sync of \(rows / 1000),000 rows, service warm",
                        hasGoal ? "≤ 1.3 s, canned ≤ 1.0 s" : "", .firstSync, canned: .firstSyncCanned),
                    row(
                        "peak memory of the client in it", hasGoal ? "≤ 90 MB" : "", .memory,
                        canned: .memoryCanned),
                ]
            }
        }
    }
}
