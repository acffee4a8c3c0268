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
    /// Who looks at the state again after a change; one is who has begun to wait last.
    enum Waking {
        case nobody, one, everybody
    }

    private typealias Condition = UnsafeMutablePointer<pthread_cond_t>

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var state: State
    /// Of the threads that wait, one each, the last one to wait at the end.
    private var waiting: [Condition] = []
    /// Those that nobody uses.
    private var spare: [Condition] = []

    init(_ state: sending State) {
        self.state = state
        let made = pthread_mutex_init(mutex, nil)
        precondition(made == 0, "no mutex left")
    }

    deinit {
        for condition in spare {
            pthread_cond_destroy(condition)
            condition.deallocate()
        }
        pthread_mutex_destroy(mutex)
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
        case .one: if let last = waiting.popLast() { pthread_cond_signal(last) }
        case .everybody:
            for condition in waiting { pthread_cond_signal(condition) }
            waiting = []
        }
        return result
    }

    /// Blocks this thread until `body` returns a value; it is asked again whenever the thread is woken.
    func wait<R>(_ body: (inout State) -> R?) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if let result = body(&state) { return result }
        let condition = spare.popLast() ?? Self.makeCondition()
        defer { spare.append(condition) }
        while true {
            waiting.append(condition)
            pthread_cond_wait(condition, mutex)
            // The system may wake a thread that nobody has woken.
            waiting.removeAll { $0 == condition }
            if let result = body(&state) { return result }
        }
    }

    private static func makeCondition() -> Condition {
        let condition = Condition.allocate(capacity: 1)
        let made = pthread_cond_init(condition, nil)
        precondition(made == 0, "no condition left")
        return condition
    }
}
