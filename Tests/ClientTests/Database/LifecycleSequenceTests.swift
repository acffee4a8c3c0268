import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Random sequences of all calls at once, from everywhere; `POWERSYNC_LIFECYCLES` says how many.
@Suite struct LifecycleSequenceTests {
    /// In a process of its own, whose descriptors, threads and memory are of nothing else.
    @Test(.patient(minutes: 60)) func everySequenceEndsAndLeavesNothing() async throws {
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) { try await LifecycleSequenceTests.playAll() }
        }
    }

    private static func playAll() async throws {
        try Footprint.forgetErrors()
        let count = TestOptions.number("POWERSYNC_LIFECYCLES", standard: 300)
        // One for all, with a watch of its own: its descriptor and its thread go a moment after the last one. Where the
        // system has no such thing, nothing is there to go.
        let watcher = FileWatcher()
        let watch = try? watcher.watch([], in: "/") {}
        defer { withExtendedLifetime(watch) {} }
        var (played, before) = (0, try Footprint.now())
        try await forEachSeed(count) { random in
            let seed = random.seed
            let playing = Task { [random] in try await LifecycleSequence.play(random, watcher) }
            let problems = try await wait(forEndOf: playing)
            #expect(problems.isEmpty, "seed \(seed)")
            played += 1
            // Threads and buffers that are made once are there by now.
            if played == max(1, count / 10) { before = try Footprint.now() }
        }
        let first = before
        #if os(Linux)
            // That of the watcher: they are told apart from others.
            #expect(first.threads > 0)
        #endif
        let after = try await wait(
            for: "descriptors and threads as after the first tenth, \(first)", read: { try Footprint.now() },
            until: { $0.descriptors == first.descriptors && $0.threads <= first.threads })
        // What so few leave behind is less than what the allocator keeps for itself.
        if count >= 10_000 {
            #expect(after.memory - first.memory <= 2 << 20, "\(first.memory), then \(after.memory) bytes")
        }
    }
}
