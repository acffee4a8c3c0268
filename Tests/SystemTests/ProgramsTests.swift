import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What tests start ends.
@Suite(.patient())
struct ProgramsTests {
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
