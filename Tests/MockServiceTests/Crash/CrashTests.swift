import PowerSyncTestSupport
import Testing

/// kill -9 in a loop around a process that replicates a scripted source; `POWERSYNC_SERVICE_KILLS` says how often.
@Suite(.enabled(if: TestOptions.hasDatabase), .namesSeed)
struct CrashTests {
    /// Nothing that was told is lost, no operation id is given twice or goes back, and each published checkpoint is a commit
    /// of the source.
    @Test(.patient(minutes: 120)) func bucketsEqualTheSourceAfterAKill() async throws {
        var kills = StoreKills(isLossy: false)
        try await kills.run()
    }
}
