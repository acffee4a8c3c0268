import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server whose certificate is for another name than the one that it is reached by, as behind a tunnel.
@Suite(.enabled("needs a Postgres with TLS") { try await TestPostgres.hasTLS }, .patient())
struct ServerNameTests {
    private static let name = "db.internal.example"

    /// Gives the server a certificate for `name` and lets it encrypt.
    private static func encrypt(_ server: PostgresServer, _ folder: String, _ poller: Poller) async throws {
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-keyout",
                folder + "/server.key", "-out", folder + "/server.crt",
            ], timeout: TestOptions.deadline)
        try #require(made.status == .exited(0), "\(made.error)")
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        let data = try #require(try await connection.query("SHOW data_directory").scalar)
        var owner = stat()
        try #require(stat(data, &owner) == 0)
        for file in ["server.key", "server.crt"] {
            let copy = "\(data)/\(file)"
            try FileManager.default.copyItem(atPath: "\(folder)/\(file)", toPath: copy)
            try #require(chmod(copy, 0o600) == 0 && chown(copy, owner.st_uid, owner.st_gid) == 0)
        }
        try await connection.script("ALTER SYSTEM SET ssl = on")
        try await connection.script("SELECT pg_reload_conf()")
        await connection.close()
        try await wait(for: "the server to encrypt") {
            do {
                let encrypted = try await PostgresConnection.connect(
                    server.uri(), parameters: ["sslmode": "require"], poller: poller)
                await encrypted.close()
                return true
            } catch is PostgresError { return false }
        }
    }

    @Test func theCertificateMustHaveTheNameThatWasSaid() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "server-name-")
        defer { folder.remove() }
        try await TestCluster.withServer { server in
            try await Self.encrypt(server, folder.path, poller)
            func connect(_ name: String?) async throws -> String? {
                let connection = try await PostgresConnection.connect(
                    server.uri(),
                    parameters: ["sslmode": "verify-full", "sslrootcert": folder.path + "/server.crt"],
                    addresses: PostgresAddressRules(serverName: name), poller: poller)
                let isEncrypted = try await connection.query(
                    "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
                ).scalar
                await connection.close()
                return isEncrypted
            }
            #expect(try await connect(Self.name) == "t")
            for other in ["other.example", nil] {
                let error = await #expect(throws: PostgresError.self) { _ = try await connect(other) }
                #expect(
                    error?.message.contains("server certificate for \"\(Self.name)\"") == true
                        && error?.message.contains("does not match host name \"\(other ?? "127.0.0.1")\"")
                            == true,
                    "\(error as Any)")
            }
        }
    }
}
