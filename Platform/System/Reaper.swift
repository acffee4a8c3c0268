import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Notices the end of one child process on a thread of its own.
///
/// The thread waits without reaping and reaps under the lock that signals are sent under, so that a signal never
/// reaches a stranger who got the process id again.
final class Reaper: Sendable {
    private struct State {
        var status: ChildProcess.ExitStatus?
        var observers: [@Sendable (ChildProcess.ExitStatus) -> Void] = []
    }

    private let process: pid_t
    private let endsItsGroup: Bool
    private let state = Lock(State())

    /// Takes over a running process; kills and reaps it when no thread can be had.
    ///
    /// - Parameters:
    ///   - process: its id.
    ///   - endsItsGroup: whether what it leaves behind in the group of that id is killed.
    /// - Throws: `SystemError` without a thread.
    init(_ process: pid_t, endsItsGroup: Bool = false) throws(SystemError) {
        self.process = process
        self.endsItsGroup = endsItsGroup
        do throws(SystemError) {
            try DetachedThread.start { self.run() }
        } catch {
            kill(process, SIGKILL)
            run()
            throw error
        }
    }

    var hasEnded: Bool { state.withLock { $0.status != nil } }

    func signal(_ number: Int32) {
        // An error would mean that the process, which is ours and unreaped, refuses: it changed its user.
        state.withLock { if $0.status == nil { _ = kill(process, number) } }
    }

    func whenEnded(_ observer: @escaping @Sendable (ChildProcess.ExitStatus) -> Void) {
        let status = state.withLock { state in
            if state.status == nil { state.observers.append(observer) }
            return state.status
        }
        if let status { observer(status) }
    }

    private func run() {
        _ = powersync_wait_without_reaping(process)
        // Before it is reaped: until then no other group has this id.
        if endsItsGroup { kill(-process, SIGKILL) }
        let (status, observers) = state.withLock { state in
            var value: Int32 = 0
            var signalled = false
            let result = powersync_reap(process, &value, &signalled)
            // Somebody else reaped it, which only a SIGCHLD that is ignored can do: its status is lost.
            let status: ChildProcess.ExitStatus =
                result < 0 ? .exited(-1) : signalled ? .signalled(value) : .exited(value)
            defer { state.observers = [] }
            state.status = status
            return (status, state.observers)
        }
        for observer in observers { observer(status) }
    }
}
