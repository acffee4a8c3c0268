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

    /// What became of the sessions of a shard.
    private enum Outcome: Sendable {
        case met([Situation: Int])
        /// The seed, and what differs.
        case differed(String)
        case failed(any Error)
    }

    @Test(arguments: 0..<shards)
    func theClientHoldsWhatTheModelHolds(shard: Int) async throws {
        // On a thread of its own: so much work would hold up one of the few threads that all tests share.
        let outcome = await withResumption { continuation in
            do {
                try DetachedThread.start { continuation.resume(returning: Self.run(shard)) }
            } catch {
                continuation.resume(returning: .failed(error))
            }
        }
        switch outcome {
        case .failed(let error): throw error
        case .differed(let text): Issue.record(Comment(rawValue: text))
        case .met(let met):
            if Self.isLong {
                print("property: shard \(shard) met \(met.map { "\($0.key) \($0.value)" }.sorted())")
            }
            // A single seed need not meet everything.
            guard Self.seeds.count >= 200 else { return }
            let missing = Situation.allCases.filter {
                met[$0] == nil && (shard % 2 == 0 || !$0.needsBatches)
            }
            #expect(missing.isEmpty, "the sessions never met these situations")
        }
    }

    private static func run(_ shard: Int) -> Outcome {
        do {
            let directory = try TemporaryDirectory(prefix: "powersync-property-")
            defer { directory.remove() }
            let template = directory.path + "/template.db"
            try ClientUnderTest.makeTemplate(template)
            var met: [Situation: Int] = [:]
            for seed in seeds where seed % shards == shard {
                let folder = try TemporaryDirectory(prefix: "powersync-property-")
                defer { folder.remove() }
                let session = try Session(seed: seed, directory: folder.path, template: template)
                do {
                    try session.run()
                } catch {
                    return .differed(
                        """
                        seed \(seed), step \(session.step) (POWERSYNC_SEED=\(seed) runs it alone): \(error)
                        \(session.trace.suffix(40).joined(separator: "\n"))
                        """)
                }
                tellProgress()
                met.merge(session.met, uniquingKeysWith: +)
            }
            return .met(met)
        } catch {
            return .failed(error)
        }
    }

    /// A long run says how far it is.
    private static func tellProgress() {
        let count = done.withLock { count in
            count += 1
            return count
        }
        guard isLong, count % 500 == 0 || count == seeds.count else { return }
        print("property: \(count) of \(seeds.count) sessions")
        // Into a pipe nothing would be seen before the end.
        fflush(nil)
    }
}
