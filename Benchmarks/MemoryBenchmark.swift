import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The most memory that a client needs for a first sync while another process sends as fast as loopback allows.
///
/// Both are this program, started again: one serves lines that it made before, the other is the public database with
/// `connect()`. They end when this process does, however it ends.
enum MemoryBenchmark {
    /// The longest that a million rows may take before the client counts as stuck.
    private static let patience = Duration.seconds(900)

    /// Measures with a number of rows.
    static func run(rows count: Int) async throws -> BenchmarkReport.Row {
        BenchmarkReport.progress("memory: a sender makes \(count) rows")
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        let deadline = ContinuousClock.now + patience
        let program = try ThisExecutable.path()
        let sender = try Child(program, [MemoryChild.marker, "send", String(count)])
        defer { sender.end() }
        let port = try sender.line(until: deadline)
        BenchmarkReport.progress("memory: a client syncs them from port \(port)")
        let client = try Child(program, [MemoryChild.marker, "sync", port, String(count), folder.path])
        defer { client.end() }
        let answer = try client.line(until: deadline).split(separator: " ").compactMap { Double($0) }
        guard answer.count == 2 else { throw BenchmarkError("the client did not finish") }
        let (seconds, megabytes) = (answer[0], answer[1] / 1_000_000)
        return BenchmarkReport.Row(
            what: "peak memory, \(count) rows from loopback in \(PairedTimes.text(.seconds(seconds)))",
            ours: "\(PairedTimes.decimals(megabytes)) MB", goal: "≤ 256 MB")
    }
}

/// A program of ours that answers in lines, and ends when its input does.
private struct Child {
    private let process: ChildProcess

    init(_ program: String, _ arguments: [String]) throws {
        process = try ChildProcess.spawn(program, arguments, input: .pipe, output: .pipe, error: .inherit)
    }

    /// Kills it, if it still runs.
    func end() {
        process.signal(SIGKILL)
        for case .some(let descriptor) in [process.input, process.output] { close(descriptor) }
    }

    /// Waits for its next line.
    func line(until deadline: ContinuousClock.Instant) throws -> String {
        guard let output = process.output else { throw BenchmarkError("a child without output") }
        var line: [UInt8] = []
        while true {
            let seconds = (deadline - .now) / .seconds(1)
            var wanted = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard seconds > 0, poll(&wanted, 1, Int32(seconds * 1000)) > 0 else {
                throw BenchmarkError("a child did not answer in time")
            }
            var byte: UInt8 = 0
            guard read(output, &byte, 1) == 1 else { throw BenchmarkError("a child ended early") }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }
}
