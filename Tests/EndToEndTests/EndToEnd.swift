import Foundation
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What the end-to-end tests stand on: the real executable, a real Postgres, folders that go away.
enum EndToEnd {
    /// The built `powersync-stack`.
    static let executable = Repository.executable("powersync-stack")

    /// The text of a connection to a server of ours, for programs: nothing but a busy machine is in the way.
    static func patient(_ uri: String) -> String {
        "\(uri)\(uri.contains("?") ? "&" : "?")connect_timeout=\(TestOptions.deadline.components.seconds)"
    }

    /// Settings of a backend for a machine that stands still now and then.
    static let patience = [
        "STATEMENT_TIMEOUT_MS": String(TestOptions.deadline.components.seconds * 1_000),
        "LOCK_TIMEOUT_MS": String(TestOptions.deadline.components.seconds * 1_000),
        "BODY_TIMEOUT": "3600",
    ]

    /// Lets `body` act in the demo's world, in a database of its own.
    ///
    /// - Parameters:
    ///   - needsOwnCluster: whether `body` interferes with Postgres itself; otherwise the server of `DATABASE_URI` is
    ///     used, or the one that all tests share.
    ///   - configure: what else than usual the stack is told.
    ///   - body: what happens.
    /// - Throws: what `body` throws, or errors of starting and closing.
    static func withWorld(
        needsOwnCluster: Bool = false, configure: (inout LocalStackConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (DemoWorld) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-test-")
        defer { folder.remove() }
        let place: StackDatabase.Place
        if needsOwnCluster {
            place = .cluster(directory: nil)
        } else if let uri = ProcessInfo.processInfo.environment["DATABASE_URI"], !uri.isEmpty {
            place = .ownDatabase(server: uri)
        } else {
            place = .ownDatabase(server: patient(try await TestPostgres.server().uri()))
        }
        let database = StackDatabase(place, poller: poller)
        var configuration = LocalStackConfiguration(executable: executable, folder: folder.path)
        configuration.logLevel = "warning"
        configuration.backendEnvironment = patience
        configure(&configuration)
        let stack = try DemoStack.make(database: database, configuration: configuration, poller: poller)
        do {
            try await database.open()
            try await stack.start()
            try await DemoWorld.with(
                stack: stack, folder: folder.path, timeline: DemoTimeline(.silent), poller: poller, body)
        } catch {
            // In a task of its own: a test whose time is over cannot wait, and what went wrong first is told.
            await Task {
                await stack.stop()
                do { try await database.close() } catch { Issue.record(error) }
            }.value
            throw error
        }
        await stack.stop()
        try await database.close()
    }

    /// Lets `body` use a folder with a sub-folder `tmp` for the temporary files of programs; a server of another user
    /// can enter both.
    static func withFolder(_ body: (_ folder: String, _ temporary: String) async throws -> Void) async throws
    {
        let folder = try TemporaryDirectory(prefix: "powersync-ends-")
        defer { folder.remove() }
        // Tests that are killed leave it to this shell.
        let remover = try LifeLine.guardFolder(folder.path)
        defer { if let line = remover.input { close(line) } }
        chmod(folder.path, 0o755)
        let temporary = folder.path + "/tmp"
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        chmod(temporary, 0o1777)
        // A longer one is not for Postgres, whose folder and process nobody would then look for here (`RunFolder`).
        try #require(temporary.utf8.count <= 60, "TMPDIR is too long for these tests: \(temporary)")
        try await body(folder.path, temporary)
    }
}
