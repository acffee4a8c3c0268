#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What ties a child to its parent, so that nothing outlives a parent that was killed.
///
/// The parent holds the writing end of the child's standard input and never writes. However the parent ends, the
/// kernel closes that end, and the child sees the end of its input.
package enum LifeLine {
    /// Asks this process to stop as soon as its standard input ends, and ends it some seconds later.
    ///
    /// - Parameter grace: The whole seconds between SIGTERM and the end.
    /// - Throws: `SystemError` if no thread can be made.
    package static func follow(grace: UInt32 = 3) throws(SystemError) {
        try DetachedThread.start {
            var byte: UInt8 = 0
            var count = 0
            repeat { count = read(0, &byte, 1) } while count > 0 || (count < 0 && errno == EINTR)
            kill(getpid(), SIGTERM)
            sleep(grace)
            _exit(1)
        }
    }

    /// Starts a small shell that removes a folder once this process has ended, however it ended.
    ///
    /// - Parameter folder: The folder.
    /// - Returns: The shell; it removes the folder and ends when its standard input is closed.
    /// - Throws: `SystemError`.
    package static func guardFolder(_ folder: String) throws(SystemError) -> ChildProcess {
        try ChildProcess.spawn(
            "/bin/sh", ["-c", watcherScript, "powersync-watcher", folder], input: .pipe, ownSession: true)
    }

    /// The text, for `sh -c`, of a shell that ends a process and removes a folder when its own input ends.
    ///
    /// `$1` is the folder; the rest is a command, which may be missing. The shell prints the command's process id;
    /// the command inherits that output, whose end tells that it and all its children are gone. Errors of the
    /// command go to `log` in the folder.
    ///
    /// A shell outlives us even after SIGKILL, and reads the end of its input when the last holder of the other end
    /// has died: within the moment, whichever thread had started it. It then stops the command by its process id,
    /// first with SIGINT (for Postgres: roll back and stop), after 2.5 seconds with SIGQUIT (stop at once, recover
    /// at the next start) because a replication client that does not answer holds up the first, after 8.5 seconds with
    /// SIGKILL, because Postgres itself kills its children five seconds after SIGQUIT; and removes the folder, unless there
    /// was a command and a file `keep` is in the folder. What somebody had stopped (SIGSTOP), the command or its children,
    /// goes on first. Until the input ends a dead command stays a zombie, so its id belongs to nobody else; then its
    /// signals follow at once the look whether it is there.
    package static let watcherScript = #"""
        folder=$1
        shift
        trap '' HUP INT TERM
        if [ "$#" -gt 0 ]; then
            "$@" </dev/null 2>"$folder/log" &
            process=$!
            echo "$process"
        fi
        exec >/dev/null
        while read -r _; do :; done
        if [ -n "${process-}" ]; then
            kill -INT "$process" 2>/dev/null
            children=
            # Only Linux tells them so; elsewhere Postgres kills those that do not go on.
            { read -r children <"/proc/$process/task/$process/children"; } 2>/dev/null
            kill -CONT "$process" $children 2>/dev/null
            tries=0
            while kill -0 "$process" 2>/dev/null; do
                case $tries in
                50) kill -QUIT "$process" 2>/dev/null ;;
                170) kill -KILL "$process" 2>/dev/null && break ;;
                esac
                sleep 0.05
                tries=$((tries + 1))
            done
            [ -e "$folder/keep" ] && exit 0
        fi
        tries=0
        until rm -rf "$folder" 2>/dev/null || [ "$tries" -ge 80 ]; do
            sleep 0.05
            tries=$((tries + 1))
        done
        """#
}
