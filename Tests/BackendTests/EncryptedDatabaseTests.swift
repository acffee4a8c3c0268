import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A database of another name with a certificate of the team's own authority (backend 7, number 22).
@Suite(
    .enabled("needs a Postgres with TLS") {
        TestOptions.hasDatabase ? try await TestPostgres.hasTLS : false
    }, .patient(), .serialized)
struct EncryptedDatabaseTests {
    /// A server called `db.test`, at the address of this machine.
    private struct Desk {
        let server: PostgresServer
        let authority: TestAuthority

        /// What an operator would say.
        func uri(_ query: String = "", host: String = "db.test") -> String {
            server.uri().replacing("@127.0.0.1:", with: "@\(host):") + "?hostaddr=127.0.0.1" + query
        }

        /// A backend that an operator has told these settings.
        func with(
            _ environment: [String: String], _ body: (TestBackend) async throws -> Void = { _ in }
        ) async throws {
            let told = try BackendConfiguration.ofDatabase(environment: environment, readFile: { _ in "" })
            let schema = "CREATE TABLE IF NOT EXISTS notes (id text PRIMARY KEY, body text)"
            try await TestBackend.with(
                schema: schema, uri: server.uri(), map: "tables: { notes: }",
                {
                    $0.databaseURI = told.databaseURI
                    $0.tls = told.tls
                    $0.links = told.links
                    $0.startTimeout = .seconds(1)
                    $0.connectTimeout = TestOptions.deadline
                }, body)
        }

        /// Why it does not start.
        func refusal(_ environment: [String: String]) async throws -> String {
            let error = await #expect(throws: BackendError.self) { try await with(environment) }
            return error?.message ?? "it has started"
        }
    }

    private func with(_ body: (Desk) async throws -> Void) async throws {
        let authority = try await TestAuthority()
        try await TestCluster.withServer { server in
            let poller = try Poller()
            defer { poller.stop() }
            try await server.encrypt(as: "DNS:db.test", by: authority, poller)
            try await body(Desk(server: server, authority: authority))
        }
    }

    /// By a file of the URI, or of the environment.
    @Test func anOwnAuthorityIsBelieved() async throws {
        try await with { desk in
            let file = desk.authority.certificate
            for environment in [
                ["DATABASE_URI": desk.uri("&sslrootcert=\(file)")],
                ["DATABASE_URI": desk.uri("&sslmode=verify-full&sslrootcert=\(file)")],
                ["DATABASE_URI": desk.uri(), "SSL_CERT_FILE": file],
            ] {
                try await desk.with(environment) { backend in
                    let put = #"{"op":"PUT","table":"notes","id":"a","data":{"body":"x"}}"#
                    let state = try await backend.apply(put)
                    #expect(state == "applied")
                    let plain = try await backend.scalar(
                        """
                        SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                        WHERE a.application_name = 'powersync-backend' AND NOT s.ssl
                        """)
                    #expect(plain == "0")
                    let isWarned = backend.lines.withLock {
                        $0.contains { $0.contains("DATABASE_TLS_INSECURE") }
                    }
                    #expect(!isWarned)
                }
            }
        }
    }

    /// An authority that nobody has named, and a certificate of another server.
    @Test func whoeverIsNotProvedIsRefusedWithAWordOfAdvice() async throws {
        try await with { desk in
            let other = try await TestAuthority()
            let foreign = try await desk.refusal([
                "DATABASE_URI": desk.uri("&sslrootcert=\(other.certificate)")
            ])
            let words = ["certificate verify failed", "sslrootcert=FILE", "DATABASE_TLS_INSECURE=true"]
            for word in words { #expect(foreign.contains(word), "\(foreign)") }
            let named = try await desk.refusal([
                "DATABASE_URI": desk.uri(), "SSL_CERT_FILE": other.certificate,
            ])
            #expect(named.contains(other.certificate), "\(named)")
            let elsewhere = try await desk.refusal([
                "DATABASE_URI": desk.uri("&sslrootcert=\(desk.authority.certificate)", host: "other.test")
            ])
            for word in ["other.test", "sslrootcert=FILE"] {
                #expect(elsewhere.contains(word), "\(elsewhere)")
            }
        }
    }

    @Test func aLowerModeNeedsAWordAndIsWarnedOf() async throws {
        try await with { desk in
            for mode in ["require", "prefer", "disable", "verify-ca"] {
                let lower = ["DATABASE_URI": desk.uri("&sslmode=\(mode)")]
                #expect(throws: BackendError.self) {
                    _ = try BackendConfiguration.ofDatabase(environment: lower, readFile: { _ in "" })
                }
            }
            let insecure = ["DATABASE_URI": desk.uri("&sslmode=require"), "DATABASE_TLS_INSECURE": "true"]
            try await desk.with(insecure) { backend in
                let isWarned = backend.lines.withLock {
                    $0.contains { $0.contains("DATABASE_TLS_INSECURE") }
                }
                #expect(isWarned)
            }
        }
    }
}
