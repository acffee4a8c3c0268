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
        let (seconds, megabytes) = try measure(send: ["send", "\(count)"]) { ["sync", $0, "\(count)", $1] }
        return BenchmarkReport.Row(
            what: "peak memory, \(count) rows from loopback in \(PairedTimes.text(.seconds(seconds)))",
            ours: "\(PairedTimes.decimals(megabytes)) MB", goal: "≤ 256 MB")
    }

    /// Measures with so many data lines of one operation for a client that has so many stream subscriptions.
    static func run(lines count: Int, subscriptions: Int) async throws -> BenchmarkReport.Row {
        BenchmarkReport.progress("memory: a sender makes \(count) lines for \(subscriptions) subscriptions")
        let sizes = ["\(count)", "\(subscriptions)"]
        let (seconds, megabytes) = try measure(send: ["send-lines"] + sizes) { port, folder in
            ["sync-lines", port] + sizes + [folder]
        }
        let time = PairedTimes.text(.seconds(seconds))
        return BenchmarkReport.Row(
            what: "memory above the start, \(count) lines, \(subscriptions) subscriptions, in \(time)",
            ours: "\(PairedTimes.decimals(megabytes)) MB", goal: "≤ 64 MB")
    }

    /// Runs a sender and a client; returns the seconds and the megabytes that the client tells.
    private static func measure(
        send: [String], sync: (_ port: String, _ folder: String) -> [String]
    ) throws -> (seconds: Double, megabytes: Double) {
        let folder = try TemporaryDirectory(prefix: "powersync-bench-")
        defer { folder.remove() }
        let deadline = ContinuousClock.now + patience
        let program = try ThisExecutable.path()
        let sender = try Child(program, [MemoryChild.marker] + send)
        defer { sender.end() }
        let port = try sender.line(until: deadline)
        BenchmarkReport.progress("memory: a client syncs from port \(port)")
        let client = try Child(program, [MemoryChild.marker] + sync(port, folder.path))
        defer { client.end() }
        let answer = try client.line(until: deadline).split(separator: " ").compactMap { Double($0) }
        guard answer.count == 2 else { throw BenchmarkError("the client did not finish") }
        return (answer[0], answer[1] / 1_000_000)
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
