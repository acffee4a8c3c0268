import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One thread that tells tasks when descriptors are ready and when moments have passed.
///
/// It only wakes continuations; everything else runs on the global pool. Made once, in main, and handed down.
/// The thread ends with `stop()`, or when neither the poller nor a registered channel is referenced any more.
package final class Poller: Sendable {
    let core: PollerCore
    /// Looks up the names of hosts, which no readiness tells the end of.
    package let names: NameLookup
    /// Makes the calls that block, to libraries that know no other kind.
    package let calls = BlockingCalls()

    /// Starts the thread.
    ///
    /// - Parameter names: Looks up the names of hosts.
    /// - Throws: `SystemError` when the system has no queue or thread for it.
    package init(names: NameLookup = NameLookup()) throws(SystemError) {
        self.names = names
        core = try PollerCore()
        try core.start()
    }

    deinit { core.stop() }

    /// Registers a descriptor and makes it non-blocking.
    ///
    /// - Parameter descriptor: An open socket or pipe; it stays the caller's.
    /// - Returns: Its readiness; deregister it before the descriptor is closed.
    /// - Throws: When the poller has stopped or the system refuses the descriptor.
    package func channel(_ descriptor: Int32) throws(SystemError) -> Channel {
        let flags = fcntl(descriptor, F_GETFL)
        if flags < 0 || (flags & O_NONBLOCK == 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) {
            throw SystemError(.poller, "cannot make descriptor \(descriptor) non-blocking", errno: errno)
        }
        return try core.register(descriptor, for: self)
    }

    /// Returns when a moment has passed, at most some milliseconds late.
    ///
    /// - Parameter deadline: The moment.
    /// - Throws: `CancellationError` when the task is cancelled or the poller stops.
    package func sleep(until deadline: ContinuousClock.Instant) async throws {
        try await core.sleep(until: deadline)
    }

    /// Ends the thread; every wait, also every later one, throws `CancellationError`.
    package func stop() { core.stop() }
}
