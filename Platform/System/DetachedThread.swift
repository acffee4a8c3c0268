import CPowerSyncSystem

/// Threads for what must block; every signal is blocked in them, and the system shows them under ``name``.
package enum DetachedThread {
    /// What the system calls them.
    package static let name = POWERSYNC_THREAD_NAME

    /// Gives the thread that calls it the name of those below, for whoever started it in another way.
    package static func takeName() { powersync_thread_name() }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that runs a closure and ends with it.
    ///
    /// - Parameters:
    ///   - stack: The size of its stack in bytes, a multiple of the system's pages; nil leaves it to the system.
    ///   - run: What the thread does.
    /// - Throws: When the system refuses another thread, or one with such a stack.
    package static func start(
        stack: Int? = nil, _ run: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let context = Unmanaged.passRetained(Body(run))
        let status = powersync_thread_start(
            { context in
                guard let context else { return }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            }, context.toOpaque(), stack ?? 0)
        guard status < 0 else { return }
        context.release()
        throw SystemError(.process, "cannot start a thread", errno: -status)
    }

    /// Blocks the thread that calls it, one of those above.
    package static func sleep(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        powersync_sleep(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
