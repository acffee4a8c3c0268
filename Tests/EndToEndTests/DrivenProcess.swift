import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `powersync-stack client` as another program drives it, or a program that is driven in the same way: a line of JSON with an
/// `id` for each of its input, with an `ok` besides.
///
/// It ends with the end of its input, and so with these tests, however they end.
final class DrivenProcess: Sendable {
    let process: ChildProcess
    private let lines = Lock<[JSON]>([])
    private let hasEnded = Lock(false)

    /// Starts the client.
    ///
    /// - Parameters:
    ///   - arguments: its options.
    ///   - environment: all of its environment; nil hands on that of the tests.
    /// - Throws: `SystemError`.
    convenience init(_ arguments: [String], environment: [String: String]? = nil) throws {
        try self.init(program: EndToEnd.executable, ["client"] + arguments, environment: environment)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: its arguments.
    ///   - environment: all of its environment; nil hands on that of the tests.
    /// - Throws: `SystemError`.
    init(program: String, _ arguments: [String], environment: [String: String]? = nil) throws {
        process = try ChildProcess.spawn(
            program, arguments, environment: environment, input: .pipe, output: .pipe)
        let output = try #require(process.output)
        let (lines, hasEnded) = (lines, hasEnded)
        try DetachedThread.start {
            var splitter = LineSplitter(limit: 1 << 20)
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(output, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                splitter.append(Array(buffer[..<count]))
                // A line that is too long or no JSON is none of the client's: no test finds what it waits for.
                while let line = try? splitter.next() {
                    let json = (try? JSON.parse(line)) ?? .null
                    lines.withLock { $0.append(json) }
                }
            }
            close(output)
            hasEnded.withLock { $0 = true }
        }
    }

    deinit {
        if let input = process.input { close(input) }
        process.signal(SIGKILL)
    }

    /// All lines so far.
    var all: [JSON] { lines.withLock { $0 } }

    /// The rows of the results of watched queries so far.
    var watched: [String] { all.filter { $0["event"] == .string("watch") }.compactMap { $0["rows"]?.text } }

    /// Sends a line.
    func send(_ text: String) throws {
        let input = try #require(process.input)
        var bytes = Array((text + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError(.process, "the client takes no commands", errno: errno) }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Sends a command with a number as id, and waits for its answer.
    func ask(_ command: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSON {
        try send(command)
        let id = try JSON.parse(command)["id"]
        let seen = try await wait(
            for: "the answer to \(command)", sourceLocation: sourceLocation,
            read: { all.first { $0["id"] == id && $0["ok"] != nil } }, until: { $0 != nil })
        return try #require(seen)
    }

    /// Waits for the end, and for all that was written before it.
    func end() async throws -> ChildProcess.ExitStatus {
        let status = try await wait(forEndOf: process, called: "the client")
        try await wait(for: "the end of the output") { hasEnded.withLock { $0 } }
        return status
    }
}
