import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// `powersync-stack conformance` as a user starts it.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 5))
struct ConformanceCommandTests {
    private static let recordings = Repository.root.appending(path: "Tests/Fixtures/core").path

    private func run(_ arguments: [String]) async throws -> (status: Int32?, output: String, error: String) {
        let result = try await ChildProcess.run(
            EndToEnd.executable, ["conformance"] + arguments, timeout: TestOptions.deadline * 4)
        guard case .exited(let status) = result.status else { return (nil, result.output, result.error) }
        return (status, result.output, result.error)
    }

    @Test(arguments: [[], ["--plain"], ["--sql"]]) func allRecordingsPass(options: [String]) async throws {
        let result = try await run(["core"] + options + [Self.recordings])
        #expect(result.status == 0 && result.output == "99 passed, 0 failed\n", "\(result.error)")
    }

    @Test func aFailureIsTheExitStatus() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        try Data("{}".utf8).write(to: URL(filePath: folder.path + "/a.json"))
        let result = try await run(["core", folder.path])
        #expect(result.status == 1)
        #expect(result.output == "\(folder.path)/a.json: \"name\" is missing\n0 passed, 1 failed\n")
    }

    @Test func nothingToReplayIsAnError() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        let result = try await run(["core", folder.path])
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.error.hasPrefix("error: there is no *.json below \(folder.path)"))
        let missing = try await run(["core"])
        #expect(missing.status == 64 && missing.error.hasPrefix("error: DIR is missing"))
    }

    @Test func helpTeaches() async throws {
        let group = try await run(["--help"])
        #expect(group.status == 0 && group.output.contains("powersync-stack conformance core Tests/Fixtures"))
        let core = try await run(["core", "--help"])
        #expect(core.status == 0 && core.output.contains("A transcript is one JSON file"))
    }
}
