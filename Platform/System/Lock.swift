#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// State that many threads may touch, one at a time.
///
/// For short sections only: nothing is awaited, called back or waited for inside one. It stands on a pthread
/// mutex because ThreadSanitizer misreads `Synchronization.Mutex` on Linux.
package final class Lock<State>: @unchecked Sendable {
    // Safe because the state is reached only between lock and unlock of the mutex, which has a fixed address.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    /// Creates an unlocked lock around its first state.
    package init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "a mutex with default attributes can always be made")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        mutex.deallocate()
    }

    /// Runs a closure that alone may read and change the state.
    ///
    /// - Parameter body: What to do with the state; it must not take the same lock again.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
