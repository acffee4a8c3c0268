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

@Suite(.patient())
struct ChildProcessTests {
    private func shell(_ script: String, input: String? = nil, timeout: Duration = TestOptions.deadline)
        async throws
        -> (status: ChildProcess.ExitStatus, output: String, error: String)
    {
        try await ChildProcess.run("/bin/sh", ["-c", script], input: input, timeout: timeout)
    }

    /// Runs a script that can be found by a token in its environment.
    private func marked(_ token: String, _ script: String, timeout: Duration = TestOptions.deadline)
        async throws
    {
        _ = try await ChildProcess.run(
            "/bin/sh", ["-c", script], environment: ["PATH": "/usr/bin:/bin", "TOKEN": token],
            timeout: timeout)
    }

    @Test func outputErrorAndStatusComeBack() async throws {
        let result = try await shell("echo out; echo err >&2; exit 3")
        #expect(result.status == .exited(3))
        #expect(result.output == "out\n")
        #expect(result.error == "err\n")
    }

    @Test func inputLargerThanAPipeComesBackWhole() async throws {
        let text = String(repeating: "0123456789abcdef", count: 20_000)
        let result = try await ChildProcess.run("cat", [], input: text, timeout: TestOptions.deadline)
        #expect(result.status == .exited(0))
        #expect(result.output == text)
    }

    @Test func aProgramThatDoesNotReadItsInputHarmsNobody() async throws {
        let text = String(repeating: "x", count: 1 << 20)
        #expect(try await shell("exec <&-; exit 0", input: text).status == .exited(0))
    }

    @Test func argumentsAndEnvironmentArriveAsGiven() async throws {
        let result = try await ChildProcess.run(
            "/bin/sh", ["-c", "echo \"$1|$NAME|${HOME-none}\"", "sh", "two words $x"],
            environment: ["NAME": "a=b"], timeout: TestOptions.deadline)
        #expect(result.output == "two words $x|a=b|none\n")
    }

    @Test func aProgramThatDoesNotExistIsAnError() async {
        let error = await #expect(throws: SystemError.self) {
            try await ChildProcess.run("/does/not/exist", [], timeout: TestOptions.deadline)
        }
        #expect(error?.code == .process)
        #expect(error?.errno == ENOENT)
        #expect(error?.description.contains("/does/not/exist") == true)
    }

    @Test func aProgramThatTakesTooLongIsKilled() async throws {
        let token = UUID().uuidString
        let error = await #expect(throws: SystemError.self) {
            try await marked(token, "exec sleep 600", timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        #expect(try Processes.naming(token) == [])
    }

    @Test func cancellingTheCallerKillsTheProgram() async throws {
        let token = UUID().uuidString
        let task = Task { try await marked(token, "exec sleep 600") }
        try await wait(for: "the program to run", read: { try Processes.naming(token) }) {
            $0.contains { $0.contains("sleep") }
        }
        task.cancel()
        let error = await #expect(throws: SystemError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(try Processes.naming(token) == [])
    }

    @Test func tooMuchOutputIsAnErrorAndTheProgramIsKilled() async throws {
        let token = UUID().uuidString
        let error = await #expect(throws: SystemError.self) {
            try await marked(token, "trap '' PIPE; yes; exec sleep 600")
        }
        #expect(error?.code == .outputTooLarge)
        // The shell is killed; what it started ends when it writes again.
        try await wait(
            for: "nothing to be left", read: { try Processes.naming(token) }, until: \.isEmpty)
    }

    @Test func aGrandchildThatKeepsThePipesDoesNotDelayTheReturn() async throws {
        let result = try await shell("sleep 600 & echo $!")
        #expect(result.status == .exited(0))
        let grandchild = try #require(pid_t(result.output.dropLast()))
        #expect(kill(grandchild, SIGKILL) == 0, "it still ran")
    }

    @Test func everyWaiterLearnsTheStatus() async throws {
        let child = try ChildProcess.spawn("/bin/sh", ["-c", "read line; exit 9"], input: .pipe)
        await withTaskGroup(of: ChildProcess.ExitStatus.self) { group in
            for _ in 0..<10 { group.addTask { await child.wait() } }
            if let input = child.input { close(input) }
            for await status in group { #expect(status == .exited(9)) }
        }
    }

    @Test func noDescriptorOfOursReachesTheProgram() async throws {
        let leaky = open("/dev/null", O_RDONLY)  // without close-on-exec
        defer { close(leaky) }
        let result = try await shell("[ -e /dev/fd/\(leaky) ] && echo open || echo closed")
        #expect(result.output == "closed\n")
    }

    @Test func streamsMayLeadToDescriptorsBelowThree() async throws {
        let folder = try TemporaryDirectory(prefix: "streams-")
        let file = open(folder.path + "/all", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        // Output goes to the file although error, set later, leads to our own output.
        let child = try ChildProcess.spawn(
            "/bin/sh", ["-c", "[ /dev/fd/1 -ef /dev/fd/2 ] && echo same || echo different; pwd"],
            workingDirectory: folder.path,
            output: .descriptor(file), error: .descriptor(1))
        #expect(await child.wait() == .exited(0))
        let text = try await ChildProcess.run("cat", [folder.path + "/all"], timeout: TestOptions.deadline)
            .output
        #expect(text.hasPrefix("different\n"))
        #expect(text.contains("streams-"))
    }
}
