import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport

/// Clusters for tests that stop, kill or break their server: copies of one that `initdb` makes once.
package enum TestCluster {
    /// The folder to copy, and the shell that removes it when the tests have ended.
    private static let original = Task {
        let folder = try TemporaryDirectory(prefix: "pg-original")
        let remover = try LifeLine.guardFolder(folder.path)
        try await PostgresServer.start(directory: folder.path, fsync: false).stop()
        return (folder: folder, remover: remover)
    }

    /// Makes a folder with a stopped cluster in it, for `PostgresServer.start(directory:)`; remove it at the end.
    package static func folder() async throws -> TemporaryDirectory {
        let original = try await original.value.folder
        let copy = try TemporaryDirectory(prefix: "pg-copy")
        // With the owner, who is another user when we are root.
        let run = try await ChildProcess.run(
            "/bin/cp", ["-a", original.path + "/.", copy.path], timeout: TestOptions.deadline)
        guard run.status == .exited(0) else { throw SystemError(.file, "cp: \(run.status)") }
        return copy
    }

    /// Runs a test on a server that it may kill, and stops it whatever happens.
    package static func withServer(_ body: (PostgresServer) async throws -> Void) async throws {
        let folder = try await folder()
        defer { folder.remove() }
        let server = try await PostgresServer.start(directory: folder.path, fsync: false)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}
