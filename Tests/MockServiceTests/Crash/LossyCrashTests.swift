import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The same as `CrashTests` on files that lose what was not synced (reliability F22).
@Suite(.enabled(if: TestOptions.hasDatabase), .namesSeed)
struct LossyCrashTests {
    @Test(.patient(minutes: 120)) func nothingIsLostThatWasSynced() async throws {
        var kills = StoreKills(isLossy: true)
        try await kills.run()
    }

    /// The files are no proof if nothing is lost on them: from the second process on syncing does nothing.
    @Test(.patient(), arguments: [0, 30])
    func withoutSyncingSomethingIsLost(percentThrough: Int) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-lossy-")
        defer { folder.remove() }
        var plan = StoreChild.Plan(
            folder: folder.path, seed: 1, draw: 1, percentThrough: percentThrough, moment: .commit,
            count: 20, delay: .milliseconds(1))
        try await StoreKills.kill(plan)
        #expect(try StoreKills.problems(plan) == [])
        plan.isSyncing = false
        try await StoreKills.kill(plan)
        let problems = try StoreKills.problems(plan)
        if percentThrough == 0 {
            // All that this process wrote.
            #expect(problems.contains { $0.hasPrefix("lost: ") })
            #expect(problems.contains { $0.hasPrefix("went back: ") })
        } else {
            // What went through may leave nothing that can be read.
            #expect(!problems.isEmpty)
        }
    }
}
