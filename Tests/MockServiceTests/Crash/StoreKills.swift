import Foundation
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// kill -9 in a loop around a process that replicates a script into a state, which is looked at behind each.
struct StoreKills {
    /// How many there are, in tens; each state is killed once at each moment.
    static let number = TestOptions.number("POWERSYNC_SERVICE_KILLS", standard: 20)

    /// Whether the files lose what was not synced.
    let isLossy: Bool
    /// How often the process was killed behind each moment.
    private(set) var killed: [String: Int] = [:]
    /// How many checkpoints were published.
    private(set) var published = 0
    /// How often operations were in memory for a stream, as they were on the disk.
    private(set) var compared = 0

    init(isLossy: Bool) { self.isLossy = isLossy }

    /// Kills processes, and expects that nothing is wrong with what they leave.
    mutating func run(_ kills: Int = Self.number) async throws {
        let moments = StoreMoments.Moment.allCases
        try await forEachSeed((kills + moments.count - 1) / moments.count) { random in
            let folder = try TemporaryDirectory(prefix: "powersync-crash-")
            defer { folder.remove() }
            // From the first on there is a stream that clients are served from.
            let others = moments.filter { $0 != .commit }.shuffled(using: &random)
            var known = StoreJournal.Content()
            for moment in [.commit] + others {
                let plan = plan(folder.path, moment, &random)
                try await Self.kill(plan)
                let problems = try Self.problems(plan, behind: known)
                #expect(problems.isEmpty, "killed behind \(moment)")
                if !problems.isEmpty { return }
                known = try StoreJournal.content(of: plan.journal)
            }
            let told = try StoreJournal.content(of: folder.path + "/journal")
            killed.merge(told.killed) { $0 + $1 }
            published += told.promises.published.values.reduce(0) { $0 + $1.count }
            compared += told.done[CrashStream.compared] ?? 0
        }
        let all = killed.sorted { $0.key < $1.key }.map { ", \($0.value) behind \($0.key)" }.joined()
        print("\(isLossy ? "lossy files" : "files"): \(published) checkpoints published\(all)")
        for moment in moments { #expect(killed[moment.rawValue] ?? 0 > 0, "\(moment)") }
        #expect(published > killed.values.reduce(0, +))
        #expect(compared > killed.values.reduce(0, +))
    }

    private func plan(
        _ folder: String, _ moment: StoreMoments.Moment, _ random: inout SeededRandom
    ) -> StoreChild.Plan {
        var plan = StoreChild.Plan(
            folder: folder, seed: random.seed, draw: random.next(),
            percentThrough: isLossy ? random.pick([0, 25, 75]) : nil, moment: moment,
            delay: moment == .opening
                ? .milliseconds(random.below(100)) : .microseconds(random.below(20_000)))
        switch moment {
        case .commit: plan.count = 1 + random.below(40)
        case .merged, .removed: plan.count = 1 + random.below(3)
        case .emptied: plan.count = 1 + random.below(5)
        case .opening, .piece, .read, .again, .switched, .vacuumed: break
        }
        switch moment {
        // What is to come takes another configuration.
        case .piece, .read, .switched, .removed, .vacuumed: plan.isRedeployed = true
        case .opening, .commit, .again, .merged, .emptied: plan.isRedeployed = random.once(in: 2)
        }
        return plan
    }

    /// Runs a process until it has killed itself.
    static func kill(_ plan: StoreChild.Plan) async throws {
        let result = try await ProcessTurn.take {
            await #expect(processExitsWith: .failure) { [plan = plan as StoreChild.Plan] in
                try await StoreChild.run(plan)
            }
        }
        expectKilled(result, plan.journal)
    }

    /// Expects that a process has killed itself; what it has said comes with the failure.
    static func expectKilled(_ result: ExitTest.Result?, _ journal: String) {
        // There is nothing if it has not come to its body.
        let said = (try? String(contentsOfFile: StoreJournal.errors(of: journal), encoding: .utf8)) ?? ""
        #expect(result?.exitStatus == .signal(SIGKILL), "\(said.suffix(8000))")
    }

    /// What is wrong with the state that a process has left.
    ///
    /// - Parameters:
    ///   - plan: What the process did.
    ///   - known: What had been told, and compared, before.
    /// - Returns: Everything that is wrong.
    /// - Throws: `CocoaError` if no copy can be made.
    static func problems(
        _ plan: StoreChild.Plan, behind known: StoreJournal.Content = StoreJournal.Content()
    ) throws -> [String] {
        let told = try StoreJournal.content(of: plan.journal)
        let published = rest(of: told.promises.published, behind: known.promises.published)
        // Positions that were told before they were stored.
        let shown = rest(of: told.shown, behind: known.shown).map { stream, checkpoints in
            let stored = Set(told.promises.published[stream] ?? [])
            return (stream, checkpoints.filter { !stored.contains($0) })
        }
        let positions = Dictionary(uniqueKeysWithValues: shown)
        return try withCopy(of: plan.state) { path in
            do {
                let check = try StoreCheck(ofSession: path, keeps: told.promises)
                var problems = told.differing + check.problems + check.differences(from: plan.script)
                problems += check.differences(ofShown: told.shown)
                for checkpoints in [published, positions] {
                    problems += try check.differences(of: checkpoints, in: path, from: plan.script)
                }
                return problems
            } catch {
                return ["the file cannot be read: \(error)"]
            }
        }
    }

    /// What was told of each stream behind what is known.
    private static func rest(
        of told: [StreamNumber: [StoredCheckpoint]], behind known: [StreamNumber: [StoredCheckpoint]]
    ) -> [StreamNumber: [StoredCheckpoint]] {
        var rest = told
        for (stream, checkpoints) in known { rest[stream]?.removeFirst(checkpoints.count) }
        return rest
    }

    /// Calls a body with the path of a copy of a state: the next process shall find what the kill has left, and not
    /// what a look makes of it.
    static func withCopy<T>(of state: String, _ body: (String) throws -> T) throws -> T {
        let copies = try TemporaryDirectory(prefix: "powersync-copy-")
        defer { copies.remove() }
        let path = copies.path + "/state.db"
        let files = FileManager.default
        for ending in ["", "-wal", "-journal"] where files.fileExists(atPath: state + ending) {
            try files.copyItem(atPath: state + ending, toPath: path + ending)
        }
        return try body(path)
    }
}
