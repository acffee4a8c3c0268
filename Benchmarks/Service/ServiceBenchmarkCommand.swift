import PowerSyncCommandLine
import PowerSyncStack

/// The command line of the measures of the service.
enum ServiceBenchmarkCommand {
    private static let only = Option(
        "--only", "NAME",
        help: "A part, or what the names of several begin with, as warm; may be given several times.",
        standard: "all parts")
    private static let pairs = Option(
        "--pairs", "N", help: "How often each figure is measured, in turn with its limit.",
        standard: String(ServiceBenchmark.standardPairs))
    private static let program = Option(
        "--program", "FILE", help: "Another service to measure, such as one that was built before a change.",
        standard: "powersync-mock-service beside this program")

    /// `service`.
    static let command = Command(
        "PowerSyncBenchmarks service",
        abstract: "Measures the sync service on a private Postgres beside its limits, and prints one table.",
        discussion: """
            Each figure stands next to what the same machine can do at that moment: a program in C on one thread with \
            the same libraries, a server that sends recorded bytes from memory, or pg_recvlogical. Both are measured \
            in turn, and the table has their medians and the median of the ratios of the pairs, with the least and the \
            most behind it. Machines drift, so look at the ratio first. A figure without a limit has the least and the \
            most of ours.

            Clients are streams of one reader, a thread that parses each line as a client does and notes when it came. \
            The reader is the same for the service and for its limits, and shares the machine with them. Rows have six \
            columns and some 300 bytes of JSON. Postgres is as durable as one in production. Progress goes to standard \
            error, the table to standard output; no figure is judged, the exit status tells whether every part ran. \
            Nothing stays behind. All parts with five pairs take from half an hour to some hours, as fast as the \
            service is, up to 5 GB of disk below TMPDIR, and 2 GB of memory for what is sent again from there.

             start             an empty database: from the start of the process to the first checkpoint, and
                               the memory then (Linux)
             snapshot100k      100,000 rows, the same; beside COPY, JSON, SHA-1, SHA-256 and SQLite
             snapshot1m        (synchronous FULL) on one thread in C; the same with 1,000,000 rows
             warm100k          a bucket that another client has got before, from connecting to the end of the
             warm1m            first sync; beside a server that sends the same bytes from memory
             bulk              one transaction of 100,000 rows, from its commit until a client has the last
             singles           20,000 transactions of one row through one psql: how long after the last a
                               client has it; and the rate of psql, beside that with pg_recvlogical in the
                               place of the service
             latency           200 commits, each from its answer to the line at a client; beside a thread in
                               C that replicates, stores in SQLite (synchronous FULL) and forwards
             write-checkpoint  50 write checkpoints, each from the request to the line that has it
             connects          1,000 clients, fifty at a time, until all have 1,000 rows, of one bucket and
                               then each of its own; beside a server that sends one's bytes to all
             fanout            10 commits, each from its answer until each of 1,000 clients has the row;
                               beside a server that sends each of as many clients as many lines
             idle              500 commits to a table that nobody syncs, with 1,000 streams that have nothing to
                               do: the processor time of the service, beside that without streams (Linux)
             memory            the most that a new service has needed (Linux): 100,000 rows and a client,
                               1,000,000 rows and two, 1,000 clients, 1,000 clients with gzip
             compile           a configuration of 46 queries in published shapes, compiled in this process
             language          three streams over one table, a join, a sub-select of two levels: a snapshot of
                               100,000 rows, and the processor time of 20,000 transactions of one row (Linux);
                               beside one stream of the same rows
             lookups           10,000 users with one row of a lookup each: 200 changes of one of them, each from
                               its answer until its session has the rows; and the memory without sessions
                               (Linux), beside ten users

            Examples:

             make bench ARGS=service
             make bench ARGS="service --only warm --only latency --pairs 3"
             make bench ARGS="service --only snapshot100k --program /tmp/before/powersync-mock-service"
            """,
        options: [only, pairs, program]
    ) { arguments in
        let benchmark = ServiceBenchmark(
            parts: try parts(arguments.all(only.name)),
            pairs: try arguments.number(pairs.name, in: 1...99) ?? ServiceBenchmark.standardPairs,
            program: try arguments.value(program.name).map { try NamedProgram.path($0, of: program) })
        PartEnvironment.forgetPostgresVariables()
        return try await benchmark.run()
    }

    private static func parts(_ words: [String]) throws(CommandError) -> [ServicePart] {
        do throws(ServicePart.UnknownPart) {
            return try ServicePart.named(words)
        } catch {
            let known = ServicePart.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError(
                "\(only.name) does not take \"\(error.word)\"; there are \(known)",
                exitStatus: CommandError.usageStatus)
        }
    }
}
