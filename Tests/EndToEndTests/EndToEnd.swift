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

    /// Lets `body` act in the demo's world on a cluster of its own, which it may kill.
    static func withWorld(_ body: @escaping @Sendable (DemoWorld) async throws -> Void) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-test-")
        defer { folder.remove() }
        let database = try await StackDatabase.cluster(directory: nil, poller: poller)
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
