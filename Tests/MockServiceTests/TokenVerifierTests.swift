import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncWire
import Testing

/// Service 2.1, 2.2, 9.9.
struct TokenVerifierTests {
    private let now = 1_700_000_000.5
    private let verifier = TokenVerifier(audience: ["test"])

    private func failure(_ claims: String, keys: [JSONWebKey]? = nil, _ verifier: TokenVerifier? = nil) throws
        -> String?
    {
        let token = try TestTokens.token(user: "u1", now: now, claims: try JSON.parse(claims))
        let keys = try keys ?? [TestTokens.key()]
        do throws(AuthorizationError) {
            _ = try (verifier ?? self.verifier).verify(token, keys: keys, now: now)
            return nil
        } catch {
            return "\(error.code.dropFirst(6)) \(error.description)"
        }
    }

    @Test(arguments: [
        ("{}", nil), (#"{"__badsig":true}"#, "S2101 signature verification failed"),
        (#"{"__alg":"none"}"#, "S2101 \"alg\" (Algorithm) Header Parameter not allowed"),
        (#"{"__alg":"RS256"}"#, "S2101 Unexpected token algorithm RS256"),
        (
            #"{"__kid":"k2"}"#,
            "S2101 Could not find an appropriate key in the keystore. The key is missing or no key matched the token KID"
        ),
        (#"{"sub":null}"#, "S2101 JWT payload is missing a required claim \"sub\""),
        (#"{"iat":null}"#, "S2101 JWT payload is missing a required claim \"iat\""),
        (#"{"exp":null}"#, "S2101 JWT payload is missing a required claim \"exp\""),
        (#"{"__ttl":-120}"#, "S2103 JWT has expired"), (#"{"__ttl":-10}"#, nil),
        (#"{"nbf":1800000000}"#, "S2101 JWT payload is missing a required claim \"nbf\""),
        (#"{"nbf":1700000030}"#, nil),
        (#"{"aud":null}"#, "S2105 JWT payload is missing a required claim \"aud\""),
        (#"{"aud":"tests"}"#, "S2105 Unexpected \"aud\" claim value: \"tests\""),
        (#"{"aud":[]}"#, "S2105 Unexpected \"aud\" claim value: []"), (#"{"aud":["other","test"]}"#, nil),
        (#"{"__ttl":90000}"#, "S2104 Token must expire in a maximum of 86400 seconds, got 90000s"),
        (#"{"__ttl":86400}"#, nil), (#"{"parameters":[]}"#, "S2101 Payload parameters must be an object"),
        (#"{"parameters":"x"}"#, "S2101 Payload parameters must be an object"), (#"{"parameters":{}}"#, nil),
        (#"{"sub":""}"#, nil), (#"{"sub":5}"#, nil),
        (#"{"exp":"soon"}"#, "S2101 JWT payload is missing a required claim \"exp\""),
    ])
    func acceptsAndRefusesAsRecorded(_ claims: String, _ expected: String?) throws {
        #expect(try failure(claims) == expected)
    }

    @Test func aKeyWithoutNameFitsEveryName() throws {
        #expect(try failure(#"{"__kid":"other"}"#, keys: [try TestTokens.key(kid: nil)]) == nil)
    }

    @Test func theKeyOfTheNameIsTheOnlyOneThatCounts() throws {
        let other = try JSONWebKey(
            secret: Array("another secret of thirty-two byte".utf8), algorithm: .HS256, kid: "k1")
        #expect(
            try failure("{}", keys: [other, try TestTokens.key(kid: nil)])
                == "S2101 signature verification failed")
    }

    @Test func anEmptyListOfAudiencesLetsNobodyIn() throws {
        #expect(
            try failure("{}", TokenVerifier(audience: [])) == "S2105 Unexpected \"aud\" claim value: \"test\""
        )
    }

    @Test(arguments: [
        "", "a", "a.b", "a.b.c", "e30.e30.e30", "e30.W10.", "....", "eyJhbGciOiJIUzI1NiJ9.W10.AA",
    ])
    func whatIsNoTokenIsRefusedAsSuch(_ text: String) {
        let error = #expect(throws: AuthorizationError.self) {
            try TokenVerifier(audience: ["test"]).verify(text, keys: [], now: 0)
        }
        #expect(error?.description == "Token is not a well-formed JWT. Check the token format.")
    }

    /// Each is signed as it stands: only that it can be read in two ways is wrong with it.
    @Test(arguments: [
        (
            #"{"alg":"HS256","kid":"k1"}"#, #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600}"#,
            true
        ),
        (
            #"{"alg":"HS256","kid":"k1"}"#,
            #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600,"sub":"u2"}"#, false
        ),
        (
            #"{"alg":"HS256","kid":"k1"}"#,
            #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600,"\u0073ub":"u2"}"#, false
        ),
        (
            #"{"alg":"HS256","kid":"k1"}"#,
            #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600,"parameters":{"a":1,"a":2}}"#, false
        ),
        (
            #"{"alg":"HS256","kid":"k2","kid":"k1"}"#,
            #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600}"#, false
        ),
    ])
    func aNameThatOccursTwiceRefusesTheToken(_ header: String, _ payload: String, _ isAccepted: Bool) throws {
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
        let signature = try TestTokens.key().sign(Array(text.utf8), algorithm: .HS256)
        let token = "\(text).\(Base64URL.encode(signature))"
        let keys = [try TestTokens.key()]
        do throws(AuthorizationError) {
            let user = try verifier.verify(token, keys: keys, now: now).userID
            #expect(isAccepted && user == "u1")
        } catch {
            #expect(
                !isAccepted && error.description == "Token is not a well-formed JWT. Check the token format.")
        }
    }

    @Test(arguments: [nil, "", "Token", "Token ", "token x", "Basic eDp5", "x", "Bearer  x", "Token a b"])
    func aFieldWithoutATokenIsRefused(_ field: String?) {
        let error = #expect(throws: AuthorizationError.self) { try TokenVerifier.token(inField: field) }
        #expect(error == AuthorizationError("PSYNC_S2106", "Authentication required"))
    }

    @Test func bothSchemesCarryAToken() throws {
        #expect(try TokenVerifier.token(inField: "Token a.b.c") == "a.b.c")
        #expect(try TokenVerifier.token(inField: "Bearer x") == "x")
    }
}
