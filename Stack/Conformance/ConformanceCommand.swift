import PowerSyncCommandLine
import PowerSyncConformance
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The sub-command `conformance` with one command for each contract that can be checked.
enum ConformanceCommand {
    static let command = Command(
        "conformance", abstract: "Check an implementation against recordings of the official one.",
        discussion: """
            Each command takes what was recorded from the official parts, does the same to the parts of this stack \
            or to others, and prints where they differ. Its last line counts what passed and what failed, and its \
            exit status is 0 only if there was something to check and nothing failed.

              powersync-stack conformance core Tests/Fixtures/core
              powersync-stack conformance service --expect-missing Tests/Fixtures/service/missing.txt \
            Tests/Fixtures/service
              powersync-stack conformance language --expect-differences Tests/Fixtures/language/missing.txt \
            Tests/Fixtures/language/configurations.jsonl
              powersync-stack conformance tokens Tests/Fixtures/tokens/tokens.jsonl
            """,
        subcommands: [core, service, language, tokens])

    private static let tokens = Command(
        "tokens", abstract: "Judge recorded tokens as this stack's service does.",
        discussion: """
            A file of JSON lines: first {"now", "sets": [[JWK, …], …]}, then a line a token: {"set", "audiences", "maxAge", \
            "note", "token", "result"}, where "result" is what the real service's verifier said: {"user", "exp"}, or \
            {"code", "message"}. What it refused has to be refused here with the same code, and what it accepted accepted \
            with the same user and end; but a token that is written another way than usual (a padded signature, a member \
            twice) may be refused for that. Those of which something else is wrong, too, are counted apart. Texts are \
            compared where they are not those of a library.

              powersync-stack conformance tokens Tests/Fixtures/tokens/tokens.jsonl
            """,
        options: [
            Option("--verbose", help: "Print a line for each token, too, that is refused for its writing.")
        ], arguments: ["FILE"]
    ) { arguments in
        guard let path = arguments.arguments.first else {
            throw CommandError(
                "FILE is missing; see powersync-stack conformance tokens --help",
                exitStatus: CommandError.usageStatus)
        }
        var run = TokenConformance { StandardOutput.print($0) }
        run.isVerbose = arguments.flag("--verbose")
        return try run.run(path) ? 0 : 1
    }

    private static let core = Command(
        "core", abstract: "Replay recorded sync sessions through the client's core.",
        discussion: """
            A transcript is one JSON file: {"name", "client_id", "steps": […]}. Each step is something that happened \
            to the official core (a schema, a local write, a line of the service, a lost connection) with what it \
            answered, "expect" or "expect_error", and often with the content of its tables, "dump". The steps are \
            done to a new database file with the settings that ship. Compared are every answer and every dump, as \
            JSON values; at the end SQLite checks the file.

            Recordings lie in Tests/Fixtures/core of the source; their format stands in \
            Documentation/Contract/README.md.

              powersync-stack conformance core Tests/Fixtures/core
              powersync-stack conformance core --sql --verbose Tests/Fixtures/core/curated

            A mismatch names the file, the step (counted from 0) and what differs: lines with - were recorded, lines \
            with + are what this client does.

              core/diff.json: step 4 (line): ps_updated_rows (row_type, row_id)
                  - ["todos","t1"]

            Some steps differ on purpose; --verbose tells which, and why. They are known by the name in the \
            transcript, so recordings of your own have no exceptions.
            """,
        options: [
            Option(
                "--sql",
                help: "Go through the SQL function powersync_control, as programs without this SDK do."),
            Option("--verbose", help: "Print a line for each file that passes, too."),
        ], arguments: ["DIR"]
    ) { arguments in
        guard let path = arguments.arguments.first else {
            throw CommandError(
                "DIR is missing; see powersync-stack conformance core --help",
                exitStatus: CommandError.usageStatus)
        }
        let isTerminal = isatty(1) == 1
        var run = CoreConformance { line in StandardOutput.print((isTerminal ? eraseLine : "") + line) }
        if arguments.flag("--sql") { run.way = .functions }
        run.isVerbose = arguments.flag("--verbose")
        if isTerminal {
            run.progress = { done, total, next in
                // Not longer than a narrow terminal: a line that wraps could not be written over.
                let name = next.split(separator: "/").last ?? ""
                StandardOutput.write("\(eraseLine)\(done) of \(total)  \(name.prefix(50))\r")
            }
        }
        let configured = run
        let hasPassed = try await Session.run(until: StopSignal.stream()) { session in
            try configured.run(path, scratch: try session.temporaryFolder())
        }
        return hasPassed.map { $0 ? 0 : 1 } ?? 130
    }

    /// Empties the line of a terminal.
    static let eraseLine = "\u{1B}[2K"
}
