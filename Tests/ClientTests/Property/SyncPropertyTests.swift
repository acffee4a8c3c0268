import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Random sessions against a model (client-core 5 to 8).
///
/// `POWERSYNC_PROPERTY_SEEDS` says how many; `POWERSYNC_SEED` runs a single one.
@Suite struct SyncPropertyTests {
    private static let seeds: Range<Int> = {
        let seed = TestOptions.number("POWERSYNC_SEED", standard: -1)
        if seed >= 0 { return seed..<seed + 1 }
        return 0..<TestOptions.number("POWERSYNC_PROPERTY_SEEDS", standard: 200)
    }()
    private static let shards = 4
    private static var isLong: Bool { seeds.count > 500 }
    private static let done = Lock(0)

    @Test(arguments: 0..<shards)
    func theClientHoldsWhatTheModelHolds(shard: Int) throws {
        let directory = try TemporaryDirectory(prefix: "powersync-property-")
        defer { directory.remove() }
        let template = directory.path + "/template.db"
        try ClientUnderTest.makeTemplate(template)
        var met: [Situation: Int] = [:]
        for seed in Self.seeds where seed % Self.shards == shard {
            let folder = try TemporaryDirectory(prefix: "powersync-property-")
            defer { folder.remove() }
            let session = try Session(seed: seed, directory: folder.path, template: template)
            do {
                try session.run()
            } catch {
                Issue.record(
                    """
                    seed \(seed), step \(session.step) (POWERSYNC_SEED=\(seed) runs it alone): \(error)
                    \(session.trace.suffix(40).joined(separator: "\n"))
                    """)
                return
            }
            tellProgress()
            met.merge(session.met, uniquingKeysWith: +)
        }
        if Self.isLong {
            print("property: shard \(shard) met \(met.map { "\($0.key) \($0.value)" }.sorted())")
        }
        // A single seed need not meet everything.
        guard Self.seeds.count >= 200 else { return }
        let missing = Situation.allCases.filter { met[$0] == nil && (shard % 2 == 0 || !$0.needsCoalescing) }
        #expect(missing.isEmpty, "the sessions never met these situations")
    }

    /// A long run says how far it is.
    private func tellProgress() {
        let count = Self.done.withLock { count in
            count += 1
            return count
        }
        guard Self.isLong, count % 500 == 0 || count == Self.seeds.count else { return }
        print("property: \(count) of \(Self.seeds.count) sessions")
        // Into a pipe nothing would be seen before the end.
        fflush(nil)
    }
}
