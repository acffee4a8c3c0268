import PowerSyncSystem
import PowerSyncWire

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
    private let process: ChildProcess
    /// How long a part may take to be ready, on a machine that is busy.
    private static let patience = Duration.seconds(180)

    private init(name: String, process: ChildProcess) {
        self.name = name
        self.process = process
    }

    /// Starts a part; `url` waits until it is ready.
    ///
    /// It leaves the terminal's session, so that Ctrl-C reaches this program alone, which then ends it in order.
    ///
    /// - Parameters:
    ///   - name: the sub-command.
    ///   - executable: the path of `powersync-stack`.
    ///   - environment: all of the part's environment but the life-line.
    ///   - log: where its log goes; nil for our standard error.
    /// - Returns: the part, which must be stopped.
    /// - Throws: `SystemError`.
    package static func start(
        _ name: String, executable: String, environment: [String: String], log: Int32?
    ) throws(SystemError) -> StackPart {
        let process = try ChildProcess.spawn(
            executable, [name, "start"], environment: environment.merging([lifeLineVariable: "1"]) { $1 },
            input: .pipe, output: .pipe, error: log.map { .descriptor($0) } ?? .inherit, ownSession: true)
        return StackPart(name: name, process: process)
    }

    deinit {
        for case .some(let end) in [process.input, process.output] { close(end) }
    }

    /// Waits for the line in which the part says where it answers, `{"backend":"http://…"}`.
    ///
    /// - Parameter poller: the poller of the program.
    /// - Returns: the URL.
    /// - Throws: `StackError` with `.partEnded` if it ends instead; its log says why.
    package func url(_ poller: Poller) async throws -> String {
        let line = try await firstLine(poller)
        guard let url = try JSON.parse(line)[name]?.stringValue else {
            throw StackError(.partEnded, "the \(name) printed another line than expected")
        }
        return url
    }

    private func firstLine(_ poller: Poller) async throws -> [UInt8] {
        guard let output = process.output else {
            throw StackError(.partEnded, "the \(name) has no standard output")
        }
        let channel = try poller.channel(output)
        defer { channel.deregister() }
        let end = ContinuousClock.now + Self.patience
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
                throw StackError(
                    .deadline, "waited \(Self.patience.components.seconds) s for the \(name) to be ready")
            }
        }
    }

    /// The process id.
    package var processID: Int32 { process.id }

    /// Asks the part to stop and waits until it has; one that does not is killed.
    ///
    /// - Parameter patience: whole seconds until it is killed.
    package func stop(patience: UInt32 = 20) async {
        process.signal(SIGTERM)
        do {
            // A thread, because a cancelled task cannot wait.
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

    /// Kills the part at once, without waiting for its end.
    package func killNow() { process.signal(SIGKILL) }

    /// Kills the part, as a crash would.
    package func kill() async {
        killNow()
        _ = await process.wait()
    }

    /// Whether the part has ended.
    package var hasEnded: Bool { process.hasEnded }
}
