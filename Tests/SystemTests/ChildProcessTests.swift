import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.timeLimit(.minutes(1)))
struct ChildProcessTests {
    private func shell(_ script: String, input: String? = nil, timeout: Duration = .seconds(30)) async throws
        -> (status: ChildProcess.ExitStatus, output: String, error: String)
    {
        try await ChildProcess.run("/bin/sh", ["-c", script], input: input, timeout: timeout)
    }

    @Test func outputErrorAndStatusComeBack() async throws {
        let result = try await shell("echo out; echo err >&2; exit 3")
        #expect(result.status == .exited(3))
        #expect(result.output == "out\n")
        #expect(result.error == "err\n")
    }

    @Test func inputLargerThanAPipeComesBackWhole() async throws {
        let text = String(repeating: "0123456789abcdef", count: 20_000)
        let result = try await ChildProcess.run("cat", [], input: text, timeout: .seconds(30))
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
            environment: ["NAME": "a=b"], timeout: .seconds(30))
        #expect(result.output == "two words $x|a=b|none\n")
    }

    @Test func aProgramThatDoesNotExistIsAnError() async {
        let error = await #expect(throws: SystemError.self) {
            try await ChildProcess.run("/does/not/exist", [], timeout: .seconds(30))
        }
        #expect(error?.code == .process)
        #expect(error?.errno == ENOENT)
        #expect(error?.description.contains("/does/not/exist") == true)
    }

    @Test func aProgramThatTakesTooLongIsKilled() async {
        let error = await #expect(throws: SystemError.self) {
            try await shell("exec sleep 60", timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func cancellingTheCallerKillsTheProgram() async throws {
        let task = Task { try await shell("exec sleep 60") }
        task.cancel()
        let error = await #expect(throws: SystemError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test func tooMuchOutputIsAnErrorAndNotMemory() async {
        let error = await #expect(throws: SystemError.self) { try await shell("yes") }
        #expect(error?.code == .outputTooLarge)
    }

    @Test func aGrandchildThatKeepsThePipesDoesNotDelayTheReturn() async throws {
        let result = try await shell("sleep 30 & echo $!")
        #expect(result.status == .exited(0))
        let grandchild = try #require(pid_t(result.output.dropLast()))
        #expect(kill(grandchild, SIGKILL) == 0, "it still ran")
    }

    @Test func signalsAreNeitherIgnoredNorBlockedInTheProgram() async throws {
        let child = try ChildProcess.spawn("sleep", ["60"])
        child.signal(SIGTERM)
        #expect(await child.wait() == .signalled(SIGTERM))
        #expect(child.hasEnded)
        child.signal(SIGTERM)  // nobody is hit
        #expect(await child.wait() == .signalled(SIGTERM), "a later caller learns the same")
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
        let text = try await ChildProcess.run("cat", [folder.path + "/all"], timeout: .seconds(30)).output
        #expect(text.hasPrefix("different\n"))
        #expect(text.contains("streams-"))
    }
}

struct TemporaryDirectoryTests {
    @Test func theFolderAndItsContentsGoWithTheirOwner() throws {
        var folder: TemporaryDirectory? = try TemporaryDirectory(prefix: "system-test-")
        let path = try #require(folder?.path)
        #expect(mkdir(path + "/inner", 0o700) == 0)
        let file = creat(path + "/inner/file", 0o600)
        close(file)
        #expect(symlink("/etc", path + "/link") == 0)
        #expect(access(path, F_OK) == 0)
        folder = nil
        #expect(access(path, F_OK) != 0)
        #expect(access("/etc", F_OK) == 0, "links are not followed")
    }

    @Test func twoFoldersDiffer() throws {
        let one = try TemporaryDirectory(prefix: "system-test-")
        let two = try TemporaryDirectory(prefix: "system-test-")
        #expect(one.path != two.path)
        one.remove()
        one.remove()
        #expect(access(two.path, F_OK) == 0)
    }
}
