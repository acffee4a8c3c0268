import PowerSyncCommandLine
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The command line of the benchmarks: which parts, how large, how often.
enum BenchmarkCommand {
    private static let rows = Option(
        "--rows", "N", help: "A size to measure at, a multiple of 1,000; may be given several times.",
        standard: "100000 and 1000000; 100000 for index-reads, 1000000 for busy-sync and memory")
    private static let pairs = Option(
        "--pairs", "N", help: "How many pairs of our way and the bare way, one after the other.",
        standard: "7, from 500,000 rows on 3")
    private static let writes = Option(
        "--writes", "N", help: "How many rows local-writes writes; a fifth of them in single rows.",
        standard: "20000")

    private static let holds = Option(
        "--hold", "MS,…",
        help: "For busy-sync: how many milliseconds storing may keep the app from writing; a line for each.",
        standard: "what ships")
    private static let without = Option(
        "--without", "WHAT,…",
        help: "For first-sync: measured once more without the scan that applies.")

    private static let command = Command(
        "PowerSyncBenchmarks",
        abstract: "Measures this client beside bare loops on the same SQLite, and prints one table.",
        discussion: """
            Without a PART all of them run, which takes some twenty minutes. Progress goes to standard error, the table \
            to standard output; nothing is judged, the exit status only tells whether everything ran.

             first-sync    lines of 1,000 operations in memory, until the complete line has committed,
                           beside the least that any client must do: insert the operations, build three
                           indexes, insert the rows, commit
             busy-sync     the same from memory through the whole client, while the app writes every 100 ms:
                           how long its writes take, and what they cost the sync
             apply         the transaction that makes a checkpoint visible, beside a bare INSERT of its rows
             one-change    diff, data and complete line for one row on top of a synced database
             local-writes  INSERT, UPDATE and DELETE through the view, beside a typed table and a queue
             semicolons    an INSERT of a literal of 500 KB with 10,000 of them, beside one with commas
             index-reads   SELECT through an index of a view, beside an index of a typed table
             memory        the most memory that a client needs while another process sends as fast as it can
             many-lines    by how much more than at the start that is for 10,000 lines of one operation and
                           500 stream subscriptions

            A ratio is the median over all pairs, with the smallest and the largest behind it; one-change has 500 \
            pairs and leaves out the twentieth at either end. Numbers of \
            different machines cannot be compared, ratios roughly.

            Five measures of their own, with their own --help, are of clients, backend, service and Postgres:

             service       how fast the sync service is, beside what the machine can do
                           (make bench ARGS=service)
             backend       how fast the backend applies uploads, beside what the machine can do
                           (make bench ARGS=backend)
             stack         how long writes, uploads and a first sync take (make bench-stack)
             faults        how long it takes to get over faults (make bench-faults)
             attachments   how fast files go to their storage and come back (make bench-attachments)

            Examples:

             make bench
             make bench ARGS="first-sync --rows 100000"
             make bench ARGS="local-writes index-reads --pairs 3"
             make bench ARGS="busy-sync --hold 50,100,250,500"
             make bench ARGS="first-sync --without scan"
            """,
        options: [rows, pairs, writes, holds, without], arguments: Part.allCases.map { _ in "[PART]" },
        run: run)

    /// Runs what the arguments name; returns the exit status.
    static func main(_ arguments: [String]) async -> Int32 {
        // The memory part starts this program again, twice.
        if let role = MemoryChild.Role(arguments) { return await MemoryChild.run(role) }
        if let command = named(arguments.first) {
            return await command.main(Array(arguments.dropFirst()))
        }
        return await command.main(arguments)
    }

    /// Returns the command of a word that has one of its own; nil if it names none.
    private static func named(_ word: String?) -> Command? {
        switch word {
        case "service": ServiceBenchmarkCommand.command
        case "backend": BackendBenchmarkCommand.command
        default: StackBenchmarkCommand.named(word)
        }
    }

