import PowerSyncCommandLine
import PowerSyncStack

/// The command lines of the measures of a whole stack.
enum StackBenchmarkCommand {
    private static let runs = Option(
        "--runs", "N", help: "How often everything is measured; the table has the figure of each run.",
        standard: "5")
    private static let rows = Option(
        "--rows", "N",
        help: "How many rows the first sync has, a multiple of 1,000; the goals are for the default.",
        standard: String(StackBenchmark.standardRows))

    /// Returns the command of a word; nil if it names none.
    static func named(_ word: String?) -> Command? {
        switch word {
        case "stack": stack
        case "faults": faults
        case "attachments": attachments
        default: nil
        }
    }

    private static let stack = Command(
        "PowerSyncBenchmarks stack",
        abstract: "Measures two clients on backend, service and Postgres, and prints one table.",
        discussion: """
            Each run starts a private Postgres, as durable as one in production, and the backend, the service and the \
            clients of the powersync-stack that lies beside this program; clients are driven by lines of JSON. At its \
            end every row of both clients is compared with Postgres. Progress goes to standard error, the table to \
            standard output; no figure is judged, the exit status tells whether all runs came to that end. Nothing \
            stays behind.

             first-sync           from connecting to the end of the first sync, the service warm, and the
                                  most memory of the client by then (Linux); both also with a server that
                                  sends the recorded bytes from memory
             write-to-watch       60 writes on A, each until a watched query on B has it
             one-transaction      1,000 rows in one transaction on A, until the queue is empty, and until
                                  B has the last
             single-transactions  300 transactions of one row on A, until the queue is empty
            """,
        options: [runs, only(StackBenchmark.Work.self), rows]
    ) { arguments in
        let count = try arguments.number(rows.name, in: 1000...10_000_000) ?? StackBenchmark.standardRows
        guard count % 1000 == 0 else {
            throw usage("\(rows.name) takes a multiple of 1000, not \(count)")
        }
        let benchmark = StackBenchmark(
            works: try chosen(arguments), rows: count, runs: try number(arguments))
        PartEnvironment.forgetPostgresVariables()
        return try await benchmark.run()
    }

    private static let faults = Command(
        "PowerSyncBenchmarks faults",
        abstract: "Measures how long two clients, backend and service take to get over faults.",
        discussion: """
            Each run starts what PowerSyncBenchmarks stack starts, with a proxy between clients and service, and plays all \
            faults. A figure is the time from the moment at which all is well again, or from the fault where nothing \
            heals, until a write on client A is seen at client B. Behind each fault every row of both clients is \
            compared with Postgres. A fault that is not got over counts as failed, which the exit status tells. A \
            backend or service that dies is started again and counted. Nothing stays behind.

             cut-stream        all connections between clients and service end
             service-kill      the service is killed, and started again after 2 s
             postgres-restart  Postgres stops at once, as after a crash, and is started again after 2 s
             backend-down      the backend is killed, and started again after 5 s; 20 writes wait
             client-kill       A is killed with 20 writes to upload, and opened again
             slot-dropped      the replication slot of the service is dropped
             blackhole-stream  all connections stay open and carry nothing any more
            """,
        options: [runs, only(Fault.self)]
    ) { arguments in
        let benchmark = FaultBenchmark(faults: try chosen(arguments), runs: try number(arguments))
        PartEnvironment.forgetPostgresVariables()
        return try await benchmark.run()
    }

    private static let pairs = Option(
        "--pairs", "N", help: "How many pairs of our way and curl, one after the other.", standard: "3")
    private static let files = Option(
        "--files", "N", help: "How many small files there are; the goals are for the default.",
        standard: String(AttachmentBenchmark.standardFiles))
    private static let megabytes = Option(
        "--megabytes", "N",
        help: "How large the large file is, at least 16; the goals are for the default.",
        standard: String(AttachmentBenchmark.standardMegabytes))

    private static let attachments = Command(
        "PowerSyncBenchmarks attachments",
        abstract: "Measures the queue of attachments beside curl, and prints one table.",
        discussion: """
            Starts what PowerSyncBenchmarks stack starts, whose backend keeps files in a folder. Ours is a database with a \
            queue in this process, from startSync until all files are in step: the questions to the backend, SHA-256, \
            fsync and rename included. Curl gets addresses that were signed before. It needs curl, sha256sum, split, \
            head and cp, and some eight times the large file of disk below TMPDIR. No figure is judged, the exit status \
            tells whether everything ran. Nothing stays behind.

             large  one file up, beside curl with its parts over one connection, the call that completes it, \
                    and sha256sum; the same down, beside curl, sha256sum, fsync and rename; and by how much \
                    more memory than before this process and the backend had (Linux)
             small  files of 10,000 bytes up, eight at a time, beside curl with eight connections; the same \
                    down, where curl's are then fsynced and renamed one by one
            """,
        options: [pairs, only(AttachmentBenchmark.Work.self), files, megabytes]
    ) { arguments in
        let benchmark = AttachmentBenchmark(
            works: try chosen(arguments),
            files: try arguments.number(files.name, in: 1...100_000) ?? AttachmentBenchmark.standardFiles,
            megabytes: try arguments.number(megabytes.name, in: 16...100_000)
                ?? AttachmentBenchmark.standardMegabytes,
            pairs: try arguments.number(pairs.name, in: 1...99) ?? 3)
        PartEnvironment.forgetPostgresVariables()
        return try await benchmark.run()
    }

    private static let onlyName = "--only"

    private static func only<Kind: RawRepresentable & CaseIterable>(_ kind: Kind.Type) -> Option
    where Kind.RawValue == String {
        Option(
            onlyName, "NAME", help: "What is measured; may be given several times.",
            standard: "all: \(names(kind))")
    }

    private static func names<Kind: RawRepresentable & CaseIterable>(_ kind: Kind.Type) -> String
    where Kind.RawValue == String {
        kind.allCases.map(\.rawValue).joined(separator: ", ")
    }

    /// Returns what a command line names, each once; everything if it names nothing.
    private static func chosen<Kind: RawRepresentable & CaseIterable & Hashable>(
        _ arguments: ParsedArguments
    ) throws(CommandError) -> [Kind] where Kind.RawValue == String {
        var wanted: Set<Kind> = []
        for word in arguments.all(onlyName) {
            guard let kind = Kind(rawValue: word) else {
                throw usage("\(onlyName) does not take \"\(word)\"; there are \(names(Kind.self))")
            }
            wanted.insert(kind)
        }
        return Kind.allCases.filter { wanted.isEmpty || wanted.contains($0) }
    }

    private static func number(_ arguments: ParsedArguments) throws(CommandError) -> Int {
        try arguments.number(runs.name, in: 1...99) ?? 5
    }

    private static func usage(_ message: String) -> CommandError {
        CommandError(message, exitStatus: CommandError.usageStatus)
    }
}
