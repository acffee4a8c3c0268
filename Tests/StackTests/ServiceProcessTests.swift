import PowerSyncStack
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

@Suite(.patient()) struct ServiceProcessTests {
    /// Starts a command whose processes name the folder, and what it writes to `log` there.
    private func with(
        _ command: String, patience: Duration = TestOptions.deadline,
        _ body: (ServiceProcess, TemporaryDirectory) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-process-")
        defer { folder.remove() }
        let log = open(folder.path + "/log", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        try #require(log >= 0)
        defer { close(log) }
        let process = try ServiceProcess(
            .command(command), environment: ["PATH": "/usr/bin:/bin", "FOLDER": folder.path], log: log,
            patience: patience)
        try await body(process, folder)
    }

    private func expectNobody(_ folder: TemporaryDirectory) async throws {
        try await wait(for: "nobody to name \(folder.path)", read: { try Processes.naming(folder.path) }) {
            $0.isEmpty
        }
    }

    @Test func itHasToBeAliveToBeStopped() async throws {
        try await with("exit 3") { process, _ in
            #expect(await process.end() == .exited(3))
            #expect(await process.stop() == "the service had ended before SIGTERM, with status 3")
        }
        try await with("echo ready; exec sleep 3600") { process, folder in
            try await wait(for: "the command") { LogFile.end(folder.path + "/log") == "ready" }
            #expect(await process.stop() == nil)
            try await expectNobody(folder)
        }
    }

    @Test func whoDoesNotHeedSIGTERMIsKilled() async throws {
        try await with("trap '' TERM; echo ready; while :; do sleep 1; done", patience: .milliseconds(50)) {
            process, folder in
            try await wait(for: "the trap") { LogFile.end(folder.path + "/log") == "ready" }
            let trouble = await process.stop()
            #expect(trouble == "the service did not end within 0.05 seconds of SIGTERM and was killed")
            try await expectNobody(folder)
        }
    }

    @Test func whatACommandLeavesBehindEndsWithIt() async throws {
        try await with("(trap '' TERM; exec sleep 3600) & exit 0") { process, folder in
            #expect(await process.end() == .exited(0))
            try await expectNobody(folder)
        }
    }

    @Test func aCommandThatFailsIsTold() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-process-")
        defer { folder.remove() }
        func run(_ command: String, limit: Duration = TestOptions.deadline) async throws {
            try await ServiceProcess.run(
                command, environment: ["PATH": "/usr/bin:/bin", "FOLDER": folder.path],
                logPath: folder.path + "/log", limit: limit)
        }
        try await run("echo good; sleep 3600 &")
        let failed = await #expect(throws: StackError.self) {
            try await run("echo why; echo not >&2; exit 3")
        }
        #expect(failed?.message == "the command ended with status 3: good | why | not")
        let late = await #expect(throws: StackError.self) { try await run("sleep 3600", limit: .zero) }
        #expect(late?.code == .deadline)
        try await expectNobody(folder)
    }

    @Test func theEndOfALogIsReadWhateverItIs() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-process-")
        defer { folder.remove() }
        #expect(LogFile.end(folder.path + "/log") == "")
        try await ServiceProcess.run(
            "printf 'first\\n\\377second\\nthird\\n'", environment: ["PATH": "/usr/bin:/bin"],
            logPath: folder.path + "/log")
        #expect(LogFile.end(folder.path + "/log") == "first | \u{FFFD}second | third")
        #expect(LogFile.end(folder.path + "/log", limit: 10) == "ond | third")
    }
}
