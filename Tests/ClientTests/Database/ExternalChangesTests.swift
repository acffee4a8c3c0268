import Foundation
import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

@testable import PowerSync
@testable import PowerSyncSystem

@Suite(.patient())
struct ExternalChangesTests {
    private let folder: TemporaryDirectory
    private let looked = Looked()

    init() throws { folder = try TemporaryDirectory() }

    /// What was seen and told, and what the next looks see.
    private final class Looked: Sendable {
        private struct State {
            var version: Int64 = 1
            var script: [Result<Int64, TestError>] = []
            var looks = 0
            var told = 0
            var warnings: [String] = []
        }

        private let state = Lock(State())

        var looks: Int { state.withLock { $0.looks } }
        var told: Int { state.withLock { $0.told } }
        var warnings: [String] { state.withLock { $0.warnings } }

        /// Lets the version be another one.
        func commit() { state.withLock { $0.version += 1 } }

        /// Says what the next looks get; later ones get the version.
        func script(_ results: [Result<Int64, TestError>]) { state.withLock { $0.script = results } }

        func source(
            _ environment: SyncEnvironment, version: (@Sendable () async throws -> Int64)? = nil
        ) -> ExternalChanges.Source {
            ExternalChanges.Source(
                version: {
                    let scripted = try self.state.withLock { state in
                        state.looks += 1
                        if state.script.isEmpty { return state.version }
                        return try state.script.removeFirst().get()
                    }
                    return try await version?() ?? scripted
                },
                changed: { self.state.withLock { $0.told += 1 } }, environment: environment,
                log: { severity, text in
                    self.state.withLock { if severity == .warning { $0.warnings.append(text) } }
                })
        }
    }

    private func changes(_ watcher: FileWatcher = FileWatcher()) -> ExternalChanges {
        ExternalChanges(DatabaseFiles(path: folder.file(), watcher: watcher))
    }

    /// Does not wait as long as the product, which nothing here depends on.
    private var quick: SyncEnvironment {
        var environment = SyncEnvironment.system()
        environment.waitForFiles = { _ in try await ContinuousClock().sleep(for: .milliseconds(1)) }
        return environment
    }

    /// One change, if the file is there.
    private func touchLog() {
        close(open(folder.file() + "-wal", O_WRONLY | O_CREAT, 0o600))
    }

    @Test func ownWritesAreNotTakenForThoseOfOthers() async throws {
        let pool = try await SQLitePool.open(path: folder.file(), readers: 0) { connection, _ in
            try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE rows (id)")
        }
        let changes = changes()
        try await changes.begin(
            looked.source(quick) {
                try await pool.write { try $0.one("PRAGMA data_version") { $0.int64(0) } ?? 0 }
            })
        let observation = changes.observe()
        try await pool.write { try $0.execute("INSERT INTO rows VALUES (1)") }
        let before = looked.looks
        // When a second one begins, the first one has ended.
        try await wait(for: "looks behind the own write") { looked.looks > before + 1 }
        #expect(looked.told == 0)
        let other = try SQLiteConnection(path: folder.file())
        other.setBusyTimeout(.seconds(10))
        try other.execute("INSERT INTO rows VALUES (2)")
        try await wait(for: "the write of the other") { looked.told == 1 }
        other.close()
        withExtendedLifetime(observation) {}
        changes.end()
        await pool.close()
    }

    /// Former connections may have counted further: what is written behind the next opening would be taken for known.
    @Test func anAnswerOfFormerConnectionsCountsForNothing() async throws {
        let changes = changes()
        let gate = Gate()
        let isForgotten: () -> Bool
        do {
            let (calls, token) = (Lock(0), Looked())
            isForgotten = { [weak token] in token == nil }
            try await changes.begin(
                token.source(quick) {
                    let isFirst = calls.withLock { calls in
                        calls += 1
                        return calls == 1
                    }
                    if isFirst { return 1 }
                    await gate.pass()
                    return 100
                })
        }
        let observation = changes.observe()
        try await wait(for: "a look at the former connections") { gate.arrivals == 1 }
        changes.end()
        try await changes.begin(looked.source(quick))
        gate.open()
        try await wait(for: "its end") { isForgotten() }
        looked.commit()
        try await wait(for: "the change") { looked.told == 1 }
        withExtendedLifetime(observation) {}
        changes.end()
    }

