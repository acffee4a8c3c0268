import PowerSyncCommandLine
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension ConformanceCommand {
    /// The command `conformance service`.
    static let service = Command(
        "service", abstract: "Play recordings of the real service against another one.",
        discussion: """
            A scenario is one JSON file: a schema, a sync config, and steps (a stream that a client opens, a \
            transaction on the source, a request) with what the real service answered. Each is played on a \
            database of its own in a private Postgres, against the service of this program or the one that \
            --command starts. After every step that settles, each client must hold the same: buckets with priority \
            and reasons, their rows, streams with errors, write checkpoint, checksums that fit. So must answers to \
            requests and the ends of streams.

            Recordings lie in Tests/Fixtures/service of the source; their README says what the files hold and what \
            counts as equal.

              powersync-stack conformance service --expect-missing Tests/Fixtures/service/missing.txt \
            Tests/Fixtures/service
              powersync-stack conformance service --only truncate --keep Tests/Fixtures/service
              powersync-stack conformance service --command 'node service.js start' Tests/Fixtures/service

            The command of --command is run by sh. It gets the path of a configuration file in \
            POWERSYNC_CONFIG_PATH and must serve what that says: source, storage, port, sync config, keys, port of \
            the metrics. SIGTERM ends it. A gauge powersync_sessions_behind in its metrics tells when every stream \
            has the newest checkpoint; without one each settling takes half a second.

            Without --compact, and with our own service, a scenario is not run from the step on that compacts. --compact \
            runs a command by sh with the same environment; it has to end within two minutes. The exit status is 0 if \
            something passed and nothing failed, 1 if something failed, 130 after Ctrl-C.

            A difference names the file, the step (counted from 0) and the client: lines with - were recorded, \
            lines with + are what this service does.

              service/truncate.json: step 3 (settle): c1: bucket all|0[]: row lists/l1 is missing:
                  - {"id":"l1","name":"Groceries"}
            """,
        options: [
            Option("--command", "CMD", help: "Start this service instead of our own."),
            Option("--compact", "CMD", help: "Run this where a scenario compacts the storage."),
            Option(
                "--only", "NAME", help: "Only this scenario; give it several times, or names with commas."),
            Option(
                "--expect-missing", "FILE",
                help:
                    "Scenarios that the service may refuse or need not be asked, one a line: name, and a part of what "
                    + "the service says. One that is not listed, or for another reason, fails, and so does one listed "
                    + "and not refused."),
            Option(
                "--expect-differences", "FILE",
                help:
                    "Scenarios whose lines differ from the recorded ones though clients hold the same, one a line: name, and "
                    + "why. One that is listed and equal fails."),
            Option("--keep", help: "Keep configurations, logs and received lines, and say where."),
            Option(
                "--verbose", help: "Print a line for each scenario that passes, and where its lines differ."),
        ], arguments: ["DIR"]
    ) { arguments in
        guard let path = arguments.arguments.first else {
            throw CommandError(
                "DIR is missing; see powersync-stack conformance service --help",
                exitStatus: CommandError.usageStatus)
        }
        var options = ServiceConformance.Options(path: path)
        options.command = arguments.value("--command")
        options.compaction = arguments.value("--compact")
        options.only = Set(arguments.all("--only").flatMap { $0.split(separator: ",").map(String.init) })
        options.missing = arguments.value("--expect-missing")
        options.differing = arguments.value("--expect-differences")
        options.keepsFiles = arguments.flag("--keep")
        options.isVerbose = arguments.flag("--verbose")
        PartEnvironment.forgetPostgresVariables()
        let isTerminal = isatty(1) == 1
        let run = ServiceConformance(
            options, executable: try ThisExecutable.path(),
            print: { line in StandardOutput.print((isTerminal ? eraseLine : "") + line) },
            progress: { done, total, last in
                guard isTerminal else { return }
                StandardOutput.write("\(eraseLine)\(done) of \(total)  \(last.prefix(50))\r")
            })
        let hasPassed = try await Session.run(until: StopSignal.stream()) { session in
            try await run.run(session)
        }
        return hasPassed.map { $0 ? 0 : 1 } ?? 130
    }
}
