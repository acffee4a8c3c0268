import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What tests start is gone with the tests.
@Suite(.patient())
struct ProgramsTests {
    @Test func aGuardedProgramGoesWithTestsThatWereKilled() async throws {
        let folder = try TemporaryDirectory(prefix: "guarded-")
        defer { folder.remove() }
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
            let program = try ChildProcess.guarded(
                "/bin/sh", ["-c", "trap '' HUP INT TERM; : >\"$0/file\"; while :; do sleep 1; done", path])
            try await wait(for: "the program to run") {
                FileManager.default.fileExists(atPath: path + "/file")
            }
            #expect(!program.hasEnded)
            kill(getpid(), SIGKILL)
        }
        try await wait(
            for: "nobody to name it", read: { try Processes.naming(folder.path) }, until: \.isEmpty)
    }

    /// It has its own id, end and streams, and leaves no guard behind.
    @Test func aGuardedProgramIsAsAnyOther() async throws {
        let folder = try TemporaryDirectory(prefix: "guarded-")
        defer { folder.remove() }
        let file = folder.path + "/file"
        let output = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        try #require(output >= 0)
        let program = try ChildProcess.guarded(
            "/bin/sh", ["-c", "cat; echo \"$$ $MARK\"; kill -USR1 $$", folder.path],
            environment: ["PATH": "/usr/bin:/bin", "MARK": "here"], output: .descriptor(output))
        close(output)
        #expect(try await wait(forEndOf: program) == .signalled(SIGUSR1))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "\(program.id) here\n")
        try await wait(
            for: "nobody to name it", read: { try Processes.naming(folder.path) }, until: \.isEmpty)
    }

    @Test func aProgramThatDoesNotEndIsAnIssueAndIsKilled() async throws {
        let program = try ChildProcess.spawn(
            "/bin/sh", ["-c", "trap '' TERM; echo; exec sleep 600"], output: .pipe)
        let output = try #require(program.output)
        defer { close(output) }
        // It ignores the signal by then.
        var byte: UInt8 = 0
        try #require(read(output, &byte, 1) == 1)
        program.signal(SIGTERM)
        try await withKnownIssue {
            try await wait(forEndOf: program, called: "the deaf one", within: .milliseconds(50))
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains("the end of the deaf one") }
                || issue.error is StateDidNotCome
        }
        #expect(try await wait(forEndOf: program) == .signalled(SIGKILL))
    }

    @Test func aTestThatIsCancelledKillsItsProgram() async throws {
        let program = try ChildProcess.spawn("sleep", ["600"])
        let waiting = Task { try await wait(forEndOf: program) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(try await wait(forEndOf: program) == .signalled(SIGKILL))
    }
}
