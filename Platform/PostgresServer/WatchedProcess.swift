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

/// A process that ends when we end, however we end (see `LifeLine.watcherScript`).
final class WatchedProcess: Sendable {
    /// The process's id, which stays its own until `end` or until we are gone.
    let id: Int32
    private let watcher: ChildProcess
    private let folder: String
    private let output: Int32
    private let lifeline: Lock<Int32?>

    /// Starts a command and returns when it has an id.
    ///
    /// - Parameters:
    ///   - command: The program with its path, then its arguments.
    ///   - folder: Gets the file `log`, and is removed after the end unless `end(keepingFolder:)` says otherwise.
    /// - Returns: The running process.
    /// - Throws: `PostgresServerError` when the shell cannot be started, or `CancellationError`.
    static func start(_ command: [String], folder: String) async throws -> WatchedProcess {
        // A session of its own: Ctrl-C reaches the foreground process group, and we are the one to answer it.
        let watcher: ChildProcess
        do {
            watcher = try ChildProcess.spawn(
                "/bin/sh", ["-c", LifeLine.watcherScript, "powersync-watcher", folder] + command,
                environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"], workingDirectory: "/", input: .pipe,
                output: .pipe, error: .null, ownSession: true)
        } catch {
            throw PostgresServerError(
                .notStarted, "the shell that watches Postgres cannot be started: \(error)")
        }
        guard let lifeline = watcher.input, let output = watcher.output else {
            throw PostgresServerError(.notStarted, "the shell that watches Postgres has no pipes")
        }
        var text: [UInt8] = []
        do {
            while text.last != UInt8(ascii: "\n"), let byte = try await Self.byte(from: output) {
                text.append(byte)
            }
        } catch {
            // The shell ends the process when it reads the end of its input.
            close(lifeline)
            close(output)
            _ = await watcher.wait()
            throw error
        }
        guard let id = Int32(String(decoding: text.dropLast(), as: UTF8.self)) else {
            close(lifeline)
            close(output)
            throw PostgresServerError(.notStarted, "the shell that watches Postgres did not start it")
        }
        return WatchedProcess(id: id, watcher: watcher, folder: folder, output: output, lifeline: lifeline)
    }

    private init(id: Int32, watcher: ChildProcess, folder: String, output: Int32, lifeline: Int32) {
        self.id = id
        self.watcher = watcher
        self.folder = folder
        self.output = output
        self.lifeline = Lock(lifeline)
    }

    deinit {
        cutLifeline()
        close(output)
    }

    /// What the process wrote to its log.
    var log: String {
        bytes(ofFile: "\(folder)/log").map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }

    /// Whether the process and all its children are gone.
    var hasEnded: Bool {
        var descriptor = pollfd(fd: output, events: 0, revents: 0)
        return poll(&descriptor, 1, 0) > 0 && descriptor.revents & Int16(POLLHUP) != 0
    }

    /// Reads what it writes, to the end.
    func outputToEnd() async throws -> String {
        var text: [UInt8] = []
        while let byte = try await Self.byte(from: output) { text.append(byte) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Ends the process as the script says and returns when it is gone; again, it just waits.
    func end(keepingFolder: Bool) async {
        // If the mark cannot be made the folder is removed, and whoever wanted it finds out when using it.
        if keepingFolder { _ = FileManager.default.createFile(atPath: "\(folder)/keep", contents: nil) }
        cutLifeline()
        _ = await watcher.wait()
        if keepingFolder { unlink("\(folder)/keep") }
    }

    private func cutLifeline() {
        lifeline.withLock { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }

    /// The next byte of a pipe, nil at its end.
    ///
    /// It looks every few milliseconds, which is enough for the one line or page that these pipes carry.
    private static func byte(from descriptor: Int32) async throws -> UInt8? {
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&waiting, 1, 0) > 0 {
                var byte: UInt8 = 0
                return read(descriptor, &byte, 1) == 1 ? byte : nil
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
