import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The command `backend`: runs the backend with the configuration of the environment, and sees to what it keeps.
package enum BackendCommand {
    /// The command as one of several.
    package static let command = named("backend")

    /// Returns the command under another name.
    ///
    /// - Parameters:
    ///   - name: that of the executable that runs it alone.
    ///   - environment: the environment in which the commands for operators run.
    ///   - output: gets what these print.
    ///   - now: seconds since 1970.
    ///   - pause: waits, for a command that does so.
    /// - Returns: the command.
    package static func named(
        _ name: String,
        environment: @escaping @Sendable () -> [String: String] = { ProcessInfo.processInfo.environment },
        output: @escaping @Sendable (String) -> Void = { StandardOutput.print($0) },
        now: @escaping @Sendable () -> Double = BackendEnvironment().now,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) -> Command {
        let session = OperatorSession(environment: environment, output: output)
        return Command(
            name, abstract: "Apply uploads to Postgres and mint tokens.",
            subcommands: [
                Command(
                    "start", abstract: "Run the backend until it is told to stop.",
                    discussion: """
                        Creates the schema psb in the database at the first start, and brings it up to date, if the \
                        role of DATABASE_URI may; else the command migrate does so, as another role. When it is ready it \
                        prints one line, {"backend":"http://127.0.0.1:6060"}; its log goes to standard error. SIGTERM \
                        or SIGINT stops it in order, a second one at once; one before that line ends the start. SIGHUP, \
                        without a terminal, has it read the table map, the keys and SESSION_SECRET_FILE again. Secrets and \
                        keys may also be in a file named by <NAME>_FILE.

                        Without ENV=development it is a backend in production, which refuses all that is for development, \
                        and asks who may sign in. On one's own machine:

                          DATABASE_URI=postgres://localhost/app POWERSYNC_URL=http://localhost:8080 \\
                          ENV=development DEV_EPHEMERAL_KEYS=true DEV_OPEN_SCHEMA=true DEV_TOKENS=true $0
                        """,
                    variables: Setting.variables, run: { _ in try await start() }),
                MigrateCommand.command(session), LettersCommand.command(session),
                EraseCommand.command(session),
                KeysCommand(session, now: now, pause: pause).command, ConfigCommand.command(session),
            ])
    }

    private static func start() async throws -> Int32 {
        let variables = ProcessInfo.processInfo.environment
        let (log, writer) = try logger(variables)
        defer { writer.end() }
        let configuration = try BackendConfiguration(
            environment: variables, readFile: OperatorSession.readFile)
        // The end of a terminal ends what was started at it; elsewhere a hang-up is the word to read again.
        let isAtTerminal = isatty(0) == 1
        let signals = StopSignal.stream(hangUp: isAtTerminal)
        let hangUps = isAtTerminal ? nil : ReloadSignal.stream()
        let poller = try Poller()
        defer { poller.stop() }
        let backend = Backend(configuration: configuration, poller: poller, log: log)
        // A stream of its own: with whoever listens to one a stream ends.
        let early = StopSignal.stream(hangUp: isAtTerminal)
        guard try await hasStarted(backend, unless: early, log, writer) else { return 0 }
        StandardOutput.print(readyLine(host: configuration.host, port: backend.port))
        await withTaskGroup(of: Void.self) { group in
            if let hangUps {
                let reload = ReloadLoop(
                    backend, hangUps, environment: variables, readFile: OperatorSession.readFile,
                    complain: { log.error($0, ["keys.problem": $1]) })
                group.addTask { await reload.run() }
            }
            for await _ in signals { break }
            log.info("stopping")
            // Who reads again listens to the end: a hang-up must not kill what is stopping in order.
            await stop(backend, by: StopBudget(configuration, from: .now), signals, poller, log, writer)
            group.cancelAll()
        }
        return 0
    }

    /// Starts a backend, unless a signal comes before it is done: then it ends what it has begun.
    ///
    /// - Returns: whether it runs.
    private static func hasStarted(
        _ backend: Backend, unless signals: AsyncStream<Int32>, _ log: Log, _ writer: LineWriter
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool?.self) { group in
            group.addTask {
                try await backend.start()
                return true
            }
            group.addTask {
                for await _ in signals {
                    log.info("stopping before the start is done")
                    // What cannot be ended, such as a file that nobody answers for, does not keep the program.
                    try DetachedThread.start {
                        DetachedThread.sleep(for: .seconds(5))
                        writer.end(within: .milliseconds(100))
                        exit(1)
                    }
                    return false
                }
                return nil
            }
            defer { group.cancelAll() }
            while let hasStarted = try await group.next() {
                if let hasStarted { return hasStarted }
            }
            return false
        }
    }

    /// Stops a backend; at the second signal, or when the time for it is over, the program ends all the same.
    private static func stop(
        _ backend: Backend, by budget: StopBudget, _ signals: AsyncStream<Int32>, _ poller: Poller,
        _ log: Log, _ writer: LineWriter
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await backend.stop(by: budget) }
            group.addTask {
                // An error means that the stop has come to its end before.
                guard (try? await poller.sleep(until: budget.end)) != nil else { return }
                log.error(
                    "the stop takes too long: the program ends, and the database rolls back what is left")
                writer.end()
                exit(1)
            }
            group.addTask {
                // The second signal means now: nothing that the stop still waits for may hold it up.
                for await _ in signals {
                    writer.end(within: .milliseconds(100))
                    exit(130)
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// What tells a program that started this one where the backend is.
    private static func readyLine(host: String, port: Int) -> String {
        let reachable =
            ["0.0.0.0": "127.0.0.1", "::": "[::1]"][host] ?? (host.contains(":") ? "[\(host)]" : host)
        return JSON.object([JSONMember("backend", .string("http://\(reachable):\(port)"))]).text
    }

    /// The log, and what writes its lines.
    private static func logger(_ variables: [String: String]) throws -> (Log, LineWriter) {
        var problems = SettingProblems()
        let settings = LogSettings(
            EnvironmentReader(variables: variables, readFile: OperatorSession.readFile), &problems)
        if let first = problems.all.first { throw first }
        let (level, format) = (settings.level, settings.format)
        let own = Log(label: "backend", level: level, format: format)
        let writer = try LineWriter { count in
            own.line(
                .warning, "lines of the log are left out: nobody takes them in time",
                ["log.lines": String(count)])
        }
        return (Log(label: "backend", level: level, format: format) { writer.put($0) }, writer)
    }
}
