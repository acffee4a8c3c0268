import Foundation
import PowerSyncCrashChild
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Two programs on one file; `POWERSYNC_STARTS` says how often they begin at once on a new one, `POWERSYNC_KILLS` how often
/// the one that syncs is killed.
@Suite(.enabled(if: TestOptions.hasDatabase))
struct TwoProcessTests {
    private static let starts = TestOptions.number("POWERSYNC_STARTS", standard: 10)
    private static let kills = TestOptions.number("POWERSYNC_KILLS", standard: 5)
    /// How soon one takes over, as the contract has it; judged in long runs alone.
    private static let takeover = Duration.milliseconds(200)
    private static let program = Repository.executable("PowerSyncCrashChild")

    @Test(.patient(minutes: 30))
    func twoThatStartAtOnceOnANewFileLoseNothing() async throws {
        let rows: Int64 = 3
        for start in 1...Self.starts {
            let folder = try TemporaryDirectory(prefix: "powersync-start-")
            defer { folder.remove() }
            let path = folder.path + "/client.db"
            let children = try ["a", "b"].map { writer in
                try ChildProcess.spawn(
                    Self.program, ["start", path, writer, "\(rows)"], input: .pipe, error: .inherit)
            }
            defer { for child in children { child.signal(SIGKILL) } }
            for child in children { if let input = child.input { close(input) } }
            for child in children {
                let status = try await wait(forEndOf: child)
                #expect(status == .exited(0), "start \(start)")
            }
            try Data().write(to: URL(filePath: folder.path + "/uploads"))
            let verdict = try PairVerdict(
                path: path, uploads: folder.path + "/uploads", committed: ["a": rows, "b": rows])
            #expect(verdict.problems.isEmpty, "start \(start)")
            #expect(verdict.waiting == 2 * Int(rows) * CrashChild.rowsOfTransaction, "start \(start)")
        }
    }

    @Test(.patient(minutes: 60))
    func whenTheOneThatSyncsIsKilledTheOtherGoesOnAndNothingIsLost() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-pair-")
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

    /// One of the two programs.
    private struct Writer {
        let name: String
        let progress: SharedProgress
        private let arguments: [String]
        private(set) var child: ChildProcess

        init(_ name: String, in folder: String, endpoint: String) throws {
            self.name = name
            let path = "\(folder)/progress-\(name)"
            progress = try #require(SharedProgress(path: path))
            arguments = ["pair", "\(folder)/client.db", endpoint, path, "\(folder)/uploads", name]
            child = try Self.start(arguments)
        }

        private static func start(_ arguments: [String]) throws -> ChildProcess {
            try ChildProcess.guarded(TwoProcessTests.program, arguments, error: .inherit)
        }

        mutating func startAgain() throws {
            progress.syncsSince = 0
            progress.isElsewhere = false
            child = try Self.start(arguments)
        }
    }

    private func kill(in folder: String, endpoint: String) async throws {
        var random = SeededRandom(seed: Self.kills)
        var writers = try ["a", "b"].map { try Writer($0, in: folder, endpoint: endpoint) }
        defer {
            for writer in writers {
                writer.child.signal(SIGKILL)
                writer.progress.unmap()
            }
        }
        var times: [Duration] = []
        for kill in 1...Self.kills {
            let holder = try await holder(of: writers)
            let before = writers.map(\.progress.committed)
            let count = Int64(1 + random.below(10))
            try await wait(for: "both to write") {
                zip(writers, before).allSatisfy { $0.progress.committed >= $1 + count }
            }
            let other = 1 - holder
            let mark = folder + "/uploads" + CrashChild.killing
            try Data().write(to: URL(filePath: mark))
            let start = SharedProgress.now
            writers[holder].child.signal(SIGKILL)
            let status = try await wait(forEndOf: writers[holder].child)
            #expect(status == .signalled(SIGKILL))
            let end = try await wait(
                for: "the other to sync", read: { writers[other].progress.syncsSince }, until: { $0 > 0 })
            times.append(.nanoseconds(max(0, end - start)))
            try FileManager.default.removeItem(atPath: mark)
            let verdict = try verdict(in: folder, writers)
            #expect(verdict.problems.isEmpty, "kill \(kill)")
            if !verdict.problems.isEmpty { return }
            try writers[holder].startAgain()
        }
        _ = try await holder(of: writers)
        for writer in writers {
            writer.child.signal(SIGKILL)
            try await wait(forEndOf: writer.child)
        }
        let verdict = try verdict(in: folder, writers)
        #expect(verdict.problems.isEmpty)
        #expect(verdict.uploaded > 0)
        times.sort()
        print(
            """
            two processes: \(Self.kills) kills; \(verdict.last) transactions, \(verdict.uploaded) entries uploaded, \
            \(verdict.waiting) wait; the other took over after \(times[times.count / 2]) in the middle, \
            \(times[times.count - 1]) at most
            """)
        // A few say little of a machine that others use, too.
        if times.count >= 50 { #expect(times[times.count / 2] <= Self.takeover * TestOptions.patience) }
    }

    /// Waits until one syncs and the other waits for it; returns which one syncs.
    private func holder(of writers: [Writer]) async throws -> Int {
        let seen = try await wait(
            for: "one to sync and the other to wait",
            read: { writers.map { (syncs: $0.progress.syncsSince > 0, waits: $0.progress.isElsewhere) } },
            until: { seen in seen.count { $0.syncs } == 1 && seen.count { $0.waits } == 1 })
        return try #require(seen.firstIndex { $0.syncs })
    }

    private func verdict(in folder: String, _ writers: [Writer]) throws -> PairVerdict {
        try PairVerdict(
            path: folder + "/client.db", uploads: folder + "/uploads",
            committed: Dictionary(uniqueKeysWithValues: writers.map { ($0.name, $0.progress.committed) }))
    }
}
