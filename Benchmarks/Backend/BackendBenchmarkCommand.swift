import PowerSyncCommandLine
import PowerSyncStack

/// The command line of the measures of the backend.
enum BackendBenchmarkCommand {
    private static let only = Option(
        "--only", "NAME", help: "What is measured; may be given several times.", standard: "all parts")
    private static let pairs = Option(
        "--pairs", "N", help: "How often each figure is measured, in turn with its limit.",
        standard: String(BackendBenchmark.standardPairs))
    private static let fsync = Option(
        "--fsync", "on|off", help: "Whether a commit of Postgres waits for the disk.",
        standard: "first on, then off")
    private static let program = Option(
        "--program", "FILE", help: "Another backend to measure, such as one that was built before a change.",
        standard: "powersync-backend beside this program")

    /// `backend`.
    static let command = Command(
        "PowerSyncBenchmarks backend",
        abstract: "Measures the backend on a private Postgres beside its limits, and prints two tables.",
        discussion: """
            Each figure stands next to what the same machine can do at that moment: a program in C that writes the same \
            rows through libpq, or pgbench. Both are measured in turn, and the table has their medians and the median of \
            the ratios of the pairs, with the least and the most behind it. Machines drift, so look at the ratio first. \
            All is measured with a Postgres whose commits wait for the disk, and again with one whose do not; each line \
            says which.

            The backend has the settings that it has by itself, and tokens of its own. A thread in C sends it requests that \
            were made before, over connections that stay open, as BackendConnector spells them; it shares the machine with \
            backend and Postgres. Rows are new ones, and are counted at the end. The other table says what an operation \
            took of the processors: of backend, Postgres and that thread, and of Postgres and the program that is the \
            limit (Linux; those of C programs and pgbench everywhere). Progress goes to standard error, the tables to \
            standard output; no figure is judged, the exit status tells whether every part ran. Nothing stays behind. All \
            parts with five pairs take some minutes, and below TMPDIR 2 GB of disk.

             uniform  40 requests of 1,000 PUTs for one table, one after the other; beside one prepared upsert of
                      arrays for each 1,000, in BEGIN and COMMIT
             mixed    the same for three tables in turn, with a foreign key each, and each of four columns null
                      in half of the rows; beside the rows one by one in their order, prepared, each 1,000 in one
                      pipeline; and beside an upsert of arrays for each table, which keeps no order
             plain    the same without foreign keys: nobody could see another order
             singles  32 users with a connection each and 250 requests of one PUT, and their median and p99;
                      beside pgbench with as many clients, which sends the statements that the backend was seen to
                      send, prepared, each transaction in one pipeline (needs pgbench of Postgres 14 or newer)

            Examples:

             make bench ARGS=backend
             make bench ARGS="backend --only singles --fsync off --pairs 9"
             make bench ARGS="backend --only mixed --only plain --program /tmp/before/powersync-backend"
            """,
        options: [only, pairs, fsync, program]
    ) { arguments in
        var benchmark = BackendBenchmark(
            parts: try parts(arguments.all(only.name)),
            pairs: try arguments.number(pairs.name, in: 1...99) ?? BackendBenchmark.standardPairs)
        benchmark.durabilities = try durabilities(arguments.value(fsync.name))
        benchmark.program = try arguments.value(program.name).map { try NamedProgram.path($0, of: program) }
        PartEnvironment.forgetPostgresVariables()
        return try await benchmark.run()
    }

    /// The parts that words name, each once; all if there are none.
    private static func parts(_ words: [String]) throws(CommandError) -> [BackendPart] {
        var wanted: Set<BackendPart> = []
        for word in words {
            guard let part = BackendPart(rawValue: word) else {
                let known = BackendPart.allCases.map(\.rawValue).joined(separator: ", ")
                throw usage("\(only.name) does not take \"\(word)\"; there are \(known)")
            }
            wanted.insert(part)
        }
        return BackendPart.allCases.filter { wanted.isEmpty || wanted.contains($0) }
    }

    private static func durabilities(_ word: String?) throws(CommandError) -> [Bool] {
        switch word {
        case nil: return [true, false]
        case "on"?: return [true]
        case "off"?: return [false]
        case let other?: throw usage("\(fsync.name) takes on or off, not \"\(other)\"")
        }
    }

    private static func usage(_ message: String) -> CommandError {
        CommandError(message, exitStatus: CommandError.usageStatus)
    }
}
