#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// State under a mutex whose changes can be waited for by a thread that may block.
///
/// Safe because the state is touched only between lock and unlock.
final class Monitor<State>: @unchecked Sendable {
    /// Who looks at the state again after a change.
    enum Waking {
        case nobody, one, everybody
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    init(_ state: sending State) {
        self.state = state
        let made = (pthread_mutex_init(mutex, nil), pthread_cond_init(condition, nil))
        precondition(made == (0, 0), "no mutex or condition left")
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the state, or only reads it.
    ///
    /// - Parameters:
    ///   - waking: who of those that wait is woken; one is enough where any of them can do what is to be done.
    ///   - body: what to do with the state; it must not block.
    /// - Returns: what `body` returns.
    func change<R>(waking: Waking, _ body: (inout State) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        let result = body(&state)
        switch waking {
        case .nobody: break
        case .one: pthread_cond_signal(condition)
        case .everybody: pthread_cond_broadcast(condition)
        }
        return result
    }

    /// Blocks this thread until `body` returns a value; it is asked again whenever the thread is woken.
    func wait<R>(_ body: (inout State) -> R?) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }
}
