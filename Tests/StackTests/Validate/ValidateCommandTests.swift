import Foundation
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// `powersync-stack validate-config` as a program.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ValidateCommandTests {
    /// Runs the command in a folder with some files.
    private func run(
        _ arguments: [String], _ files: [String: String]
    ) async throws -> (status: ChildProcess.ExitStatus, output: String, error: String) {
        let folder = try TemporaryDirectory(prefix: "powersync-validate-")
        defer { folder.remove() }
        for (name, text) in files {
            try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)"))
        }
        let words = arguments.map { files[$0] == nil ? $0 : "\(folder.path)/\($0)" }
        let result = try await ChildProcess.run(
            Repository.executable("powersync-stack"), ["validate-config"] + words,
            timeout: TestOptions.deadline)
        func local(_ text: String) -> String { text.replacing(folder.path + "/", with: "") }
        return (result.status, local(result.output), local(result.error))
    }

    private static let wrong = "config:\n  edition: 3\n  nope: 1\nstreams: {}\n"

    @Test func mistakesAreToldWithTheirPlaces() async throws {
        let result = try await run(["sync.yaml"], ["sync.yaml": Self.wrong])
        #expect(result.status == .exited(2))
        let lines = result.output.split(separator: "\n")
        let place = try #require(lines.firstIndex(of: "sync.yaml:3:3: error: Unknown key 'nope'."))
        #expect(lines[(place + 1)...(place + 2)] == ["  nope: 1", "  ^~~~"])
        #expect(result.error.hasPrefix("sync.yaml: 1 error, "))
    }

    @Test func programsGetThemInOneText() async throws {
        for format in ["json", "sarif"] {
            let result = try await run(["--format", format, "sync.yaml"], ["sync.yaml": Self.wrong])
            #expect(result.status == .exited(2) && result.error.isEmpty)
            let json = try JSON.parse(result.output)
            let found = json["diagnostics"] ?? json["runs"]?.arrayValue?.first?["results"]
            let texts = (found?.arrayValue ?? []).compactMap {
                ($0["message"]?.stringValue ?? $0["message"]?["text"]?.stringValue)
            }
            #expect(texts.contains("Unknown key 'nope'."))
        }
    }

    @Test func aServiceConfigurationIsTakenForItsSyncConfig() async throws {
        let files = ["service.yaml": "sync_config: {path: sync.yaml}\n", "sync.yaml": Self.wrong]
        let result = try await run(["service.yaml"], files)
        #expect(result.status == .exited(2))
        #expect(result.output.contains("sync.yaml:3:3: error: Unknown key 'nope'."))
    }

    @Test func whatCannotBeReadEndsWithTwo() async throws {
        let missing = try await run(["nothing.yaml"], [:])
        #expect(missing.status == .exited(2) && missing.error.contains("cannot read nothing.yaml"))
        let schema = try await run(["--schema", "nothing.sql", "sync.yaml"], ["sync.yaml": Self.wrong])
        #expect(schema.status == .exited(2) && schema.error.contains("cannot read nothing.sql"))
        let files = ["sync.yaml": Self.wrong, "schema.sql": "CREATE TABLE a(id int);\nCREATE TABEL b();"]
        let broken = try await run(["--schema", "schema.sql", "sync.yaml"], files)
        #expect(broken.status == .exited(2) && broken.error.contains("schema.sql: syntax error"))
        let format = try await run(["--format", "xml", "sync.yaml"], ["sync.yaml": Self.wrong])
        #expect(format.status == .exited(64))
        #expect(try await run([], [:]).status == .exited(64))
    }

    @Test func tablesOfAFileAreKnown() async throws {
        let files = [
            "sync.yaml": """
            config: {edition: 3}
            streams:
              lists: {query: "SELECT id, nam FROM lists"}
              todos: {query: SELECT * FROM todoss}

            """,
            "schema.sql": "CREATE TABLE lists(id uuid, name text); CREATE TABLE todos(id uuid);",
        ]
        let result = try await run(["--strict", "--schema", "schema.sql", "sync.yaml"], files)
        #expect(result.status == .exited(1))
        let unknownTable = "This table could not be found in the source schema. Did you mean todos?"
        #expect(
            result.output == """
                sync.yaml:3:30: warning: Column not found. Did you mean name?
                  lists: {query: "SELECT id, nam FROM lists"}
                                             ^~~
                sync.yaml:4:32: warning: \(unknownTable)
                  todos: {query: SELECT * FROM todoss}
                                               ^~~~~~

                """)
        #expect(try await run(["--strict", "sync.yaml"], files).status == .exited(0))
        #expect(try await run(["--schema", "schema.sql", "sync.yaml"], files).status == .exited(0))
    }
}
