import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Random sessions of the real coordinator, uploader and store (client-api 2.3, 3; client-core 5 to 8).
///
/// `POWERSYNC_COORDINATOR_SEEDS` says how many; `POWERSYNC_SEED` runs a single one.
@Suite struct CoordinatorPropertyTests {
    private static let seeds: Range<Int> = {
        let seed = TestOptions.number("POWERSYNC_SEED", standard: -1)
        if seed >= 0 { return seed..<seed + 1 }
        return 0..<TestOptions.number("POWERSYNC_COORDINATOR_SEEDS", standard: 300)
    }()
    private static let shards = 4
    private static let done = Lock(0)

    /// What became of sessions.
    private enum Outcome: Sendable {
        case met([CoordinatorSituation: Int])
        /// The seed, and what was wrong.
        case differed(String)
    }

    @Test(.patient(minutes: 60))
    func theCoordinatorDoesWhatTheContractSaysAndNothingElse() async throws {
        let outcomes = try await withThrowingTaskGroup(of: [Outcome].self) { group in
            for shard in 0..<Self.shards { group.addTask { try await Self.run(shard) } }
            return try await group.reduce(into: [Outcome]()) { $0 += $1 }
        }
        var met: [CoordinatorSituation: Int] = [:]
        for outcome in outcomes {
            switch outcome {
            case .met(let situations): met.merge(situations, uniquingKeysWith: +)
            case .differed(let text): Issue.record(Comment(rawValue: text))
            }
        }
        if Self.seeds.count > 500 {
            print("coordinator: met \(met.map { "\($0.key) \($0.value)" }.sorted())")
        }
        // A single seed need not meet everything, nor a run that stopped at a difference.
        guard Self.seeds.count >= 300, outcomes.count == Self.seeds.count else { return }
        let missing = CoordinatorSituation.allCases.filter { met[$0] == nil }
        #expect(missing.isEmpty, "the sessions never met these situations")
    }

    /// Plays every fourth session, up to the first one that differs.
    private static func run(_ shard: Int) async throws -> [Outcome] {
        let folder = try TemporaryDirectory(prefix: "powersync-coordinator-")
        defer { folder.remove() }
        let template = folder.path + "/template.db"
        try makeTemplate(template)
        var outcomes: [Outcome] = []
        for seed in seeds where seed % shards == shard {
            let path = "\(folder.path)/\(seed).db"
            try FileManager.default.copyItem(atPath: template, toPath: path)
            let pool = try await SQLitePool.open(path: path, readers: 0) { connection, _ in
                try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
                try SyncBench.prepare(connection, schema: schema)
                try SyncFunctions.register(on: connection)
            }
            let outcome = await onAThread { play(seed, pool, path) }
            await pool.close()
            outcomes.append(outcome)
            if case .differed = outcome { break }
            for ending in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + ending) {
                try FileManager.default.removeItem(atPath: path + ending)
            }
            tellProgress()
        }
        return outcomes
    }

    private static func play(_ seed: Int, _ pool: SQLitePool, _ path: String) -> Outcome {
        do {
            let session = try CoordinatorSession(seed: seed, pool: pool, path: path)
            defer { session.end() }
            do {
                try session.run()
            } catch {
                return .differed(
                    """
                    seed \(seed), step \(session.step) (POWERSYNC_SEED=\(seed) runs it alone): \(error)
                    \(session.trace.suffix(40).joined(separator: "\n"))
                    """)
            }
            return .met(session.met)
        } catch {
            return .differed("seed \(seed) cannot begin: \(error)")
        }
    }

    /// On a thread of its own: the session runs its tasks itself, and waits for the database.
    private static func onAThread(_ body: @escaping @Sendable () -> Outcome) async -> Outcome {
        await withResumption { continuation in
            do {
                try DetachedThread.start { continuation.resume(returning: body()) }
            } catch {
                continuation.resume(returning: .differed("\(error)"))
            }
        }
    }

    // MARK: The file

    private static let columns = """
        "columns":[{"name":"title","type":"text"},{"name":"n","type":"integer"}]
        """
    private static let schema = """
        {"tables":[{"name":"todos",\(columns)},{"name":"lists",\(columns)},\
        {"name":"notes","insert_only":true,\(columns)},{"name":"drafts","local_only":true,\(columns)}],\
        "raw_tables":[{"name":"\(ClientModel.rawType)",\
        "put":{"sql":"INSERT OR REPLACE INTO labels(id, title, n) VALUES (?, ?, ?)",\
        "params":["Id",{"Column":"title"},{"Column":"n"}]},\
        "delete":{"sql":"DELETE FROM labels WHERE id = ?","params":["Id"]}}]}
        """

    /// Makes a file with the tables, to be copied for each session.
    private static func makeTemplate(_ path: String) throws {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        try connection.execute("CREATE TABLE labels (id TEXT PRIMARY KEY, title TEXT, n INTEGER)")
        try SyncBench.prepare(connection, schema: schema)
    }

    /// A long run says how far it is.
    private static func tellProgress() {
        let count = done.withLock { count in
            count += 1
            return count
        }
        guard seeds.count > 500, count % 500 == 0 || count == seeds.count else { return }
        print("coordinator: \(count) of \(seeds.count) sessions")
        // Into a pipe nothing would be seen before the end.
        fflush(nil)
    }
}
