import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Clusters for tests that stop, kill or break their server: copies of one that `initdb` makes once.
package enum TestCluster {
    /// The folder of all clusters, with the one to copy, and the shell that removes it however the tests end.
    private static let clusters = Task {
        let folder = try TemporaryDirectory(prefix: "pg-clusters")
        let remover = try LifeLine.guardFolder(folder.path)
        // Who runs a server is another user when we are root, and has to get through.
        chmod(folder.path, 0o711)
        try await PostgresServer.start(directory: folder.path + "/original", fsync: false).stop()
        return (folder: folder, remover: remover)
    }

    /// Makes a folder with a stopped cluster in it, for `PostgresServer.start(directory:)`; remove it at the end.
    package static func folder() async throws -> TemporaryDirectory {
        try await copy(of: try await clusters.value.folder.path + "/original")
    }

    /// Makes a copy of a folder with a stopped cluster in it; remove it at the end.
    package static func copy(of folder: String) async throws -> TemporaryDirectory {
        let parent = try await clusters.value.folder.path.split(separator: "/").last ?? ""
        let copy = try TemporaryDirectory(prefix: "\(parent)/copy-")
        // With the owner, who is another user when we are root.
        let run = try await ChildProcess.run(
            "/bin/cp", ["-a", folder + "/.", copy.path], timeout: TestOptions.deadline)
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
