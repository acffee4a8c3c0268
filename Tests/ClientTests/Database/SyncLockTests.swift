import Foundation
import PowerSyncTestSupport
import Testing

@testable import PowerSync
@testable import PowerSyncSystem

@Suite(.patient())
struct SyncLockTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.file() + SyncLock.ending }

    init() throws { folder = try TemporaryDirectory() }

    /// A lock with what it has told, and a clock for its waits.
    private final class Claimant: Sendable {
        private struct State {
            var told: [SyncLock.Holder] = []
            var warnings: [String] = []
        }

        let lock: SyncLock
        let clock = SteppedClock()
        private let state = Lock(State())

        init(
            _ folder: TemporaryDirectory, name: String = "test.db", watcher: FileWatcher = FileWatcher(),
            lock: FileLock? = nil
        ) {
            self.lock = SyncLock(DatabaseFiles(path: folder.file(name), watcher: watcher), lock: lock)
        }

        var told: [SyncLock.Holder] { state.withLock { $0.told } }
        var warnings: [String] { state.withLock { $0.warnings } }

        func claim() -> SyncLock.Holder {
            var environment = SyncEnvironment.system()
            environment.waitForFiles = clock.environment.sleep
            // Not `self`, which would keep the lock as long as it is waited for.
            return lock.claim(
                environment,
                log: { [state] severity, text in
                    state.withLock { if severity == .warning { $0.warnings.append(text) } }
                },
                told: { [state] holder in state.withLock { $0.told.append(holder) } })
        }

        /// Lets the waits between tries pass until all this has been told.
        func tells(_ holders: SyncLock.Holder...) async throws {
            try await wait(
                for: "the holders \(holders)",
                read: {
                    clock.advance(by: SyncLock.gap)
                    return told
                }, until: { $0 == holders })
        }
    }

    private func another() -> FileLock { FileLock(path: path, like: folder.file()) }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func oneHasItAndTheNextTakesOverWhenItIsReleased() async throws {
        let (one, other) = (Claimant(folder), Claimant(folder))
        #expect(one.claim() == .us)
        #expect(other.claim() == .another)
        #expect(one.claim() == .us, "claiming anew gives nothing away")
        #expect(other.told.isEmpty)
        one.lock.release()
        try await wait(for: "the other to take over") { other.told == [.us] }
        #expect(one.claim() == .another)
        #expect(one.told.isEmpty && one.warnings.isEmpty && other.warnings.isEmpty)
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func whoeverGoesAwayIsFollowedBySomebodyElse() async throws {
        let other = Claimant(folder)
        do {
            let one = Claimant(folder)
            #expect(one.claim() == .us)
            #expect(other.claim() == .another)
        }
        try await wait(for: "the other to take over") { other.told == [.us] }
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func aSignThatComesBeforeTheLockIsFreeIsNotLost() async throws {
        let holder = another()
        #expect(try holder.take())
        let descriptor = try #require(holder.descriptor)
        let claimant = Claimant(folder)
        #expect(claimant.claim() == .another)
        touch()
        try await wait(for: "the wait before the next try") { claimant.clock.waiting == [SyncLock.gap] }
        // Without a sign: the one that there was has to be enough.
        #expect(flock(descriptor, LOCK_UN) == 0)
        claimant.clock.advance(by: SyncLock.gap)
        try await wait(for: "the lock") { claimant.told == [.us] }
        holder.release()
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func triesEndAndBeginAgainWithTheNextSign() async throws {
        let holder = another()
        #expect(try holder.take())
        let claimant = Claimant(folder)
        #expect(claimant.claim() == .another)
        touch()
        for _ in 0..<SyncLock.tries {
            try await wait(for: "the wait before the next try") { claimant.clock.waiting == [SyncLock.gap] }
            claimant.clock.advance(by: SyncLock.gap)
        }
        try await wait(for: "the end of the tries") { claimant.clock.waiting.isEmpty }
        #expect(claimant.told.isEmpty)
        holder.release()
        try await wait(for: "the lock") { claimant.told == [.us] }
    }

    /// What the system tells of it looks like the end of its holder.
    private func touch() { close(open(path, O_RDWR)) }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func whoeverLostTheFileHasNoLongerTheRight() async throws {
        let claimant = Claimant(folder)
        #expect(claimant.claim() == .us)
        let other = another()
        // Made elsewhere and put into its place, so that the other has it at any moment at which it is there.
        let elsewhere = FileLock(path: path + ".new", like: folder.file())
        #expect(try elsewhere.take())
        #expect(rename(path + ".new", path) == 0)
        try await claimant.tells(.another)
        #expect(try !other.take())
        other.release()
        elsewhere.release()
        try await claimant.tells(.another, .us)
    }

    @Test func whereTheSystemRefusesOneTriesEachSecondAndSaysSoOnce() async throws {
        let holder = another()
        #expect(try holder.take())
        let claimant = Claimant(folder, watcher: FileWatcher { -EMFILE })
        #expect(claimant.claim() == .another)
        try await wait(for: "a second's wait") { claimant.clock.waiting == [.seconds(1)] }
        claimant.clock.advance(by: .seconds(1))
        try await wait(for: "another second's wait") { claimant.clock.waiting == [.seconds(1)] }
        holder.release()
        claimant.clock.advance(by: .seconds(1))
        try await wait(for: "the lock") { claimant.told == [.us] }
        // A holder has nothing to wait for.
        try await wait(for: "no further wait") { claimant.clock.waiting.isEmpty }
        #expect(claimant.warnings.count == 1)
        #expect(claimant.warnings.first?.contains("once a second") == true)
    }

    /// Such as a lack of descriptors, beside a process that has the lock.
    @Test(.enabled(if: Platform.tellsOfFiles)) func aFailureSaysNothingOfWhoHasTheLock() async throws {
        let holder = another()
        #expect(try holder.take())
        let fails = Lock(true)
        let lock = FileLock(path: path, like: folder.file()) { path, model in
            fails.withLock { $0 } ? -EMFILE : FileLock.openFile(path, like: model)
        }
        let claimant = Claimant(folder, lock: lock)
        #expect(claimant.claim() == .another)
        for _ in 0..<2 {
            try await wait(for: "a second's wait") { claimant.clock.waiting == [.seconds(1)] }
            claimant.clock.advance(by: .seconds(1))
        }
        try await wait(for: "another second's wait") { claimant.clock.waiting == [.seconds(1)] }
        fails.withLock { $0 = false }
        holder.release()
        claimant.clock.advance(by: .seconds(1))
        try await claimant.tells(.us)
        #expect(claimant.warnings.count == 1)
        #expect(claimant.warnings.first?.contains("cannot be found out") == true)
    }

    @Test(.enabled(if: Platform.tellsOfFiles), arguments: ["\u{301}a.db", "a\u{301}.db", "ä"])
    func aNameOfAnySpellingIsWatched(_ name: String) async throws {
        let (one, other) = (Claimant(folder, name: name), Claimant(folder, name: name))
        #expect(one.claim() == .us)
        #expect(other.claim() == .another)
        one.lock.release()
        try await other.tells(.us)
    }

    @Test func aFileThatCannotBeLockedKeepsNobodyFromSyncing() throws {
        #expect(symlink("/dev/null", path) == 0)
        let claimant = Claimant(folder)
        #expect(claimant.claim() == .us)
        #expect(claimant.claim() == .us)
        #expect(claimant.warnings.count == 1)
        #expect(claimant.warnings.first?.contains("cannot be kept out") == true)
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func whoeverGaveUpTakesNothing() async throws {
        let (one, other, third) = (Claimant(folder), Claimant(folder), Claimant(folder))
        #expect(one.claim() == .us)
        #expect(other.claim() == .another)
        #expect(third.claim() == .another)
        other.lock.release()
        one.lock.release()
        try await third.tells(.us)
        #expect(other.told.isEmpty)
        #expect(other.claim() == .another)
    }
}
