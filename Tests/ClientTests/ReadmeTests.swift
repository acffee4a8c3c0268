import Foundation
import PowerSync
import PowerSyncSystem
import Testing

/// The example of the README is this code, and it runs.
@Suite(.timeLimit(.minutes(1)))
struct ReadmeTests {
    @Test func exampleRuns() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-readme-")
        defer { folder.remove() }
        let file = folder.path + "/todos.db"
        let connector = SignedOut()
        // begin
        let schema = Schema(
            Table(name: "todos", columns: [.text("description"), .integer("completed")])
        )
        let database = PowerSyncDatabase(schema: schema, dbFilename: file)
        try await database.connect(connector: connector, options: ConnectOptions())

        try await database.execute(
            sql: "INSERT INTO todos (id, description) VALUES (uuid(), ?)", parameters: ["Milk"])
        let todos = try database.watch(
            "SELECT description FROM todos", mapper: { try $0.getString(index: 0) })
        for try await descriptions in todos {
            print(descriptions)
            // end
            #expect(descriptions == ["Milk"])
            break
        }
        try await database.close()
    }

    @Test func readmeShowsThisCode() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        let begin = try #require(lines.firstIndex { $0.hasSuffix("// begin") })
        let end = try #require(lines.firstIndex { $0.hasSuffix("// end") })
        for line in lines[(begin + 1)..<end] where !line.isEmpty {
            #expect(readme.contains(line.dropFirst(8)), "README lacks: \(line)")
        }
    }
}

private struct SignedOut: PowerSyncBackendConnectorProtocol {
    func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}
