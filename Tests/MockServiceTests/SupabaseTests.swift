import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncWire
import Testing

/// Tokens of a Supabase project (service 2.3).
struct SupabaseTests {
    private static let now = 1_700_000_000
    private static let secret = "super-secret-jwt-token-with-at-least-32-characters-long"

    /// A token as Supabase makes it; without a name of the key.
    private func token(
        audience: String = "authenticated", lifetime: Int = 3600, secret: String = secret
    ) throws -> String {
        let payload =
            #"{"iss":"https://abc.supabase.co/auth/v1","sub":"5b8c9d4e","aud":"\#(audience)","role":"authenticated","#
            + #""iat":\#(Self.now),"exp":\#(Self.now + lifetime)}"#
        let key = try JSONWebKey(secret: Array(secret.utf8), algorithm: .HS256)
        return "Bearer "
            + (try JSONWebToken.signed(payload: Array(payload.utf8), with: key, algorithm: .HS256, kid: nil))
    }

    private func judge(_ field: String, _ auth: String) async throws -> String {
        let configuration = try ConfigurationReader.read(
            """
            replication: { connections: [{ type: postgresql, uri: host=h dbname=d }] }
            storage: { type: sqlite, path: state.db }
            sync_config: { content: x }
            client_auth: { \(auth) }
            """, name: "powersync.yaml", inputs: .init(environment: [:], readFile: { _ in "" })
        ).service
        let client = try HTTPClient()
        defer { client.close() }
        let authenticator = Authenticator(
            configuration, client, clock: ManualClock(Double(Self.now)).clock,
            log: Log(label: "keys") { _ in })
        do {
            return try await authenticator.authenticate(field).userID
        } catch let error as AuthorizationError {
            return "\(error.code) \(error.description)"
        }
    }

    private static let auth = "supabase: true, supabase_jwt_secret: '\(secret)', audience: [test]"

    @Test func tokensOfTheProjectsSecretAreAccepted() async throws {
        #expect(try await judge(try token(), Self.auth) == "5b8c9d4e")
        #expect(try await judge(try token(), "supabase_jwt_secret: '\(Self.secret)'") == "5b8c9d4e")
        #expect(
            try await judge(
                try token(secret: "another secret of the same length and of another project"), Self.auth
            )
            .hasPrefix("PSYNC_S2101 Could not find an appropriate key"))
        #expect(try await judge(try token(), "audience: [authenticated]").hasPrefix("PSYNC_S2101"))
    }

    /// In place of those of the configuration, which hold for its other keys.
    @Test func theirAudienceAndLifetimeAreSupabases() async throws {
        #expect(
            try await judge(try token(audience: "test"), Self.auth)
                == "PSYNC_S2105 Unexpected \"aud\" claim value: \"test\"")
        let week = 7 * 86_400 + 1200
        #expect(try await judge(try token(lifetime: week), Self.auth) == "5b8c9d4e")
        #expect(
            try await judge(try token(lifetime: week + 1), Self.auth)
                == "PSYNC_S2104 Token must expire in a maximum of 606000 seconds, got 606001s")
        let other = Base64URL.encode(Array(Self.secret.utf8))
        let key = "audience: [test], jwks: {keys: [{kty: oct, alg: HS256, k: '\(other)'}]}"
        #expect(try await judge(try token(audience: "test"), key) == "5b8c9d4e")
        #expect(try await judge(try token(), key).hasPrefix("PSYNC_S2105"))
        #expect(try await judge(try token(audience: "test", lifetime: week), key).hasPrefix("PSYNC_S2104"))
    }

    @Test func theRulesHoldForThePublishedKeys() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let clock = ManualClock(Double(Self.now)).clock
        let keys = RemoteKeys(uri: "https://keys", rules: SupabaseKeys.rules, clock: clock) { _, _ in
            Array(JSONWebKeySet(keys: [key]).jsonText().utf8)
        }
        let authenticator = Authenticator(
            verifier: TokenVerifier(audience: ["test"]), staticKeys: [], remoteKeys: [keys], clock: clock)
        func judge(_ audience: String) async throws -> String {
            let payload =
                #"{"sub":"u1","aud":"\#(audience)","iat":\#(Self.now),"exp":\#(Self.now + 600_000)}"#
            let token = try JSONWebToken.signed(
                payload: Array(payload.utf8), with: key, algorithm: .ES256, kid: key.kid)
            do {
                return try await authenticator.authenticate("Bearer \(token)").userID
            } catch let error as AuthorizationError {
                return error.code
            }
        }
        #expect(try await judge("authenticated") == "u1")
        #expect(try await judge("test") == "PSYNC_S2105")
    }

    @Test(arguments: [
        ("db.abc123.supabase.co", "abc123"), ("DB.abc.Supabase.co", "abc"), ("abc.supabase.co", nil),
        ("db.supabase.co", nil), ("db.a.b.supabase.co", nil), ("db.a@b.supabase.co", nil),
        ("db..supabase.co", nil),
        ("db.abc.supabase.co.example.org", nil), ("aws-0-eu.pooler.supabase.com", nil),
    ])
    func theProjectIsReadFromTheHost(_ host: String, _ project: String?) {
        let expected = project.map { "https://\($0).supabase.co/auth/v1/.well-known/jwks.json" }
        #expect(SupabaseKeys.uri(ofSource: host) == expected)
    }
}
