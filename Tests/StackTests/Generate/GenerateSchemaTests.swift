import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// `powersync-stack generate-schema` as a program.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct GenerateSchemaTests {
    private func run(
        _ config: String, _ words: [String]
    ) async throws -> (status: ChildProcess.ExitStatus, output: String, error: String) {
        let folder = try TemporaryDirectory(prefix: "powersync-generate-")
        defer { folder.remove() }
        let file = folder.path + "/sync.yaml"
        try Data(config.utf8).write(to: URL(filePath: file))
        return try await ChildProcess.run(
            Repository.executable("powersync-stack"), ["generate-schema", file] + words,
            timeout: TestOptions.deadline)
    }

    @Test func theSchemaIsAsCaptured() async throws {
        let setup = try JSON.parse(Repository.fixture("service/captures/cli-admin-setup.json"))
        let config = try #require(setup["sync_config"]?.stringValue)
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await PostgresServer.start()
        let uri = try await server.createDatabase("app", poller: poller)
        let connection = try await PostgresConnection.connect(
            uri, parameters: [:], poller: poller, deadline: TestOptions.deadline)
        for statement in setup["schema"]?.arrayValue ?? [] {
            try await connection.script(try #require(statement.stringValue))
        }
        await connection.close()
        let result = try await run(config, [uri])
        await server.stop()
        #expect(result.status == .exited(0) && result.error.isEmpty, "\(result.error)")
        let recorded = try Repository.fixture("service/captures/cli-schema.swift.txt")
        #expect(Array(result.output.utf8) == recorded)
    }

    @Test func whatCannotBeUsedHasNoSchema() async throws {
        let server = try await PostgresServer.start()
        let result = try await run("config: {edition: 3, nope: 1}\nstreams: {}\n", [server.uri()])
        await server.stop()
        #expect(result.status == .exited(2) && result.output.isEmpty)
        #expect(result.error.contains("sync.yaml:1:22: error: Unknown key 'nope'."))
        #expect(try await run("streams: {}", []).status == .exited(64))
    }
}
