import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Random sequences of all calls at once, from everywhere; `POWERSYNC_LIFECYCLES` says how many.
@Suite struct LifecycleSequenceTests {
    /// In a process of its own, whose descriptors, threads and memory are of nothing else.
    @Test(.patient(minutes: 60)) func everySequenceEndsAndLeavesNothing() async {
        await #expect(processExitsWith: .success) { try await LifecycleSequenceTests.playAll() }
    }

    private static func playAll() async throws {
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

/// What this process takes of the system.
private struct Footprint {
    let descriptors: Int
    /// Threads of the package: how many Swift keeps for its tasks is the system's choice.
    let threads: Int
    /// Bytes that are resident and of no file: code that runs for the first time is no growth.
    let memory: Int

    /// Looks now; all is 0 where the system does not tell.
    static func now() throws -> Footprint {
        #if os(Linux)
            Memory.returnToSystem()
            let status = String(
                decoding: FileManager.default.contents(atPath: "/proc/self/status") ?? Data(), as: UTF8.self)
            let resident = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            let kilobytes = try #require(resident?.split { $0 == " " || $0 == "\t" }.dropFirst().first)
            return Footprint(
                descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
                threads: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count {
                    // One that has ended meanwhile has no name any more.
                    let name = FileManager.default.contents(atPath: "/proc/self/task/\($0)/comm") ?? Data()
                    return String(decoding: name, as: UTF8.self) == DetachedThread.name + "\n"
                },
                memory: try #require(Int(kilobytes)) * 1024)
        #else
            return Footprint(descriptors: 0, threads: 0, memory: 0)
        #endif
    }
}
