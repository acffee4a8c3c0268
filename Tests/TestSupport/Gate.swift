import Dispatch
import PowerSyncSystem

/// Holds tasks until the test opens it, and tells when they have come.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrived = 0
        var waiting: [Resumption<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Makes a closed gate.
    package init() {}

    /// How many have come so far, whether they still wait or not.
    package var arrivals: Int { state.withLock { $0.arrived } }

    /// Comes to the gate and goes on when it is open; cancellation opens it for nobody.
    package func pass() async {
        await withResumption { continuation in
            let isOpen = state.withLock { state in
                state.arrived += 1
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Lets everybody through, those who wait and those who come later.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// Blocks threads until the test opens it: for code that cannot wait otherwise.
package final class BlockingGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let count = Lock(0)

    /// Makes a closed gate.
    package init() {}

    /// How many have come so far.
    package var arrivals: Int { count.withLock { $0 } }

    /// Blocks the thread until the gate is opened.
    package func wait() {
        count.withLock { $0 += 1 }
        semaphore.wait()
        // One opening is for all.
        semaphore.signal()
    }

    /// Lets everybody through.
    package func open() { semaphore.signal() }
}
