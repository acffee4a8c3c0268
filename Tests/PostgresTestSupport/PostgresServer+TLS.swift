import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension PostgresServer {
    /// Has a server take encrypted connections alone, as managed ones do.
    ///
    /// - Parameters:
    ///   - name: What its certificate is for, as `DNS:db.test`.
    ///   - authority: Who signs that.
    ///   - poller: Watches the connections with which that is done.
    /// - Throws: When the program `openssl` does not do what it is told; `PostgresError`.
    package func encrypt(as name: String, by authority: TestAuthority, _ poller: Poller) async throws {
        let own = try await authority.server(name)
        let connection = try await PostgresConnection.connect(uri(), poller: poller)
        let data = try #require(try await connection.query("SHOW data_directory").scalar)
        var owner = stat()
        try #require(stat(data, &owner) == 0)
        for (file, path) in [("server.crt", own.certificate), ("server.key", own.key)] {
            let copy = "\(data)/\(file)"
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            try #require(chmod(copy, 0o600) == 0 && chown(copy, owner.st_uid, owner.st_gid) == 0)
        }
        try "local all all trust\nhostssl all all all scram-sha-256\n"
            .write(toFile: data + "/pg_hba.conf", atomically: false, encoding: .utf8)
        try await connection.query("ALTER SYSTEM SET ssl = on")
        try await connection.query("SELECT pg_reload_conf()")
        // The connection that is there stays; new ones are encrypted.
        try await wait(for: "the server to refuse what is not encrypted") {
            do {
                let plain = try await PostgresConnection.connect(uri() + "?sslmode=disable", poller: poller)
                await plain.close()
                return false
            } catch let error as PostgresError { return error.sqlstate == "28000" }
        }
        await connection.close()
    }
}
