import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem

/// Measures how fast files go to the storage of a backend and come back, beside curl.
struct AttachmentBenchmark: Sendable {
    /// What can be measured, in this order: what tells of memory comes first.
    enum Work: String, CaseIterable, Sendable {
        /// One file that goes in parts.
        case large
        /// Many files of a few kilobytes.
        case small
    }

    /// The number that the goals are for.
    static let standardFiles = 1000
    /// The size that the goals are for.
    static let standardMegabytes = 1024

    /// What is measured.
    let works: [Work]
    /// How many small files there are.
    let files: Int
    /// How large the large one is.
    let megabytes: Int
    /// How many pairs of our way and curl there are.
    let pairs: Int

    /// Measures, and prints the table; returns the exit status.
    func run() async throws -> Int32 {
        let rows = Lock<[BenchmarkReport.Row]>([])
        let end = try await Session.run(until: StopSignal.stream()) { session in
            BenchmarkReport.progress("attachments: starting Postgres, backend and service")
            try await CurlTransfers.checkPrograms()
            try await StackWorld.with(.pictures, session: session) { world in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await world.stack.watch() }
                    group.addTask {
                        let folder = try session.temporaryFolder()
                        for work in works {
                            let more =
                                switch work {
                                case .large:
                                    try await LargeFileRun(
                                        world, in: folder, megabytes: megabytes, pairs: pairs
                                    ).measure()
                                case .small:
                                    try await SmallFileRun(world, in: folder, count: files, pairs: pairs)
                                        .measure()
                                }
                            rows.withLock { $0 += more }
                        }
                    }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
            return true
        }
        guard end != nil else { return 130 }
        var report = BenchmarkReport()
        report.add(rows.withLock { $0 })
        StandardOutput.print(try report.text())
        return 0
    }
}
