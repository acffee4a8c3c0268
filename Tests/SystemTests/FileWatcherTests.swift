import CPowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

#if os(Linux)
    private let hasInotify = true
#else
    private let hasInotify = false
#endif

@Suite(.patient(), .enabled(if: hasInotify, "needs inotify"))
struct FileWatcherTests {
    private let folder: TemporaryDirectory
    private let told = Told()

    init() throws { folder = try TemporaryDirectory(prefix: "system-test-") }

    /// How often each file was told of.
    private final class Told: Sendable {
        private let counts = Lock<[String: Int]>([:])

        subscript(_ name: String) -> Int { counts.withLock { $0[name] ?? 0 } }

        func add(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }
    }

    private func watch(
        _ name: String, _ watcher: FileWatcher, in path: String? = nil
    ) throws -> FileWatcher.Watch {
        try watcher.watch([name], in: path ?? folder.path) { [told] in told.add(name) }
    }

    private func change(_ name: String) {
        let descriptor = open(folder.path + "/" + name, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        #expect(write(descriptor, "x", 1) == 1)
        close(descriptor)
    }

    @Test func aWriteIsToldUnderItsNameAlone() async throws {
        let watcher = FileWatcher()
        let watches = [try watch("a", watcher), try watch("b", watcher)]
        change("a")
        try await wait(for: "the change of a") { told["a"] > 0 }
        #expect(told["b"] == 0)
        change("b")
        try await wait(for: "the change of b") { told["b"] > 0 }
        withExtendedLifetime(watches) {}
    }

    @Test func closingAfterWritingAndRemovingAreTold() async throws {
        let watcher = FileWatcher()
        let path = folder.path + "/a"
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        let watch = try watch("a", watcher)
        #expect(told["a"] == 0)
        close(descriptor)
        let count = try await wait(for: "the closing", read: { told["a"] }, until: { $0 > 0 })
        #expect(unlink(path) == 0)
        try await wait(for: "the removal") { told["a"] > count }
        withExtendedLifetime(watch) {}
    }

    @Test func thereIsOneQueueAsLongAsSomebodyWatches() async throws {
        let opened = Lock(0)
        let watcher = FileWatcher {
            opened.withLock { $0 += 1 }
            return powersync_changes_open()
        }
        let other = try TemporaryDirectory(prefix: "system-test-")
        #expect(!watcher.isOpen)
        var watches = [
            try watch("a", watcher), try watch("b", watcher), try watch("c", watcher, in: other.path),
        ]
        #expect(opened.withLock { $0 } == 1)
        watches.removeFirst()
        change("b")
        try await wait(for: "a change for a watch that is left") { told["b"] > 0 }
        #expect(watches.count == 2)
        watches = []
        try await wait(for: "the end of the queue") { !watcher.isOpen }
        watches = [try watch("a", watcher)]
        change("a")
        try await wait(for: "a change for the next queue") { told["a"] > 0 }
        #expect(opened.withLock { $0 } == 2)
        withExtendedLifetime(watches) {}
    }

    @Test func aFolderWithTwoPathsIsWatchedForBoth() async throws {
        let watcher = FileWatcher()
        let link = folder.path + "/link"
        #expect(symlink(folder.path, link) == 0)
        var watches = [try watch("a", watcher), try watch("b", watcher, in: link)]
        // The system has one entry for both, which must not go with the first watch that ends.
        watches.removeLast()
        change("a")
        try await wait(for: "the change") { told["a"] > 0 }
        #expect(watches.count == 1)
        watches = []
        try await wait(for: "the end of the queue") { !watcher.isOpen }
    }

    @Test func aSystemThatRefusesIsAnErrorAndLeavesNothing() throws {
        let refusing = FileWatcher { -EMFILE }
        let refused = #expect(throws: SystemError.self) { _ = try watch("a", refusing) }
        #expect(refused?.errno == EMFILE)
        let watcher = FileWatcher()
        let missing = #expect(throws: SystemError.self) {
            _ = try watch("a", watcher, in: folder.path + "/missing")
        }
        #expect(missing?.errno == ENOENT)
        #expect(!refusing.isOpen && !watcher.isOpen)
    }

    @Test func whoIsToldMayEndTheWatch() async throws {
        let watcher = FileWatcher()
        let held = Lock<FileWatcher.Watch?>(nil)
        try held.withLock { watch in
            watch = try watcher.watch(["a"], in: folder.path) { [weak held] in
                _ = held?.withLock { $0.take() }
            }
        }
        change("a")
        try await wait(for: "the end of the watch") { held.withLock { $0 == nil } }
        try await wait(for: "the end of the queue") { !watcher.isOpen }
    }
}