    private static func run(_ arguments: ParsedArguments) async throws -> Int32 {
        let parts = try arguments.arguments.map { name in
            guard let part = Part(rawValue: name) else {
                let known = Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandError(
                    "no part is called \"\(name)\"; there are \(known)", exitStatus: CommandError.usageStatus)
            }
            return part
        }
        let sizes = try arguments.all(rows.name).map { text in
            guard let size = Int(text), size > 0, size % 1000 == 0, size <= 10_000_000 else {
                throw CommandError(
                    "--rows takes a multiple of 1000 up to 10000000, not \"\(text)\"",
                    exitStatus: CommandError.usageStatus)
            }
            return size
        }
        let plan = Plan(
            sizes: sizes, pairs: try arguments.number(pairs.name, in: 1...99),
            writes: try arguments.number(writes.name, in: 100...1_000_000) ?? 20_000,
            holds: try list(holds, of: arguments) { text in
                Int(text).flatMap { (1...60_000).contains($0) ? Duration.milliseconds($0) : nil }
            }, without: try list(without, of: arguments) { FirstSyncBenchmark.Part(rawValue: $0) })
        // One folder for all, so that Ctrl-C leaves no gigabytes behind.
        let root = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { root.remove() }
        setenv("TMPDIR", root.path, 1)
        let ending = Task {
            for await _ in StopSignal.stream() {
                root.remove()
                exit(130)
            }
        }
        defer { ending.cancel() }
        var report = BenchmarkReport()
        for part in parts.isEmpty ? Part.allCases : parts { report.add(try await part.run(plan)) }
        StandardOutput.print(try report.text())
        return 0
    }

    /// The values of an option that takes several, with commas between them.
    private static func list<Value>(
        _ option: Option, of arguments: ParsedArguments, _ read: (String) -> Value?
    ) throws(CommandError) -> [Value] {
        var values: [Value] = []
        for text in arguments.all(option.name).flatMap({ $0.split(separator: ",") }) {
            guard let value = read(String(text)) else {
                throw CommandError(
                    "\(option.name) does not take \"\(text)\"", exitStatus: CommandError.usageStatus)
            }
            values.append(value)
        }
        return values
    }

    /// What can be measured.
    private enum Part: String, CaseIterable {
        case firstSync = "first-sync"
        case busySync = "busy-sync"
        case apply
        case oneChange = "one-change"
        case localWrites = "local-writes"
        case semicolons
        case indexReads = "index-reads"
        case memory = "memory"
        case manyLines = "many-lines"

        func run(_ plan: Plan) async throws -> [BenchmarkReport.Row] {
            switch self {
            case .firstSync:
                try plan.sizes(or: [100_000, 1_000_000]).flatMap {
                    try FirstSyncBenchmark.run(rows: $0, pairs: plan.pairs(at: $0), without: plan.without)
                }
            case .busySync:
                try await plan.sizes(or: [1_000_000]).asyncMap {
                    try await BusySyncBenchmark.run(rows: $0, holds: plan.holds)
                }.flatMap { $0 }
            case .apply:
                try plan.sizes(or: [100_000, 1_000_000]).map {
                    try ApplyBenchmark.run(rows: $0, pairs: plan.pairs(at: $0))
                }
            case .oneChange:
                try plan.sizes(or: [100_000, 1_000_000]).map { try OneChangeBenchmark.run(rows: $0) }
            case .localWrites:
                try LocalWriteBenchmark.run(rows: plan.writes, pairs: plan.pairs(at: plan.writes))
            case .semicolons:
                try await [StatementTextBenchmark.run(pairs: plan.pairs(at: plan.writes))]
            case .indexReads:
                try plan.sizes(or: [100_000]).flatMap {
                    try IndexReadBenchmark.run(rows: $0, pairs: plan.pairs(at: $0))
                }
            case .memory:
                try await plan.sizes(or: [1_000_000]).asyncMap { try await MemoryBenchmark.run(rows: $0) }
            case .manyLines:
                try await [MemoryBenchmark.run(lines: 10_000, subscriptions: 500)]
            }
        }
    }

    private struct Plan {
        let sizes: [Int]
        let pairs: Int?
        let writes: Int
        let holds: [Duration]
        let without: [FirstSyncBenchmark.Part]

        func sizes(or standard: [Int]) -> [Int] { sizes.isEmpty ? standard : sizes }

        func pairs(at rows: Int) -> Int { pairs ?? (rows < 500_000 ? 7 : 3) }
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
