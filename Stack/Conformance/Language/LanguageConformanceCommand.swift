import PowerSyncCommandLine

extension ConformanceCommand {
    /// The command `conformance language`.
    static let language = Command(
        "language", abstract: "Compile recorded sync configurations and run them in memory.",
        discussion: """
            A file of JSON lines: each is a configuration ("yaml") with what the real compiler and evaluator made of it \
            ("result"): messages with their places, the buckets that rows are in, the buckets of requests. worlds.json \
            beside it has the tables. There is no Postgres: rows and requests are evaluated in memory.

            Recordings lie in Tests/Fixtures/language of the source; their README says what counts as equal.

              powersync-stack conformance language Tests/Fixtures/language/expressions.jsonl
              powersync-stack conformance language --only 12,40-49 Tests/Fixtures/language/mistakes.jsonl

            A job that differs as it is listed with --expect-differences has been compared, and is neither passed nor \
            failed. Without --only, one that is listed and equal fails, as does one that is not there.

            A difference names the file, the job, and the place: lines with - were recorded, lines with + are what \
            this language makes of it.

              configurations.jsonl: job 12 differs
                row 3 of items:
                  - s0|0["d1"] items "i3" {"id": "i3", "pri": 2}
                  + s0|0["d1"] items "i3" {"id": "i3", "pri": 2.0}
            """,
        options: [
            Option(
                "--only", "N",
                help: "Only these jobs, with their configurations: numbers and ranges such as 1,5-9."),
            Option(
                "--expect-differences", "FILE",
                help: "Jobs that differ, a line: file without its ending, numbers, the reason."),
            Option(
                "--verbose",
                help: "Print the configuration of each job that differs, and a line for each that is listed."),
        ], arguments: ["FILE…"]
    ) { arguments in
        let paths = arguments.arguments
        guard !paths.isEmpty else {
            throw CommandError(
                "FILE is missing; see powersync-stack conformance language --help",
                exitStatus: CommandError.usageStatus)
        }
        var run = LanguageConformance { StandardOutput.print($0) }
        run.isVerbose = arguments.flag("--verbose")
        let numbers = arguments.all("--only").joined(separator: ",")
        if !numbers.isEmpty {
            guard let only = NumberRanges(numbers) else {
                throw CommandError(
                    "--only takes numbers such as 1,5-9, not \"\(numbers)\"",
                    exitStatus: CommandError.usageStatus)
            }
            run.only = only
        }
        if let path = arguments.value("--expect-differences") {
            run.missing = try MissingJobs(parsing: try TextFile.read(path), named: path)
        }
        return try run.run(paths) ? 0 : 1
    }
}
