import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Keys are not fetched from addresses that the configuration rejects (service 2.3).
@Suite(.patient())
struct KeyAddressTests {
    private func configuration(auth: String) throws -> MockServiceConfiguration {
        try ConfigurationReader.read(
            """
            replication: { connections: [{ type: postgresql, uri: host=h dbname=d }] }
            storage: { type: sqlite, path: state.db }
            sync_config: { content: 'config: {edition: 3}' }
            client_auth: { audience: [test], \(auth) }
            """, name: "powersync.yaml", inputs: .init(environment: [:], readFile: { _ in "" })
        ).service
    }

    /// A server of keys that nobody but the test knows of.
    private func keyServer(_ key: JSONWebKey) throws -> RawServer {
        let body = JSONWebKeySet(keys: [key]).jsonText()
        return try RawServer { connection in
            while connection.request() != nil {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
    }

    private func token(_ key: JSONWebKey) throws -> String {
        let payload = #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600}"#
        return "Bearer "
            + (try JSONWebToken.signed(
                payload: Array(payload.utf8), with: key, algorithm: .ES256, kid: key.kid))
    }

    /// What becomes of a token, and what the log says of it.
    private func authenticate(_ field: String, _ auth: String) async throws -> (user: String, log: [String]) {
        let client = try HTTPClient()
        defer { client.close() }
        let lines = Lock<[String]>([])
        let log = Log(label: "keys") { line in lines.withLock { $0.append(line) } }
        let authenticator = Authenticator(
            try configuration(auth: auth), client, clock: ManualClock(1_700_000_000).clock, log: log)
        do {
            let user = try await authenticator.authenticate(field).userID
            return (user, lines.withLock { $0 })
        } catch let error as AuthorizationError {
            return (error.code, lines.withLock { $0 })
        }
    }

    @Test func keysAreFetchedFromAddressesThatAreAllowed() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = try keyServer(key)
        let token = try token(key)
        for auth in [
            "jwks_uri: '\(server.url())'",
            "jwks_uri: '\(server.url())', jwks_reject_ip_ranges: [10.0.0.0/8], block_local_jwks: false",
        ] {
            #expect(try await authenticate(token, auth).user == "u1")
        }
        #expect(server.connections == 2)
    }

    @Test(arguments: [
        "jwks_reject_ip_ranges: [local]", "jwks_reject_ip_ranges: [127.0.0.0/8, '::1']",
        "block_local_jwks: true",
    ])
    func keysAreNotFetchedFromOthers(_ rule: String) async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = try keyServer(key)
        let token = try token(key)
        // However the address is written.
        for host in ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"] {
            let result = try await authenticate(
                token, "jwks_uri: 'http://\(host):\(server.port)/keys', \(rule)")
            #expect(result.user == "PSYNC_S2203", "\(host)")
            #expect(result.log.contains { $0.contains("in a rejected range") })
        }
        #expect(server.connections == 0)
    }

    /// A token that nobody has signed makes the service look for its key, second by second.
    @Test func anAddressThatIsRejectedIsToldOnce() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let client = try HTTPClient()
        defer { client.close() }
        let lines = Lock<[String]>([])
        let log = Log(label: "keys") { line in lines.withLock { $0.append(line) } }
        let clock = ManualClock(1_700_000_000)
        let uris = ["http://127.0.0.1:1/keys", "http://127.0.0.2:1/keys"]
        let authenticator = Authenticator(
            try configuration(auth: "jwks_uri: ['\(uris[0])', '\(uris[1])'], block_local_jwks: true"), client,
            clock: clock.clock, log: log)
        for second in 0..<5 {
            clock.set(1_700_000_000 + 2 * Double(second))
            await #expect(throws: AuthorizationError.self) {
                try await authenticator.authenticate(try token(key))
            }
        }
        let told = lines.withLock { $0 }
        for host in ["127.0.0.1:1", "127.0.0.2:1"] {
            #expect(told.count { $0.contains("in a rejected range") && $0.contains(host) } == 1)
        }
    }

    /// A server that may be asked must not lead to one that may not.
    @Test func aRedirectLeadsNowhere() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let hidden = try keyServer(key)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(
                "HTTP/1.1 302 Found\r\nLocation: \(hidden.url())\r\nContent-Length: 0\r\n\r\n")
        }
        let result = try await authenticate(
            try token(key), "jwks_uri: '\(server.url())', jwks_reject_ip_ranges: [10.0.0.0/8]")
        #expect(result.user == "PSYNC_S2204")
        #expect(server.connections == 1 && hidden.connections == 0)
    }
}
