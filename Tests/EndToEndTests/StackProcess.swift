import Foundation
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

/// A program of ours as a user starts it, in a temporary folder of its own that shows what it leaves behind.
final class StackProcess: Sendable {
    private struct Output {
        var lines: [String] = []
        var taken = 0
        var hasEnded = false
    }

    let process: ChildProcess
    /// Where the process and all its children make their temporary folders.
    let temporary: String
    private let output = Lock(Output())
    private let errors = Lock(Output())

    /// Starts a sub-command, or one of the small executables.
    ///
    /// - Parameters:
    ///   - arguments: the words behind the program's name.
    ///   - environment: variables beside those of the tests; `DATABASE_URI` is not handed on.
    ///   - temporary: the folder for `TMPDIR`.
    ///   - executable: the program.
    /// - Throws: `SystemError`.
    convenience init(
        _ arguments: [String], environment: [String: String] = [:], temporary: String,
        executable: String = "powersync-stack"
    ) throws {
        try self.init(
            Repository.executable(executable), arguments, environment: environment, temporary: temporary)
    }

    /// Starts a line of the shell.
    convenience init(shell line: String, environment: [String: String] = [:], temporary: String) throws {
        try self.init("/bin/bash", ["-c", line], environment: environment, temporary: temporary)
    }

    private init(
        _ path: String, _ arguments: [String], environment: [String: String], temporary: String
    ) throws {
        var all = ProcessInfo.processInfo.environment
        all["TMPDIR"] = temporary
        all["DATABASE_URI"] = nil
        all.merge(environment) { $1 }
        self.temporary = temporary
        process = try ChildProcess.guarded(path, arguments, environment: all, output: .pipe, error: .pipe)
        try Self.collect(process.output, into: output, echo: false)
        try Self.collect(process.error, into: errors, echo: all["SHOW_LOG"] != nil)
    }

    /// A test that fails leaves nothing running, nor do tests that are killed: the life-lines end the rest.
    deinit { process.signal(SIGKILL) }

    /// Waits for the end of the program.
    func end() async throws -> ChildProcess.ExitStatus {
        try await wait(forEndOf: process, called: "the program", within: TestOptions.deadline * 3)
    }

    /// Reads a pipe to its end, on a thread of its own: nothing that the program writes may hold it up.
    private static func collect(_ pipe: Int32?, into place: Lock<Output>, echo: Bool) throws {
        guard let pipe else { return }
        try DetachedThread.start {
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(pipe, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                if echo { FileHandle.standardError.write(Data(buffer[..<count])) }
                rest += buffer[..<count]
                while let end = rest.firstIndex(of: 0x0A) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest.removeSubrange(...end)
                    place.withLock { $0.lines.append(line) }
                }
            }
            close(pipe)
            place.withLock { output in
                if !rest.isEmpty { output.lines.append(String(decoding: rest, as: UTF8.self)) }
                output.hasEnded = true
            }
        }
    }

    /// All lines of standard error so far.
    var errorLines: [String] { errors.withLock { $0.lines } }

    /// All lines of standard error, once the program and whoever shares it has ended.
    func allErrorLines() async throws -> [String] {
        try await wait(for: "the end of standard error") { errors.withLock { $0.hasEnded } }
        return errorLines
    }

    /// Waits for the next line of standard output; throws if the output ends instead.
    func line() async throws -> String {
        let seen = try await wait(
            for: "the next line", within: TestOptions.deadline * 3,
            read: {
                output.withLock { output -> (line: String?, hasEnded: Bool) in
                    guard output.taken < output.lines.count else { return (nil, output.hasEnded) }
                    output.taken += 1
                    return (output.lines[output.taken - 1], false)
                }
            }, until: { $0.line != nil || $0.hasEnded })
        guard let line = seen.line else {
            let errors = try await allErrorLines().suffix(5).joined(separator: " / ")
            throw StackError(.answer, "the output ended; \(errors)")
        }
        return line
    }

    /// Reads lines until one of them has a text in it.
    func lines(until text: String) async throws {
        while try await !line().contains(text) {}
    }

    /// Waits for the line in which `up` says where its parts are.
    func endpoints() async throws -> (postgres: String, backend: String, service: String) {
        let json = try JSON.parse(try await line())
        guard let postgres = json["postgres"]?.stringValue, let backend = json["backend"]?.stringValue,
            let service = json["service"]?.stringValue
        else { throw StackError(.answer, "up printed another line: \(json.text)") }
        return (postgres, backend, service)
    }

    /// The process id of a part that the program has started.
    func part(_ part: LocalStack.Part) throws -> Int32 {
        let lines = try Processes.naming(temporary).filter { $0.hasSuffix(" \(part.rawValue) start") }
        guard lines.count == 1, let id = Int32(lines[0].prefix { $0 != ":" }) else {
            throw StackError(.answer, "there is not one \(part.rawValue): \(lines)")
        }
        return id
    }

    /// Waits until no process names the temporary folder any more and the folder is empty.
    func leavesNothingBehind() async throws { try await Self.nothingIsLeft(in: temporary) }

    /// Waits until no process names a folder any more and the folder is empty.
    static func nothingIsLeft(in temporary: String) async throws {
        try await wait(
            for: "nothing to be left behind",
            read: {
                let files = try FileManager.default.contentsOfDirectory(atPath: temporary)
                return try files.map { "file \($0)" } + Processes.naming(temporary)
            }, until: \.isEmpty)
    }
}
