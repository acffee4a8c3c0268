import PowerSyncStack
import PowerSyncSystem

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

/// A service in a process of its own, as it runs in a container; it ends with us, however we end.
final class MeasuredService: Sendable {
    /// What it gets of our environment; everything else it reads from its configuration.
    private static let environment = [
        "PATH", "TMPDIR", "LANG", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    ]
    /// How long it may take until it has a process.
    private static let patience = Duration.seconds(60)

    /// Where it listens on 127.0.0.1.
    let port: Int
    /// When it was started.
    let start: ContinuousClock.Instant
    /// Its process.
    let processID: Int32
    private let folder: String
    private let watcher: ChildProcess
    private let output: Int32
    private let lifeLine: Lock<Int32?>

    /// Starts a service and returns when it has a process.
    ///
    /// - Parameters:
    ///   - program: the path of `powersync-mock-service`.
    ///   - folder: has its configuration `service.json`; gets its log, and goes with it unless it is stopped otherwise.
    ///   - port: the port that the configuration names.
    ///   - poller: the poller of the program.
    /// - Throws: `SystemError`, `StackError`.
    init(_ program: String, in folder: String, port: Int, poller: Poller) async throws {
        self.port = port
        self.folder = folder
        start = .now
        let environment = ProcessInfo.processInfo.environment.filter { Self.environment.contains($0.key) }
        watcher = try ChildProcess.spawn(
            "/bin/sh",
            [
                "-c", LifeLine.watcherScript, "powersync-watcher", folder, program, "start", "-c",
                folder + "/service.json",
            ], environment: environment, workingDirectory: "/", input: .pipe, output: .pipe,
            ownSession: true)
        guard let lifeLine = watcher.input, let output = watcher.output else {
            throw StackError(.partEnded, "the shell that watches the service has no pipes")
        }
        do {
            let line = try await Self.line(of: output, poller)
            guard let processID = Int32(line) else {
                throw StackError(.partEnded, "the shell that watches the service did not start it")
            }
            self.processID = processID
        } catch {
            close(lifeLine)
            close(output)
            throw error
        }
        self.output = output
        self.lifeLine = Lock(lifeLine)
    }

    deinit {
        cutLifeLine()
        close(output)
    }

    private static func line(of output: Int32, _ poller: Poller) async throws -> String {
        let channel = try poller.channel(output)
        defer { channel.deregister() }
        let end = ContinuousClock.now + patience
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = read(output, &byte, 1)
            if count == 1 {
                if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                throw StackError(.partEnded, "the shell that watches the service has ended")
            } else if try await !channel.readable(until: end) {
                throw StackError(
                    .deadline, "waited \(patience.components.seconds) s for the service's process")
            }
        }
    }

    /// Requires that it has not ended by itself.
    ///
    /// - Throws: `StackError` with `.partEnded` and the end of its log.
    func requireLife() throws {
        var descriptor = pollfd(fd: output, events: 0, revents: 0)
        guard poll(&descriptor, 1, 0) > 0, descriptor.revents & Int16(POLLHUP) != 0 else { return }
        throw StackError(.partEnded, "the service has ended by itself: \(LogFile.end(folder + "/log"))")
    }

    /// Returns how much memory it has, in megabytes of 1,048,576 bytes; nil elsewhere than on Linux.
    ///
    /// - Throws: `BenchmarkError` if its process is not there.
    func memory(_ figure: ProcessMemory.Figure) throws -> Double? {
        try ProcessMemory.other(processID, figure).map { Double($0) / 1_048_576 }
    }

    /// Returns for how many seconds its threads had a processor so far; nil elsewhere than on Linux.
    ///
    /// - Throws: `BenchmarkError` if its process is not there.
    func processorTime() throws(BenchmarkError) -> Double? { try ProcessTime.other(processID) }

    /// Stops it in order, and returns when it has ended.
    ///
    /// - Parameter keepingState: whether its folder stays, so that it can be started again on its state.
    /// - Throws: `StackError` with `.file` if the folder cannot be marked.
    func stop(keepingState: Bool) async throws {
        let mark = folder + "/keep"
        if keepingState { close(try PrivateFile.create(mark)) }
        await end()
        if keepingState { unlink(mark) }
    }

    /// Ends it, and removes its folder unless that is marked; again, it just waits.
    func end() async {
        cutLifeLine()
        _ = await watcher.wait()
    }

    private func cutLifeLine() {
        lifeLine.withLock { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }
}
