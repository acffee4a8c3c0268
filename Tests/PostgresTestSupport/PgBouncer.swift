import Foundation
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A PgBouncer in transaction mode before a server (`Scripts/setup.sh pgbouncer`), which ends with the test process.
///
/// It listens on a socket in a folder of its own, so that nobody else can have its port.
package final class PgBouncer: Sendable {
    /// Whether tests of it run: where it is installed, and where it must be (`POWERSYNC_PEERS=required`), to fail.
    package static let isWanted =
        program != nil || ProcessInfo.processInfo.environment["POWERSYNC_PEERS"] == "required"

    /// Where Debian puts it, which is not in the PATH of everybody.
    private static let program: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin"]
        return folders.map { "\($0)/pgbouncer" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// Part of the socket's name.
    private static let port = 6432

    private let folder: TemporaryDirectory
    private let remover: ChildProcess
    private let process: ChildProcess
    private let serverPort: Int

    /// Starts one that takes what the superuser of a server asks of any of its databases.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - poolSize: How many sessions of the server each database has.
    /// - Throws: `SystemError`, what the system says of a file, `StateDidNotCome` with the program's words.
    package init(before server: PostgresServer, poolSize: Int) async throws {
        let folder = try TemporaryDirectory(prefix: "bouncer-")
        self.folder = folder
        remover = try LifeLine.guardFolder(folder.path)
        serverPort = server.port
        let settings = "\(folder.path)/pgbouncer.ini"
        let (users, log) = ("\(folder.path)/users.txt", "\(folder.path)/log")
        try "\"postgres\" \"\(server.password)\"\n".write(toFile: users, atomically: true, encoding: .utf8)
        try """
        [databases]
        * = host=127.0.0.1 port=\(server.port)
        [pgbouncer]
        listen_port = \(Self.port)
        unix_socket_dir = \(folder.path)
        pool_mode = transaction
        default_pool_size = \(poolSize)
        max_client_conn = 500
        auth_type = scram-sha-256
        auth_file = \(users)
        logfile = \(log)

        """.write(toFile: settings, atomically: true, encoding: .utf8)
        var arguments = [settings]
        // It is nobody's to be root: who runs the server runs it, too.
        var owner = stat()
        try #require(stat(server.temporaryFolder, &owner) == 0)
        if owner.st_uid != geteuid() {
            for path in [folder.path, settings, users] {
                try #require(chown(path, owner.st_uid, owner.st_gid) == 0)
            }
            arguments = ["-u", "postgres"] + arguments
        }
        let process = try ChildProcess.guarded(Self.program ?? "pgbouncer", arguments)
        self.process = process
        let words = try await wait(
            for: "PgBouncer to be up",
            read: {
                FileManager.default.contents(atPath: log).map { String(decoding: $0, as: UTF8.self) } ?? ""
            }, until: { $0.contains("process up") || process.hasEnded })
        try #require(!process.hasEnded, "\(words)")
    }

    deinit {
        process.signal(SIGKILL)
        folder.remove()
    }

    /// Returns the way to a database of the server that leads through it.
    ///
    /// - Parameter uri: Of the database, by the server's port.
    /// - Returns: The URI.
    package func uri(through uri: String) -> String {
        uri.replacing("@127.0.0.1:\(serverPort)/", with: "@/") + "?host=\(folder.path)&port=\(Self.port)"
    }
}
