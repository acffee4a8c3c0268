import Dispatch

/// Blocks a thread of the pool until the test opens it.
final class BlockingGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait() { semaphore.wait() }
    func open() { semaphore.signal() }
}
