import Foundation
import PowerSyncCrashChild
import PowerSyncSystem
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// kill -9 in a loop around a program that syncs and writes; `POWERSYNC_CRASHES` says how often.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["POWERSYNC_TESTS"] != "unit"))
struct CrashTests {
    private static let crashes =
        ProcessInfo.processInfo.environment["POWERSYNC_CRASHES"].flatMap(Int.init) ?? 20

    @Test(.timeLimit(.minutes(30)))
    func aFileIsWholeWheneverItsProgramIsKilled() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-crash-")
        defer { folder.remove() }
        let service = try CrashService(poller: poller)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await service.run() }
            defer {
                service.stop()
                group.cancelAll()
            }
            try await kill(in: folder.path, endpoint: service.endpoint)
        }
    }

    private func kill(in folder: String, endpoint: String) async throws {
        let progress = try #require(SharedProgress(path: folder + "/progress"))
        defer { progress.unmap() }
        let (database, uploads) = (folder + "/client.db", folder + "/uploads")
        var random = SeededRandom(seed: Self.crashes)
        var (inside, versions) = (0, Set<Int64>())
        var last: Int64 = 0
        for crash in 1...Self.crashes {
            progress.isWriting = false
            let child = try ChildProcess.spawn(
                Self.executable, [database, endpoint, folder + "/progress", uploads], error: .inherit)
            defer { child.signal(SIGKILL) }
            // Three of four crashes are aimed at an open transaction, the others come whenever they come.
            try await reach(
                progress.statements + Int64(20 + random.below(2500)), progress,
                inTransaction: crash % 4 != 0, child)
            child.signal(SIGKILL)
            let status = await child.wait()
            #expect(status == .signalled(SIGKILL))
            if progress.isWriting { inside += 1 }
            let verdict = try CrashVerdict(path: database, uploads: uploads, committed: progress.committed)
            #expect(verdict.problems.isEmpty, "crash \(crash)")
            if !verdict.problems.isEmpty { return }
            // A transaction may have been committed without its program having learned of it.
            progress.committed = verdict.lastTransaction
            last = verdict.lastTransaction
            versions.insert(verdict.version)
        }
        print(
            """
            crashes: \(Self.crashes) kills, \(inside) inside an open transaction; \
            \(last) local transactions, \(versions.count) versions of the synced rows seen
            """)
        #expect(inside * 2 >= Self.crashes)
        #expect(last > 0 && versions.count > 1)
    }

    /// Waits until the program has run so many statements, and has a transaction open if that is wanted.
    private func reach(
        _ statements: Int64, _ progress: SharedProgress, inTransaction: Bool, _ child: ChildProcess
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while progress.statements < statements {
            try #require(ContinuousClock.now < deadline, "the program does not get on")
            try await Task.sleep(for: .microseconds(200))
        }
        // No sleep here: a transaction is over in less time than one takes.
        while inTransaction, !progress.isWriting {
            try #require(ContinuousClock.now < deadline, "the program writes nothing any more")
            await Task.yield()
        }
    }

    /// The program lies beside the tests.
    private static var executable: String {
        let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        let beside = bundle ?? URL(filePath: CommandLine.arguments[0])
        return beside.deletingLastPathComponent().appending(path: "PowerSyncCrashChild").path
    }
}
