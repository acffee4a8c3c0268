import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem

/// Measures how long two clients, backend and service take to get over faults.
///
/// A run plays all faults, one after the other in one world. One that goes wrong counts as failed, and the rest of its run
/// has a new world.
struct FaultBenchmark: Sendable {
    /// What a run has measured.
    private struct Outcome {
        var seconds: [Fault: Double] = [:]
        var deaths: [Fault: Int] = [:]
    }

    /// How many items the clients have.
    private static let items = 1000

    /// Which faults there are.
    let faults: [Fault]
    /// How often each is played.
    let runs: Int

    /// Plays all runs, and prints the table; returns the exit status.
    func run() async throws -> Int32 {
        var outcomes: [Outcome] = []
        var hasFailed = false
        for run in 1...runs {
            let outcome = Lock(Outcome())
            var rest = Fault.inOrder(faults)
            while !rest.isEmpty {
                let (name, playing, played) = ("faults, run \(run) of \(runs)", rest, Lock(0))
                do {
                    let end = try await Session.run(until: StopSignal.stream()) { session in
                        try await play(playing, name, session) { fault, seconds, deaths in
                            outcome.withLock { $0.deaths[fault, default: 0] += deaths }
                            guard let seconds else { return }
                            outcome.withLock { $0.seconds[fault] = seconds }
                            played.withLock { $0 += 1 }
                        }
                        return true
                    }
                    guard end != nil else { return 130 }
                    rest = []
                } catch let error as StackError where error.code == .closing {
                    // Something of it may still be there, and a signal may have been the reason.
                    throw error
                } catch {
                    hasFailed = true
                    let left = rest.dropFirst(played.withLock { $0 })
                    BenchmarkReport.progress("\(name): \(left.first?.rawValue ?? "its end") failed: \(error)")
                    rest = Array(left.dropFirst())
                }
            }
            outcomes.append(outcome.withLock { $0 })
        }
        StandardOutput.print(FigureRow.table(rows(outcomes)) + "\n\n" + (try BenchmarkReport.machine()))
        return hasFailed ? 1 : 0
    }

    private func rows(_ outcomes: [Outcome]) -> [FigureRow] {
        faults.map { fault in
            FigureRow(
                work: fault.work, goal: fault.goal, figures: outcomes.map { $0.seconds[fault] },
                deaths: outcomes.reduce(0) { $0 + ($1.deaths[fault] ?? 0) })
        }
    }

    /// Plays faults until one goes wrong.
    ///
    /// - Parameters:
    ///   - faults: the faults.
    ///   - name: what the run is called.
    ///   - session: closes what is opened.
    ///   - note: gets the seconds of each fault, nil for one that went wrong, and how many parts died of it.
    /// - Throws: what went wrong.
    private func play(
        _ faults: [Fault], _ name: String, _ session: Session,
        note: @Sendable (Fault, Double?, Int) -> Void
    ) async throws {
        BenchmarkReport.progress("\(name): starting Postgres, backend, service and clients")
        try await StackWorld.with(items: Self.items, session: session) { world in
            let proxy = try CuttableProxy(to: try await world.stack.url(.service), poller: world.poller)
            let supervisor = PartSupervisor(world.stack)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await proxy.run() }
                group.addTask { try await supervisor.run() }
                defer { group.cancelAll() }
                var run = try await FaultRun(world, through: proxy)
                for fault in faults {
                    let before = supervisor.deaths
                    var seconds: Double?
                    defer { note(fault, seconds, supervisor.deaths - before) }
                    let time = try await run.play(fault)
                    try await run.converge()
                    seconds = time / .seconds(1)
                    BenchmarkReport.progress(
                        "\(name): \(fault.rawValue) \(PairedTimes.text(time)), then A = B = Postgres")
                }
            }
        }
    }
}
