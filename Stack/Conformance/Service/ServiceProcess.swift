import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The service under test while it runs.
final class ServiceProcess: Sendable {
    /// What is started.
    enum Program: Sendable {
        /// This program with its command `service`.
        case own(executable: String)
        /// A command line for `sh -c`.
        case command(String)
    }

    private let process: ChildProcess
    private let hasGroup: Bool

    /// Starts the service; it is ready when it answers.
    ///
    /// - Parameters:
    ///   - program: what to start.
    ///   - environment: all of its environment.
    ///   - log: where its output goes.
    /// - Throws: `SystemError`.
    init(_ program: Program, environment: [String: String], log: Int32) throws(SystemError) {
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
                input: .pipe, output: .descriptor(log), error: .descriptor(log), ownSession: true)
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
    var hasEnded: Bool { process.hasEnded }

    /// Sends SIGTERM and waits for the end; who does not heed it within twenty seconds is killed.
    ///
    /// - Returns: nil; what is wrong if it had to be killed.
    func stop() async -> String? {
        send(SIGTERM)
        let wasKilled = Lock(false)
        do {
            // A thread, because a cancelled task cannot wait.
            try DetachedThread.start { [self] in
                for _ in 0..<400 where !process.hasEnded { usleep(50_000) }
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
            ? "the service did not end within 20 s of SIGTERM and was killed" : nil
    }

    /// A shell may have children of its own, which share its group.
    private func send(_ number: Int32) {
        if hasGroup, !process.hasEnded { kill(-process.id, number) }
        process.signal(number)
    }
}
