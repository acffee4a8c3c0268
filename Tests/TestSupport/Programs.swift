import PowerSyncSystem
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension ChildProcess {
    /// Starts a program that is killed as soon as this process has ended, however it ended.
    ///
    /// A shell beside the program waits for the end of a pipe that this process alone holds; the program has no input.
    ///
    /// - Parameters:
    ///   - executable: A path, or a name to look up in PATH.
    ///   - arguments: Its arguments, without the name of the program.
    ///   - environment: All of its environment; nil hands on this program's.
    ///   - output: Where its standard output leads.
    ///   - error: Where its standard error leads.
    /// - Returns: The running program, whose end its test waits for.
    /// - Throws: `SystemError` when the shell cannot be started; a program that does not exist ends with 127.
    package static func guarded(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        output: Stream = .null, error: Stream = .null
    ) throws(SystemError) -> ChildProcess {
        let program = try spawn(
            "/bin/sh", ["-c", guardScript, "powersync-guard", executable] + arguments,
            environment: environment, input: .pipe, output: output, error: error)
        guard let line = program.input else { return program }
        // Nobody's to cancel: it ends with the program.
        Task {
            _ = await program.wait()
            // A thread, in which SIGPIPE is blocked: the shell may be gone, or not have begun.
            try DetachedThread.start {
                _ = write(line, "\n", 1)
                close(line)
            }
        }
        return program
    }

    /// The shell, which becomes the program.
    ///
    /// A line says that the program has ended, whose id is then anybody's.
    private static let guardScript = """
        exec 3<&0 </dev/null
        (
            trap '' HUP INT TERM
            { read -r _ || kill -KILL $$; } <&3 >/dev/null 2>&1 &
        )
        exec 3<&-
        exec "$@"
        """
}

/// Waits for the end of a program; kills one whose end does not come.
///
/// - Parameters:
///   - program: The program.
///   - name: What it is called.
///   - deadline: How long at most; the one deadline of all tests unless there is a reason.
///   - sourceLocation: Where it is waited for.
/// - Returns: How it ended.
/// - Throws: `StateDidNotCome` after recording an issue, or `CancellationError`.
@discardableResult
package func wait(
    forEndOf program: ChildProcess, called name: String = "a program",
    within deadline: Duration = TestOptions.deadline, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> ChildProcess.ExitStatus {
    do {
        try await wait(for: "the end of \(name)", within: deadline, sourceLocation: sourceLocation) {
            program.hasEnded
        }
    } catch {
        program.signal(SIGKILL)
        throw error
    }
    return await program.wait()
}
