/// The shell that stays with a process of ours and ends it when we are gone.
///
/// A shell outlives us even after SIGKILL, and reads the end of its input, the life-line, when the last holder of
/// the other end has died: within the moment, whichever thread had started it. It then stops the process by id,
/// first with SIGINT (for Postgres: roll back and stop), after 2.5 seconds with SIGQUIT (stop at once, recover at
/// the next start) because a replication client that does not answer holds up the first, after 4 seconds with
/// SIGKILL; and removes the folder, unless a file `keep` is in it. Until then the dead process stays a zombie, so
/// its id belongs to nobody else.
enum WatcherScript {
    /// The text for `sh -c`; `$1` is the folder, the rest the command.
    ///
    /// It prints the process id; the command inherits that output, whose end tells that it and all its children are
    /// gone. Errors of the command go to `log` in the folder.
    static let text = #"""
        folder=$1
        shift
        trap '' HUP INT TERM
        "$@" </dev/null 2>"$folder/log" &
        process=$!
        echo "$process"
        exec >/dev/null
        while read -r _; do :; done
        kill -INT "$process" 2>/dev/null
        tries=0
        while kill -0 "$process" 2>/dev/null && [ "$tries" -lt 80 ]; do
            sleep 0.05
            tries=$((tries + 1))
            [ "$tries" -ne 50 ] || kill -QUIT "$process" 2>/dev/null
        done
        kill -KILL "$process" 2>/dev/null
        [ -e "$folder/keep" ] && exit 0
        tries=0
        until rm -rf "$folder" 2>/dev/null || [ "$tries" -ge 20 ]; do
            sleep 0.05
            tries=$((tries + 1))
        done
        """#
}
