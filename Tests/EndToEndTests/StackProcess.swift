import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A `powersync-stack` as a user starts it, in a temporary folder of its own that shows what it leaves behind.
final class StackProcess: Sendable {
    let process: ChildProcess
    /// Where the process and all its children make their temporary folders.
    let temporary: String

    /// Starts a sub-command, or one of the small executables.
    convenience init(
        _ arguments: [String], environment: [String: String] = [:], temporary: String,
        executable: String = "powersync-stack"
    ) throws {
        try self.init(EndToEnd.built(executable), arguments, environment: environment, temporary: temporary)
    }

    /// Starts a line of the shell.
    convenience init(shell line: String, temporary: String) throws {
        try self.init("/bin/sh", ["-c", line], environment: [:], temporary: temporary)
    }

    private init(
        _ path: String, _ arguments: [String], environment: [String: String], temporary: String
    ) throws {
        var all = ProcessInfo.processInfo.environment
        all["TMPDIR"] = temporary
        all["DATABASE_URI"] = nil
        all.merge(environment) { $1 }
        self.temporary = temporary
        process = try ChildProcess.spawn(
            path, arguments, environment: all, output: .pipe,
            error: environment["SHOW_LOG"] == nil ? .null : .inherit)
    }

    /// Waits for the next line of standard output.
    func line(within limit: Duration = .seconds(60)) async throws -> String {
        let output = process.output ?? -1
        return try await Task.detached {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            var watched = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            while poll(&watched, 1, Int32(limit.components.seconds * 1000)) > 0, read(output, &byte, 1) == 1 {
                if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            }
            throw StackError(.deadline, "no line came: \(String(decoding: line, as: UTF8.self))")
        }.value
    }

    /// Waits for the line in which `up` says where its parts are.
    func endpoints() async throws -> (postgres: String, backend: String, service: String) {
        let json = try JSON.parse(try await line())
        guard let postgres = json["postgres"]?.stringValue, let backend = json["backend"]?.stringValue,
            let service = json["service"]?.stringValue
        else { throw StackError(.answer, "up printed another line: \(json.text)") }
        return (postgres, backend, service)
    }

    /// Waits until no process names the temporary folder any more and the folder is empty.
    func leavesNothingBehind(within limit: Duration = .seconds(5)) async throws {
        try await Deadline.wait(limit, pause: .milliseconds(50), for: "\(leftOvers()) to go") {
            leftOvers().isEmpty ? true : nil
        }
    }

    private func leftOvers() -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? []
        let processes = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter { id in
            guard Int32(id) != nil, Int32(id) != getpid() else { return false }
            return ["cmdline", "environ"].contains { file in
                let data = (try? Data(contentsOf: URL(filePath: "/proc/\(id)/\(file)"))) ?? Data()
                return data.firstRange(of: Data(temporary.utf8)) != nil
            }
        }
        return files.map { "file \($0)" } + processes.map { "process \($0)" }
    }
}
