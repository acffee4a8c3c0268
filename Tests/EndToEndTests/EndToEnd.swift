import Foundation
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem

/// What the end-to-end tests stand on: the real executable, a real Postgres, folders that go away.
enum EndToEnd {
    /// Whether these tests run: they need a database and processes.
    static let isEnabled = ProcessInfo.processInfo.environment["POWERSYNC_TESTS"] != "unit"

    /// The built `powersync-stack`.
    static var executable: String { built("powersync-stack") }

    /// The folder of the package.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the path of a built executable, which lies beside the tests.
    static func built(_ name: String) -> String {
        let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        let beside = bundle ?? URL(filePath: CommandLine.arguments[0])
        return beside.deletingLastPathComponent().appending(path: name).path
    }

    /// Lets `body` act in the demo's world: in a database of its own on the server of `DATABASE_URI` if there is one,
    /// else on a cluster of its own, which it needs if it is to interfere with Postgres itself.
    static func withWorld(
        needsOwnCluster: Bool = false, server: String? = ProcessInfo.processInfo.environment["DATABASE_URI"],
        _ body: @escaping @Sendable (DemoWorld) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-test-")
        defer { folder.remove() }
        let database: StackDatabase
        if let server, !server.isEmpty, !needsOwnCluster {
            database = try await .own(on: server, poller: poller)
        } else {
            database = try await .cluster(directory: nil, poller: poller)
        }
        var configuration = LocalStackConfiguration(executable: executable, folder: folder.path)
        configuration.logLevel = "warning"
        do {
            let stack = try await DemoStack.start(
                database: database, configuration: configuration, poller: poller)
            do {
                try await DemoWorld.with(
                    stack: stack, folder: folder.path, timeline: DemoTimeline(.silent), poller: poller, body)
            } catch {
                await stack.stop()
                throw error
            }
            await stack.stop()
        } catch {
            try await database.close()
            throw error
        }
        try await database.close()
    }
}
