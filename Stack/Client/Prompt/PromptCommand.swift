import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncTerminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The sub-command `client` without `--json`, on the streams of this process.
enum PromptCommand {
    /// Is a prompt where both streams lead to a terminal, else runs a script.
    ///
    /// - Parameter options: what the tool is started with.
    /// - Returns: the exit status.
    /// - Throws: what the run throws.
    static func run(_ options: ClientOptions) async throws -> Int32 {
        guard Terminal.isTerminal(0), Terminal.isTerminal(1) else { return try await script(options) }
        return try await prompt(options)
    }

    /// A signal that asks to stop is a way to leave like any other; that of Ctrl-C does not.
    private static func prompt(_ options: ClientOptions) async throws -> Int32 {
        let signals = PromptSignals()
        let arriving = StopSignal.stream()
        let screen = ScreenSignal.stream()
        let (stops, stop) = AsyncStream.makeStream(of: Int32.self)
        return try await withThrowingTaskGroup(of: Int32?.self) { group in
            group.addTask {
                for await signal in arriving {
                    if signal == SIGINT, signals.interrupt() { continue }
                    stop.yield(signal)
                }
                return nil
            }
            group.addTask {
                for await signal in screen {
                    if signal == SIGQUIT { stop.yield(signal) } else { signals.renew() }
                }
                return nil
            }
            group.addTask {
                let status = try await Session.run(until: stops) { session in
                    let console = try await TerminalConsole.open(
                        input: 0, output: 1, environment: ProcessInfo.processInfo.environment,
                        session: session)
                    return try await ClientPrompt.run(
                        options, console: console, signals: signals, session: session)
                }
                return status ?? 0
            }
            defer { group.cancelAll() }
            while let ended = try await group.next() {
                if let status = ended { return status }
            }
            // The run ends with a status or an error.
            return 1
        }
    }

    /// A script that a signal ends has not done what it was to do.
    private static func script(_ options: ClientOptions) async throws -> Int32 {
        let status = try await Session.run(until: StopSignal.stream()) { session in
            try await ClientPrompt.runScript(
                options, input: 0, write: { try StandardOutput.put($0) },
                errors: { StandardError.print($0) }, session: session)
        }
        guard let status else { throw CommandError("a signal has ended the script") }
        return status
    }
}
