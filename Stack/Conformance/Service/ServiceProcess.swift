import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The service under test, or a command beside it, while it runs.
package final class ServiceProcess: Sendable {
    /// What is started.
    package enum Program: Sendable {
        /// This program with its command `service`.
        case own(executable: String)
        /// A command line for `sh -c`.
        case command(String)
    }

    private let process: ChildProcess
    private let hasGroup: Bool
    private let patience: Duration

    /// Starts the service; it is ready when it answers.
    ///
    /// - Parameters:
    ///   - program: what to start.
    ///   - environment: all of its environment.
    ///   - log: where its output goes.
    ///   - patience: how long it may take to heed SIGTERM.
    /// - Throws: `SystemError`.
    package init(
        _ program: Program, environment: [String: String], log: Int32, patience: Duration = .seconds(20)
    ) throws(SystemError) {
        self.patience = patience
        switch program {
        case .own(let executable):
            hasGroup = false
            process = try ChildProcess.spawn(
                executable, ["service", "start"],
                environment: environment.merging([StackPart.lifeLineVariable: "1"]) { $1 }, input: .pipe,
                output: .descriptor(log), error: .descriptor(log), ownSession: true)
        case .command(let text):
            hasGroup = true
            process = try ChildProcess.spawn(
                "/bin/sh", ["-c", Self.guardScript, "powersync-service", text], environment: environment,
                input: .pipe, output: .descriptor(log), error: .descriptor(log), ownSession: true,
                endsItsGroup: true)
        }
    }

    /// Runs `$1`, and ends it and all of its group when the input ends, as it does when this program is killed.
    ///
    /// SIGTERM goes to the whole group: the shell itself waits for what it started, and the watcher ignores it.
    private static let guardScript = """
        trap : TERM
        exec 3<&0
        sh -c "$1" </dev/null 3<&- &
        process=$!
        (
            trap '' TERM
            while read -r _ <&3; do :; done
            kill -TERM 0
            sleep 5
            kill -KILL 0
        ) &
        watcher=$!
        wait "$process"
        status=$?
        while kill -0 "$process" 2>/dev/null; do
            wait "$process"
            status=$?
        done
        kill -KILL "$watcher" 2>/dev/null
        exit "$status"
        """

    deinit {
        if let input = process.input { close(input) }
    }

    /// Whether it has ended.
    package var hasEnded: Bool { process.hasEnded }

    /// Waits for its end.
    ///
    /// - Returns: how it ended.
    package func end() async -> ChildProcess.ExitStatus { await process.wait() }

    /// Runs a command to its end, with all that it started.
    ///
    /// - Parameters:
    ///   - command: a command line for `sh -c`.
    ///   - environment: all of its environment.
    ///   - logPath: the file to which its output is appended.
    ///   - limit: how long it may take.
    /// - Throws: `StackError` if it fails or takes longer; `SystemError`, `CancellationError`.
    package static func run(
        _ command: String, environment: [String: String], logPath: String, limit: Duration = .seconds(120)
    ) async throws {
        let log = try PrivateFile.append(logPath)
        defer { close(log) }
        let process = try ServiceProcess(.command(command), environment: environment, log: log)
        do {
            try await Deadline.wait(limit, for: "the command to end", seen: { LogFile.end(logPath) }) {
                process.hasEnded ? () : nil
            }
        } catch {
            process.send(SIGKILL)
            _ = await process.end()
            throw error
        }
        let status = await process.end()
        guard status == .exited(0) else {
            throw StackError(.partEnded, "the command ended with \(status.words): \(LogFile.end(logPath))")
        }
    }

    /// Sends SIGTERM and waits for the end; who does not heed it in time is killed.
    ///
    /// - Returns: nil; what is wrong if it had to be killed, or had ended already.
    package func stop() async -> String? {
        if process.hasEnded { return "the service had ended before SIGTERM, with \(await end().words)" }
        send(SIGTERM)
        let wasKilled = Lock(false)
        do {
            // A thread, because a cancelled task cannot wait.
            try DetachedThread.start { [self] in
                for _ in 0..<Int(patience / .milliseconds(50)) where !process.hasEnded { usleep(50_000) }
                guard !process.hasEnded else { return }
                wasKilled.withLock { $0 = true }
                send(SIGKILL)
            }
        } catch {
            // Without the thread nothing would bound the wait.
            send(SIGKILL)
        }
        _ = await process.wait()
        return wasKilled.withLock { $0 }
            ? "the service did not end within \(patience) of SIGTERM and was killed" : nil
    }

    /// A shell may have children of its own, which share its group.
    private func send(_ number: Int32) {
        if hasGroup, !process.hasEnded { kill(-process.id, number) }
        process.signal(number)
    }
}

extension ChildProcess.ExitStatus {
    /// How a program ended, in words.
    var words: String {
        switch self {
        case .exited(let status): "status \(status)"
        case .signalled(let number): "signal \(number)"
        }
    }
}
