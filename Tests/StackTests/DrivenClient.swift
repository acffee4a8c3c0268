import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The tool as a driving program sees it, in this process: commands go in through a pipe, lines come out.
final class DrivenClient: Sendable {
    private let lines = Lock<[JSON]>([])
    private let input: Lock<Int32?>
    /// The end of the pipe that the tool reads.
    private let output: Int32
    private let signals: AsyncStream<Int32>.Continuation
    private let run: Task<Int32?, any Error>

    /// Starts the tool.
    ///
    /// - Parameters:
    ///   - options: what it is started with.
    ///   - lineLimit: the largest line in bytes.
    ///   - answerLimit: the most bytes that the rows of one answer may have.
    ///   - patience: how long commands in work may take at the end.
    ///   - read: gets each line before it counts as read; may block, as a program does that is slow to read, and throw,
    ///   as if nobody reads any more.
    /// - Throws: `SystemError` if no pipe can be made; what making the client throws.
    init(
        _ options: ClientOptions, lineLimit: Int = ClientRun.lineLimit,
        answerLimit: Int = ClientRun.answerLimit,
        finishingWithin patience: Duration = TestOptions.deadline,
        reading read: @escaping @Sendable (String) throws -> Void = { _ in }
    ) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw SystemError(.file, "cannot make a pipe", errno: errno) }
        // A program that another test starts must not keep the end of the input from coming.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (output, commands) = (ends[0], ends[1])
        self.output = output
        input = Lock(commands)
        let (stream, signals) = AsyncStream.makeStream(of: Int32.self)
        self.signals = signals
        let lines = lines
        run = Task {
            // A machine that stands still closes late, which is no failure.
            try await Session.run(
                until: stream, closingWithin: TestOptions.deadline, thenWithin: TestOptions.deadline
            ) { session in
                try await ClientRun.run(
                    options, input: output, lineLimit: lineLimit, answerLimit: answerLimit,
                    finishingWithin: patience,
                    write: { line in
                        try read(line)
                        // What is no JSON is no line of the tool, and no test finds what it waits for.
                        let json = (try? JSON.parse(line)) ?? .string(line)
                        lines.withLock { $0.append(json) }
                    }, session: session)
            }
        }
    }

    deinit {
        endInput()
        run.cancel()
        // Not before the tool has ended: somebody else could get the number while it is read.
        Task { [run, output] in
            _ = await run.result
            close(output)
        }
    }

    /// All lines so far.
    var all: [JSON] { lines.withLock { $0 } }

    /// The events of a name so far.
    func events(_ name: String) -> [JSON] { all.filter { $0["event"] == .string(name) } }

    /// The answer to the command with an id, if it has come.
    func answer(to id: Int) -> JSON? {
        all.first { $0["id"] == .number(String(id)) && $0["ok"] != nil }
    }

    /// Sends lines; together they must be shorter than a pipe is long.
    func send(_ text: String...) {
        var bytes = Array(text.map { $0 + "\n" }.joined().utf8)[...]
        input.withLock { input in
            while let input, !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                bytes = bytes.dropFirst(count)
            }
        }
    }

    /// Sends a command with a number as id, and waits for its answer.
    func ask(
        _ command: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        send(command)
        let id = try #require(try JSON.parse(command)["id"]?.int64Value)
        return try await answered(Int(id), sourceLocation: sourceLocation)
    }

    /// Waits for the answer to a command that has been sent.
    func answered(
        _ id: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        let seen = try await wait(
            for: "the answer to \(id)", sourceLocation: sourceLocation, read: { answer(to: id) },
            until: { $0 != nil })
        return try #require(seen)
    }

    /// Lets the commands end.
    func endInput() {
        input.withLock { input in
            if let end = input { close(end) }
            input = nil
        }
    }

    /// Sends what the tool takes for a signal.
    func signal(_ number: Int32) { signals.yield(number) }

    /// Waits for the end of the tool; nil stands for one that a signal has ended.
    func end() async throws -> Int32? {
        endInput()
        return try await run.value
    }

    /// Waits for the end of the tool, whose input stays open.
    func endByItself() async throws -> Int32? { try await run.value }
}
