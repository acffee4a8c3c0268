import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What ties a child to its parent, so that nothing outlives a parent that was killed.
///
/// The parent holds the writing end of the child's standard input and never writes. However the parent ends, the
/// kernel closes that end, and the child sees the end of its input.
package enum LifeLine {
    /// The variable that tells a child of ours that its standard input is a life-line.
    package static let variable = "POWERSYNC_STACK_LIFELINE"

    /// Asks this process to stop as soon as its standard input ends, and ends it three seconds later.
    ///
    /// - Throws: `SystemError` if no thread can be made.
    package static func follow() throws(SystemError) {
        try DetachedThread.start {
            var byte: UInt8 = 0
            var count = 0
            repeat { count = read(0, &byte, 1) } while count > 0 || (count < 0 && errno == EINTR)
            kill(getpid(), SIGTERM)
            sleep(3)
            _exit(1)
        }
    }

    /// Starts a small shell that removes a folder once this process has ended, however it ended.
    ///
    /// - Parameter folder: the folder.
    /// - Returns: the shell; it ends by itself when its standard input is closed.
    /// - Throws: `SystemError`.
    static func guardFolder(_ folder: String) throws(SystemError) -> ChildProcess {
        let script = """
            trap '' INT TERM HUP
            cat >/dev/null 2>&1
            n=0
            while [ -e "$1" ] && [ $n -lt 40 ]; do rm -rf "$1" 2>/dev/null; n=$((n + 1)); sleep 0.1; done
            """
        return try ChildProcess.spawn("/bin/sh", ["-c", script, "sh", folder], input: .pipe)
    }
}
