import Foundation
import PowerSyncMockService
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// kill -9 in a loop around a process that writes the state on files that lose what was not synced (reliability F22);
/// `POWERSYNC_SERVICE_KILLS` says how often.
@Suite(.enabled(if: TestOptions.hasDatabase), .namesSeed)
struct LossyCrashTests {
    private static let kills = TestOptions.number("POWERSYNC_SERVICE_KILLS", standard: 8)
    /// After so many a new file begins: what is looked at each time becomes long.
    private static let killsOfFile = 4

    @Test(.patient(minutes: 60)) func nothingIsLostThatWasSynced() async throws {
        var (killed, published) = (0, 0)
        var kept: [String: Int] = [:]
        try await forEachSeed((Self.kills + Self.killsOfFile - 1) / Self.killsOfFile) { random in
            let folder = try TemporaryDirectory(prefix: "powersync-lossy-")
            defer { folder.remove() }
            for kill in 1...Self.killsOfFile {
                let isOpening = random.once(in: 5)
                var plan = StoreChild.Plan(
                    folder: folder.path, seed: random.seed, draw: random.next(),
                    percentThrough: random.pick([0, 25, 75]),
                    transactions: isOpening ? 0 : 1 + random.below(40),
                    delay: isOpening
                        ? .milliseconds(random.below(100)) : .microseconds(random.below(20_000)))
                plan.isInUpkeep = random.once(in: 2)
                await Self.kill(plan)
                killed += 1
                let problems = try Self.problems(plan)
                #expect(problems.isEmpty, "kill \(kill)")
                if !problems.isEmpty { return }
            }
            let told = try StoreJournal.promises(in: folder.path + "/journal")
            published += told.published.values.reduce(0) { $0 + $1.count }
            kept.merge(try StoreJournal.kept(in: folder.path + "/journal")) { $0 + $1 }
        }
        let done = kept.sorted { $0.key < $1.key }.map { ", \($0.value) \($0.key)" }.joined()
        print("lossy files: \(killed) kills, \(published) checkpoints published\(done)")
        #expect(published >= killed)
        // They ended beside all that upkeep does.
        for step in [StoreUpkeep.Step.removed, .merged, .vacuumed].map(\.rawValue) + ["emptied"] {
            #expect(kept[step] ?? 0 > 0, "\(step)")
        }
    }

    /// The files are no proof if nothing is lost on them: from the second process on syncing does nothing.
    @Test(.patient(), arguments: [0, 30])
    func withoutSyncingSomethingIsLost(percentThrough: Int) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-lossy-")
        defer { folder.remove() }
        var plan = StoreChild.Plan(
            folder: folder.path, seed: 1, draw: 1, percentThrough: percentThrough, transactions: 20,
            delay: .milliseconds(1))
        await Self.kill(plan)
        #expect(try Self.problems(plan) == [])
        plan.isSyncing = false
        await Self.kill(plan)
        let problems = try Self.problems(plan)
        if percentThrough == 0 {
            // All that this process wrote.
            #expect(problems.contains { $0.hasPrefix("lost: ") })
            #expect(problems.contains { $0.hasPrefix("went back: ") })
        } else {
            // What went through may leave nothing that can be read.
            #expect(!problems.isEmpty)
        }
    }

    /// Runs a process until it has killed itself.
    private static func kill(_ plan: StoreChild.Plan) async {
        await #expect(processExitsWith: .signal(SIGKILL)) { [plan = plan as StoreChild.Plan] in
            try await StoreChild.run(plan)
        }
    }

    /// What is wrong with the state that a process has left.
    ///
    /// A copy is looked at: the next process shall find what the kill has left, and not what this look makes of it.
    private static func problems(_ plan: StoreChild.Plan) throws -> [String] {
        let copies = try TemporaryDirectory(prefix: "powersync-copy-")
        defer { copies.remove() }
        let path = copies.path + "/state.db"
        let files = FileManager.default
        for ending in ["", "-wal", "-journal"] where files.fileExists(atPath: plan.state + ending) {
            try files.copyItem(atPath: plan.state + ending, toPath: path + ending)
        }
        let promises = try StoreJournal.promises(in: plan.journal)
        do {
            let check = try StoreCheck(ofSession: path, keeps: promises)
            return check.problems + check.differences(from: plan.script)
        } catch {
            return ["the file cannot be read: \(error)"]
        }
    }
}
