import Foundation
import PowerSyncCrashChild
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// kill -9 in a loop around a program that syncs and writes; `POWERSYNC_CRASHES` says how often.
@Suite(.enabled(if: TestOptions.hasDatabase))
struct CrashTests {
    private static let crashes = TestOptions.number("POWERSYNC_CRASHES", standard: 12)

    @Test(.patient(minutes: 30))
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
            let child = try ChildProcess.guarded(
                Repository.executable("PowerSyncCrashChild"),
                [database, endpoint, folder + "/progress", uploads], error: .inherit)
            defer { child.signal(SIGKILL) }
            // Three of four crashes are aimed at an open transaction, the others come whenever they come.
            let target = progress.statements + Int64(20 + random.below(2500))
            try await kill(child, after: target, progress, inTransaction: crash % 4 != 0)
            let status = try await wait(forEndOf: child)
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

    /// Kills the program once it has run so many statements, and has a transaction open if that is wanted.
    ///
    /// On a thread of its own: a transaction is over sooner than a task that sleeps gets its turn again.
    private func kill(
        _ child: ChildProcess, after statements: Int64, _ progress: SharedProgress, inTransaction: Bool
    ) async throws {
        try await withThrowingResumption { (killed: Resumption<Void, any Error>) in
            do {
                try DetachedThread.start {
                    let deadline = ContinuousClock.now + TestOptions.deadline * 5
                    while progress.statements < statements || inTransaction && !progress.isWriting {
                        guard ContinuousClock.now < deadline else {
                            let seen = "\(progress.statements) of \(statements) statements"
                            return killed.resume(throwing: Stuck(description: "it does not get on: \(seen)"))
                        }
                        usleep(20)
                    }
                    child.signal(SIGKILL)
                    killed.resume()
                }
            } catch {
                killed.resume(throwing: error)
            }
        }
    }

    private struct Stuck: Error, CustomStringConvertible {
        let description: String
    }
}
