import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A client that is driven by lines of JSON over its pipes, as `powersync-stack client --json` is.
///
/// A thread of its own reads what the client says and notes when each line came, so that no wait of ours is part of a
/// figure. One task at a time gives it commands. It ends with the end of its input, and so with us, however we end.
final class MeasuredClient: Sendable {
    /// The answer to a command.
    struct Answer: Sendable {
        /// The whole line.
        let json: JSON
        /// When it came.
        let arrival: ContinuousClock.Instant
    }

    private struct State {
        var lastID = 0
        var isReady = false
        var answers: [Int: Answer] = [:]
        /// When each row of a watched query came for the first time, by its id.
        var arrivals: [String: ContinuousClock.Instant] = [:]
        /// Why nothing more comes that could be waited for.
        var failure: String?
        var isClosed = false

        mutating func take(_ line: JSON, at arrival: ContinuousClock.Instant) {
            switch line["event"]?.stringValue {
            case "ready": isReady = true
            case "watch":
                if let error = line["error"]?.stringValue { failure = "its watched query failed: \(error)" }
                for row in line["rows"]?.arrayValue ?? [] {
                    guard let id = row["id"]?.stringValue, arrivals[id] == nil else { continue }
                    arrivals[id] = arrival
                }
            case nil:
                guard let id = line["id"]?.int64Value else { return }
                answers[Int(id)] = Answer(json: line, arrival: arrival)
            default: break
            }
        }
    }

    /// How long a client may take for what is no work.
    static let patience = Duration.seconds(60)
    /// The largest line: a page of rows that are compared.
    private static let lineLimit = 64 << 20

    /// What it is called in messages.
    let name: String
    private let process: ChildProcess
    private let input: Channel
    private let state = Lock(State())

    /// Starts a client.
    ///
    /// - Parameters:
    ///   - name: what it is called in messages.
    ///   - executable: the program.
    ///   - arguments: its arguments.
    ///   - log: where its standard error goes.
    ///   - poller: the poller of the program.
    /// - Throws: `SystemError` if it cannot be started.
    init(_ name: String, executable: String, arguments: [String], log: Int32, poller: Poller) throws {
        self.name = name
        // A session of its own: Ctrl-C is ours to answer.
        process = try ChildProcess.spawn(
            executable, arguments, input: .pipe, output: .pipe, error: .descriptor(log), ownSession: true)
        guard let input = process.input, let output = process.output else {
            throw BenchmarkError("client \(name) has no pipes")
        }
        self.input = try poller.channel(input)
        try DetachedThread.start { [state] in Self.collect(output, into: state) }
    }

    /// Its process.
    var processID: Int32 { process.id }

    private static func collect(_ output: Int32, into state: Lock<State>) {
        defer { close(output) }
        var splitter = LineSplitter(limit: lineLimit)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            let arrival = ContinuousClock.now
            guard count > 0 else { return state.withLock { $0.failure = $0.failure ?? "it has ended" } }
            splitter.append(Array(buffer[..<count]))
            do {
                while let line = try splitter.next() {
                    let json = try JSON.parse(line)
                    state.withLock { $0.take(json, at: arrival) }
                }
            } catch {
                return state.withLock { $0.failure = "what it says is no line of JSON: \(error)" }
            }
        }
    }

    /// Kills it, if it still runs, and returns when it is gone.
    func end() async {
        process.signal(SIGKILL)
        _ = await process.wait()
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        input.deregister()
        close(input.descriptor)
    }

    // MARK: Commands

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - op: the command.
    ///   - members: what it has beside its id.
    /// - Returns: its id, by which the answer is found.
    /// - Throws: `StackError` with `.deadline` if the client reads nothing, `SystemError`, `CancellationError`.
    func send(_ op: String, _ members: [JSONMember] = []) async throws -> Int {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let command = JSON.object([JSONMember("id", .integer(id)), JSONMember("op", .string(op))] + members)
        var rest = (command.utf8 + [UInt8(ascii: "\n")])[...]
        let deadline = ContinuousClock.now + Self.patience
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(input.descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                guard try await input.writable(until: deadline) else {
                    throw StackError(.deadline, "client \(name) did not read \(op) in time")
                }
            } else if count == 0 || errno != EINTR {
                throw SystemError(.process, "client \(name) takes no commands", errno: errno)
            }
        }
        return id
    }

    /// Waits for the answer to a command.
    ///
    /// - Parameters:
    ///   - id: the command's id.
    ///   - op: what it is called in messages.
    ///   - limit: how long to wait.
    /// - Returns: the answer, which is not kept.
    /// - Throws: `StackError` with `.deadline`; `BenchmarkError` for a command that was refused, and for a client that has
    ///   ended; `CancellationError`.
    func answer(to id: Int, of op: String, within limit: Duration = patience) async throws -> Answer {
        let answer = try await Deadline.wait(limit, for: "client \(name) to answer \(op)") {
            try seen { $0.answers.removeValue(forKey: id) }
        }
        guard answer.json["ok"] == .bool(true) else {
            throw BenchmarkError(
                "client \(name) refused \(op): \(answer.json["error"]?.stringValue ?? answer.json.text)")
        }
        return answer
    }

    /// Sends a command and waits for its answer.
    @discardableResult
    func ask(
        _ op: String, _ members: [JSONMember] = [], within limit: Duration = patience
    ) async throws -> Answer {
        try await answer(to: try await send(op, members), of: op, within: limit)
    }

    /// Waits until the database is open.
    func ready() async throws {
        try await Deadline.wait(Self.patience, for: "client \(name) to be ready") {
            try seen { $0.isReady ? () : nil }
        }
    }

    /// Waits for a state that the tool can wait for.
    @discardableResult
    func wait(for condition: String, within limit: Duration = .seconds(120)) async throws -> Answer {
        // The tool's own time is over first: it says more.
        try await ask(
            "wait",
            [
                JSONMember("for", .string(condition)),
                JSONMember("timeout", .integer(limit.components.seconds)),
            ], within: limit + .seconds(10))
    }

    /// Runs statements in one transaction.
    func transact(_ statements: [JSON]) async throws {
        try await ask("write", [JSONMember("tx", .array(statements))])
    }

    /// Returns the rows of a query.
    func rows(_ sql: String, _ arguments: [JSON] = []) async throws -> [JSON] {
        let members = [JSONMember("sql", .string(sql)), JSONMember("args", .array(arguments))]
        return try await ask("read", members).json["rows"]?.arrayValue ?? []
    }

    /// Watches a query, whose rows `arrival` tells of.
    func watch(_ sql: String) async throws { try await ask("watch", [JSONMember("sql", .string(sql))]) }

    /// Waits for a row of a watched query.
    ///
    /// - Parameters:
    ///   - id: the row's id.
    ///   - limit: how long to wait.
    /// - Returns: when a result with the row came for the first time.
    /// - Throws: as `answer(to:of:within:)`.
    func arrival(of id: String, within limit: Duration = patience) async throws -> ContinuousClock.Instant {
        try await Deadline.wait(limit, for: "row \(id) at client \(name)") { try seen { $0.arrivals[id] } }
    }

    /// Returns what is there; throws if it is not, and nothing more comes.
    private func seen<Value>(_ look: (inout State) -> Value?) throws(BenchmarkError) -> Value? {
        try state.withLock { state throws(BenchmarkError) -> Value? in
            if let value = look(&state) { return value }
            if let failure = state.failure { throw BenchmarkError("client \(name): \(failure)") }
            return nil
        }
    }
}