    @Test func aFailedLookIsSaidOnceAndTheNextOnesFollow() async throws {
        let changes = changes()
        try await changes.begin(looked.source(quick))
        let error = TestError(text: "another process recovers the log")
        looked.commit()
        looked.script([.failure(error), .failure(error), .failure(error), .failure(error)])
        let observation = changes.observe()
        // Nothing happens to the files: only whoever goes on after a failure sees it.
        try await wait(for: "the change") { looked.told == 1 }
        #expect(looked.warnings.count == 1)
        #expect(looked.warnings.first?.contains("recovers the log") == true)
        withExtendedLifetime(observation) {}
        changes.end()
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func aCommitThatCountsOnlyAfterItsLastWriteIsFound() async throws {
        // 20 ms, 0.1 s and 1 s as the contract has them (client-api 2.10), then twice for slow disks.
        #expect(ExternalChanges.gaps == [20, 100, 1000, 5000, 30000].map(Duration.milliseconds))
        let changes = changes()
        let clock = SteppedClock()
        var environment = SyncEnvironment.system()
        environment.waitForFiles = clock.environment.sleep
        touchLog()
        try await changes.begin(looked.source(environment))
        let observation = changes.observe()
        try await restLooks(clock)
        touchLog()
        try await wait(for: "the pause behind the change") { clock.waiting == [ExternalChanges.gaps[0]] }
        let before = looked.looks
        clock.advance(by: ExternalChanges.gaps[0])
        try await wait(for: "the first look") {
            looked.looks == before + 1 && clock.waiting == [ExternalChanges.gaps[1]]
        }
        looked.commit()
        clock.advance(by: ExternalChanges.gaps[1])
        try await wait(for: "the change") { looked.told == 1 }
        withExtendedLifetime(observation) {}
        changes.end()
    }

    /// Lets the looks end that follow the beginning, or a change.
    private func restLooks(_ clock: SteppedClock) async throws {
        for gap in ExternalChanges.gaps.dropFirst() {
            try await wait(for: "the pause of \(gap)") { clock.waiting == [gap] }
            clock.advance(by: gap)
        }
        let looks = ExternalChanges.gaps.count
        try await wait(for: "the last look") { looked.looks > looks && clock.waiting.isEmpty }
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func nobodyLooksWhileNobodyWantsToKnow() async throws {
        let watcher = FileWatcher()
        let changes = changes(watcher)
        try await changes.begin(looked.source(quick))
        #expect(looked.looks == 1 && !watcher.isOpen)
        looked.commit()
        var observations = [changes.observe(), changes.observe()]
        // What was written meanwhile is told of.
        try await wait(for: "the change") { looked.told == 1 }
        #expect(watcher.isOpen)
        observations.removeLast()
        looked.commit()
        touchLog()
        try await wait(for: "a change for the one that is left") { looked.told == 2 }
        #expect(observations.count == 1)
        observations = []
        try await wait(for: "the end of the watching") { !watcher.isOpen }
        changes.end()
    }

    @Test func whereTheSystemRefusesOneLooksEachSecondAndSaysSoOnce() async throws {
        let clock = SteppedClock()
        var environment = SyncEnvironment.system()
        environment.waitForFiles = clock.environment.sleep
        let changes = changes(FileWatcher { -EMFILE })
        try await changes.begin(looked.source(environment))
        for round in 1...2 {
            let observation = changes.observe()
            try await wait(for: "a second's wait") { clock.waiting == [.seconds(1)] }
            looked.commit()
            clock.advance(by: .seconds(1))
            try await wait(for: "the change") { looked.told == round && clock.waiting == [.seconds(1)] }
            withExtendedLifetime(observation) {}
        }
        try await wait(for: "nobody to wait") { clock.waiting.isEmpty }
        #expect(looked.warnings.count == 1)
        #expect(looked.warnings.first?.contains("once a second") == true)
        changes.end()
    }
}

/// What the system can do.
enum Platform {
    /// Whether it tells of changes of files.
    static var tellsOfFiles: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }
}
