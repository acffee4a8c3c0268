import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What follows a line does so in a process of its own, whose standard input becomes a pipe.
@Suite(.patient())
struct LifeLineTests {
    /// Makes standard input a pipe and returns the end to write to.
    private static func pipeAsInput() throws -> Int32 {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        try #require(dup2(ends[0], 0) == 0)
        close(ends[0])
        return ends[1]
    }

    @Test func theEndOfTheInputAsksTheProcessToStop() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let line = try Self.pipeAsInput()
            var signals = StopSignal.stream().makeAsyncIterator()
            try LifeLine.follow(grace: 3600)
            close(line)
            #expect(await signals.next() == SIGTERM)
            exit(7)
        }
    }

    @Test func theDeathOfWhoHoldsTheOtherEndIsEnough() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            let line = try Self.pipeAsInput()
            let parent = try ChildProcess.spawn("sleep", ["600"], output: .descriptor(line))
            close(line)
            try LifeLine.follow(grace: 3600)
            parent.signal(SIGKILL)
            try await Task.sleep(for: .seconds(3600))
        }
    }

    @Test func aProcessThatDoesNotStopIsEnded() async {
        await #expect(processExitsWith: .exitCode(1)) {
            signal(SIGTERM, SIG_IGN)
            close(try Self.pipeAsInput())
            try LifeLine.follow(grace: 0)
            try await Task.sleep(for: .seconds(3600))
        }
    }

    @Test func aGuardedFolderGoesWithAnOwnerThatWasKilled() async throws {
        let folder = try TemporaryDirectory(prefix: "life-line-")
        let path = folder.path
        try Data().write(to: URL(filePath: path + "/file"))
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let watcher = try LifeLine.guardFolder(path)
            #expect(!watcher.hasEnded)
            #expect(FileManager.default.fileExists(atPath: path + "/file"))
            kill(getpid(), SIGKILL)
        }
        try await wait(for: "the folder to go") { !FileManager.default.fileExists(atPath: path) }
        try await wait(for: "the watcher to end", read: { try Processes.naming(path) }) { $0.isEmpty }
    }

    @Test func aGuardedFolderGoesWhenTheLineIsClosedAndNotForASignal() async throws {
        let folder = try TemporaryDirectory(prefix: "life-line-")
        let watcher = try LifeLine.guardFolder(folder.path)
        #expect(getsid(watcher.id) == watcher.id, "Ctrl-C does not reach it")
        try await ready(watcher)
        for number in [SIGHUP, SIGINT, SIGTERM] { watcher.signal(number) }
        close(try #require(watcher.input))
        #expect(await watcher.wait() == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    /// The mark speaks to the shells of commands alone.
    @Test func aGuardedFolderGoesWithTheMarkInIt() async throws {
        let folder = try TemporaryDirectory(prefix: "life-line-")
        try Data().write(to: URL(filePath: folder.path + "/keep"))
        let watcher = try LifeLine.guardFolder(folder.path)
        close(try #require(watcher.input))
        #expect(await watcher.wait() == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    /// Waits until the shell has set its traps: it reads then, with its output closed to us.
    private func ready(_ watcher: ChildProcess) async throws {
        #if os(Linux)
            try await wait(for: "the shell to ignore signals", read: { ignored(watcher.id) }) {
                $0 & (1 << (UInt64(SIGTERM) - 1)) != 0
            }
        #endif
    }

    private func ignored(_ process: Int32) -> UInt64 {
        let status = FileManager.default.contents(atPath: "/proc/\(process)/status") ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("SigIgn:") }
        return line.flatMap { UInt64($0.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) } ?? 0
    }
}

/// The shell that ends a process when nobody holds its input any more.
@Suite(.patient())
struct WatcherScriptTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory(prefix: "watcher-") }

    /// Starts the script and returns the command's process id, which is its first line.
    private func start(_ command: [String], before: String = "") async throws
        -> (watcher: ChildProcess, id: Int32, output: Int32)
    {
        let watcher = try ChildProcess.spawn(
            "/bin/sh", ["-c", before + LifeLine.watcherScript, "powersync-watcher", folder.path] + command,
            input: .pipe, output: .pipe)
        let output = try #require(watcher.output)
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
        var text: [UInt8] = []
        try await wait(for: "the id of the command") {
            var byte: UInt8 = 0
            while read(output, &byte, 1) == 1 { text.append(byte) }
            return text.last == UInt8(ascii: "\n")
        }
        return (watcher, try #require(Int32(String(decoding: text.dropLast(), as: UTF8.self))), output)
    }

    private func end(_ watcher: ChildProcess, _ output: Int32) async throws {
        close(try #require(watcher.input))
        #expect(await watcher.wait() == .exited(0))
        var byte: UInt8 = 0
        try await wait(for: "the end of the output, which says that the command is gone") {
            read(output, &byte, 1) == 0
        }
        close(output)
    }

    /// Takes as long as the script gives Postgres, 8.5 seconds: a command that sets no handlers of its own ignores
    /// SIGINT and SIGQUIT when a shell starts it in the background.
    @Test func theCommandAndTheFolderGoWhenTheLineIsClosed() async throws {
        let (watcher, id, output) = try await start(["sleep", "600"])
        #expect(Processes.isAlive(id))
        try await end(watcher, output)
        try await wait(for: "the command to be gone") { !Processes.isAlive(id) }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    /// Its number is somebody else's by then: the shell has reaped it beside its `sleep`.
    @Test func aCommandThatHasEndedIsNotKilled() async throws {
        let folder = folder.path
        let log = folder + ".signals"
        try Data().write(to: URL(filePath: log))
        defer { unlink(log) }
        let (watcher, id, output) = try await start(
            ["sleep", "600"],
            before: "kill() { echo \"$*\" >>'\(log)'; command kill \"$@\"; }\n")
        close(try #require(watcher.input))
        func signals() throws -> [String] {
            try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        }
        try await wait(for: "the first signal") { try signals().contains("-INT \(id)") }
        kill(id, SIGKILL)
        #expect(try await wait(forEndOf: watcher) == .exited(0))
        close(output)
        #expect(try !signals().contains { $0.hasPrefix("-KILL") })
    }

    @Test func aFolderToKeepStaysWithTheErrorsOfItsCommand() async throws {
        try Data().write(to: URL(filePath: folder.path + "/keep"))
        let (watcher, id, output) = try await start(["sh", "-c", "echo wrong >&2; exec sleep 600"])
        try await wait(for: "the error") {
            FileManager.default.contents(atPath: folder.path + "/log") == Data("wrong\n".utf8)
        }
        try await end(watcher, output)
        try await wait(for: "the command to be gone") { !Processes.isAlive(id) }
        #expect(FileManager.default.fileExists(atPath: folder.path + "/log"))
    }

    @Test func withoutACommandTheFolderAloneIsWatched() async throws {
        let watcher = try ChildProcess.spawn(
            "/bin/sh", ["-c", LifeLine.watcherScript, "powersync-watcher", folder.path], input: .pipe,
            output: .pipe)
        let output = try #require(watcher.output)
        #expect(FileManager.default.fileExists(atPath: folder.path))
        try await end(watcher, output)
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }
}
