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

    /// Changes the state and wakes everybody who waits for it.
    func change<R>(_ body: (inout State) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Blocks this thread until `body` returns a value; it is asked again after each change.
    func wait<R>(_ body: (inout State) -> R?) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }
}

/// Starts a thread that runs `body` and then ends.
///
/// - Throws: `.internal` if the system gives no thread.
func startThread(_ body: @escaping @Sendable () -> Void) throws(SQLiteError) {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // SQLite's parser and nested triggers want more than the 512 KB that some systems give.
    pthread_attr_setstacksize(&attributes, 4 << 20)
    #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(&thread, &attributes, { run($0) }, box.toOpaque())
    #else
        var thread = pthread_t()
        let result = pthread_create(&thread, &attributes, { $0.flatMap { run($0) } }, box.toOpaque())
    #endif
    guard result == 0 else {
        box.release()
        throw SQLiteError(code: .internal, message: "no thread for the database (errno \(result))")
    }
    func run(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }
}
