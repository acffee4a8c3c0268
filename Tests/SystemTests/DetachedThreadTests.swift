import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct DetachedThreadTests {
    @Test(arguments: [nil, 4 << 20]) func runsItsClosure(_ stack: Int?) async throws {
        let hasRun = Lock(false)
        try DetachedThread.start(stack: stack) { hasRun.withLock { $0 = true } }
        try await wait(for: "the thread") { hasRun.withLock { $0 } }
    }

    #if os(Linux)
        @Test func theSystemShowsItsName() async throws {
            let name = Lock<String?>(nil)
            try DetachedThread.start {
                let comm = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                name.withLock { $0 = comm }
            }
            try await wait(for: "the thread") { name.withLock { $0 } != nil }
            #expect(name.withLock { $0 } == DetachedThread.name + "\n")
        }
    #endif

    /// So the size reaches the system, and what the closure holds goes.
    @Test func aStackThatNoThreadCanHaveIsRefused() {
        final class Token: Sendable {}
        weak var observed: Token?
        do {
            let token = Token()
            observed = token
            #expect(throws: SystemError.self) {
                try DetachedThread.start(stack: 1) { withExtendedLifetime(token) {} }
            }
        }
        #expect(observed == nil)
    }
}
