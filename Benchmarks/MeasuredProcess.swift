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

/// A part of the stack in a process of its own, as it runs in a container; it ends with us, however we end.
final class MeasuredProcess: Sendable {
    /// What it gets of our environment; everything else it is told.
    private static let inherited = ["PATH", "TMPDIR", "LANG", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"]
    /// How long it may take until it has a process.
    private static let patience = Duration.seconds(60)

    /// When it was started.
    let start: ContinuousClock.Instant
    /// Its process id.
    let id: Int32
    private let name: String
    private let folder: String
    private let watcher: ChildProcess
    private let output: Int32
    private let lifeLine: Lock<Int32?>

    /// Starts a part and returns when it has a process.
    ///
    /// - Parameters:
    ///   - name: what it is called in errors, as `service`.
    ///   - command: the program with its path, then its arguments.
    ///   - environment: what it is told by its environment.
    ///   - folder: gets its log, and goes with it unless it is stopped otherwise.
    ///   - poller: the poller of the program.
    /// - Throws: `SystemError`, `StackError`.
    init(
        _ name: String, _ command: [String], environment: [String: String] = [:], in folder: String,
        poller: Poller
    ) async throws {
        self.name = name
        self.folder = folder
        start = .now
        let ours = ProcessInfo.processInfo.environment.filter { Self.inherited.contains($0.key) }
        watcher = try ChildProcess.spawn(
            "/bin/sh", ["-c", LifeLine.watcherScript, "powersync-watcher", folder] + command,
            environment: ours.merging(environment) { $1 }, workingDirectory: "/", input: .pipe, output: .pipe,
            ownSession: true)
        guard let lifeLine = watcher.input, let output = watcher.output else {
            throw StackError(.partEnded, "the shell that watches the \(name) has no pipes")
        }
        do {
            let line = try await Self.line(of: output, of: name, poller)
            guard let id = Int32(line) else {
                throw StackError(.partEnded, "the shell that watches the \(name) did not start it")
            }
            self.id = id
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

    private static func line(
        of output: Int32, of name: String, _ poller: Poller
    ) async throws -> String {
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
                throw StackError(.partEnded, "the shell that watches the \(name) has ended")
            } else if try await !channel.readable(until: end) {
                throw StackError(
                    .deadline, "waited \(patience.components.seconds) s for the process of the \(name)")
            }
        }
    }

    /// Requires that it has not ended by itself.
    ///
    /// - Throws: `StackError` with `.partEnded` and the end of its log.
    func requireLife() throws {
        var descriptor = pollfd(fd: output, events: 0, revents: 0)
        guard poll(&descriptor, 1, 0) > 0, descriptor.revents & Int16(POLLHUP) != 0 else { return }
        throw StackError(.partEnded, "the \(name) has ended by itself: \(LogFile.end(folder + "/log"))")
    }

    /// Returns how much memory it has, in megabytes of 1,048,576 bytes; nil elsewhere than on Linux.
    ///
    /// - Throws: `BenchmarkError` if its process is not there.
    func memory(_ figure: ProcessMemory.Figure) throws -> Double? {
        try ProcessMemory.other(id, figure).map { Double($0) / 1_048_576 }
    }

    /// Stops it in order, and returns when it has ended.
    ///
    /// - Parameter keepingFolder: whether its folder stays, so that it can be started again on what is there.
    /// - Throws: `StackError` with `.file` if the folder cannot be marked.
    func stop(keepingFolder: Bool) async throws {
        let mark = folder + "/keep"
        if keepingFolder { close(try PrivateFile.create(mark)) }
        await end()
        if keepingFolder { unlink(mark) }
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
