import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One part of the stack in a process of its own: the same command that runs alone in a container.
package final class StackPart: Sendable {
    /// The variable that tells a child of ours that its standard input is a life-line.
    static let lifeLineVariable = "POWERSYNC_STACK_LIFELINE"

    /// The name of the part: `backend` or `service`.
    package let name: String
    /// Where it answers.
    package let url: String
    private let process: ChildProcess

    private init(name: String, url: String, process: ChildProcess) {
        self.name = name
        self.url = url
        self.process = process
    }

    /// Starts a part and waits for the line in which it says where it answers.
    ///
    /// - Parameters:
    ///   - name: the sub-command and the member of the line: `{"backend":"http://…"}`.
    ///   - executable: the path of `powersync-stack`.
    ///   - environment: the part's configuration, added to ours.
    ///   - log: where its log goes; nil for our standard error.
    ///   - poller: the poller of the program.
    /// - Returns: the running part.
    /// - Throws: `StackError` with `.partEnded` if it ends instead; its log says why.
    package static func start(
        _ name: String, executable: String, environment: [String: String], log: Int32?, poller: Poller
    ) async throws -> StackPart {
        var all = ProcessInfo.processInfo.environment
        all[lifeLineVariable] = "1"
        all.merge(environment) { $1 }
        let process = try ChildProcess.spawn(
            executable, [name, "start"], environment: all, input: .pipe, output: .pipe,
            error: log.map { .descriptor($0) } ?? .inherit)
        do {
            let line = try await firstLine(of: process, name, poller: poller)
            guard let url = try JSON.parse(line)[name]?.stringValue else {
                throw StackError(.partEnded, "the \(name) printed another line than expected")
            }
            return StackPart(name: name, url: url, process: process)
        } catch {
            process.signal(SIGKILL)
            _ = await process.wait()
            throw error
        }
    }

    private static func firstLine(of process: ChildProcess, _ name: String, poller: Poller) async throws
        -> [UInt8]
    {
        guard let output = process.output else {
            throw StackError(.partEnded, "the \(name) has no standard output")
        }
        let channel = try poller.channel(output)
        defer { channel.deregister() }
        let end = ContinuousClock.now + .seconds(60)
        var splitter = LineSplitter(limit: 1 << 16)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if let line = try splitter.next() { return line }
            let count = read(output, &buffer, buffer.count)
            if count > 0 {
                splitter.append(Array(buffer[..<count]))
            } else if count == 0 {
                let status = await process.wait()
                throw StackError(
                    .partEnded, "the \(name) ended (\(status)) before it was ready; its log says why")
            } else if errno != EAGAIN && errno != EINTR {
                throw StackError(.partEnded, "the output of the \(name) cannot be read")
            } else if try await !channel.readable(until: end) {
                throw StackError(.deadline, "waited 60 s for the \(name) to be ready")
            }
        }
    }

    /// The process id.
    package var processID: Int32 { process.id }

    /// Asks the part to stop and waits until it has; one that does not is killed.
    ///
    /// - Parameter patience: whole seconds until it is killed.
    package func stop(patience: UInt32 = 10) async {
        process.signal(SIGTERM)
        do {
            // A thread, because a cancelled task cannot wait: Ctrl-C during the start comes here too.
            try DetachedThread.start { [process] in
                sleep(patience)
                // Hits nobody once the process has ended.
                process.signal(SIGKILL)
            }
        } catch {
            // Without the thread nothing would bound the wait.
            process.signal(SIGKILL)
        }
        _ = await process.wait()
    }

    /// Kills the part, as a crash would.
    package func kill() async {
        process.signal(SIGKILL)
        _ = await process.wait()
    }

    /// Whether the part has ended.
    package var hasEnded: Bool { process.hasEnded }
}
