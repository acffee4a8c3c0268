import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `powersync-stack client` as a person before a terminal sees it.
///
/// The terminal goes with this, and with these tests, however they end; the program does then, too.
final class PromptProgram: Sendable {
    /// What is typed to interrupt, to end, and to bring back what was typed.
    static let controlC = "\u{3}"
    static let controlD = "\u{4}"
    /// What is typed to stop it.
    static let controlZ = "\u{1A}"
    static let arrowUp = "\u{1B}[A"

    let terminal: PseudoTerminal
    let process: ChildProcess

    /// Starts the program, and waits for its prompt.
    ///
    /// - Parameters:
    ///   - folder: where database, schema and history are.
    ///   - columns: how wide the terminal is.
    ///   - endpoint: the service and the backend.
    ///   - kind: the kind of terminal.
    ///   - shell: what a shell does with the terminal, which runs the program by `"$@"`; nil for the program alone.
    /// - Throws: What starting it throws; `StateDidNotCome` without a prompt.
    init(
        in folder: String, columns: Int = 100, endpoint: String = "http://127.0.0.1:1",
        kind: String = "xterm", shell: String? = nil
    ) async throws {
        let schema = #"{"tables":[{"name":"items","columns":[{"name":"name","type":"text"}]}]}"#
        try schema.write(toFile: folder + "/schema.json", atomically: true, encoding: .utf8)
        terminal = try PseudoTerminal(columns: columns)
        var environment = ProcessInfo.processInfo.environment
        for name in ["EDITRC", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE"] { environment[name] = nil }
        environment["TERM"] = kind
        environment["HOME"] = folder
        environment["XDG_STATE_HOME"] = folder + "/state"
        let program = Repository.executable("powersync-stack")
        let arguments = [
            "client", "--db", folder + "/c.db", "--schema", folder + "/schema.json", "--endpoint", endpoint,
            "--backend", endpoint, "--user", "alice",
        ]
        process =
            if let shell {
                try terminal.start(
                    "/bin/sh", ["-c", shell, "sh", program] + arguments, environment: environment)
            } else {
                try terminal.start(program, arguments, environment: environment)
            }
        try await see("offline>")
    }

    deinit { process.signal(SIGKILL) }

    /// How much has been written so far.
    var place: Int { terminal.written.count }

    /// Types a text.
    func type(_ text: String) { terminal.type(text) }

    /// Waits until a text is on the terminal, behind a place.
    func see(
        _ text: String, since start: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(
            for: text, sourceLocation: sourceLocation, read: { terminal.text(since: start) },
            until: { $0.contains(text) })
    }

    /// Types a line, and waits for a text behind it and for the next prompt.
    func ask(
        _ line: String, for text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let start = place
        type(line + "\r")
        try await wait(
            for: text, sourceLocation: sourceLocation, read: { terminal.text(since: start) },
            until: { seen in
                guard let answer = seen.firstRange(of: text) else { return false }
                return seen[answer.upperBound...].contains("> ")
            })
    }

    /// Waits for the end.
    func end() async throws -> ChildProcess.ExitStatus {
        try await wait(forEndOf: process, called: "the prompt")
    }
}
