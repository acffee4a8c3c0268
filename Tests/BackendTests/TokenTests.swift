import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncWire
import Testing

/// The backend's own tokens: what is minted, and which of them are good for uploads.
struct TokenTests {
    private static let now = 1_800_000_000.0
    private let keys: SigningKeys

    init() throws { keys = try SigningKeys.ofThisRun() }

    private var signer: KeySet.Signer { get throws { try #require(keys.set.signer) } }

    private static func configuration(
        _ change: (inout BackendConfiguration) -> Void
    ) -> BackendConfiguration {
        var configuration = BackendConfiguration.development(powersyncURL: "http://sync.example.com")
        configuration.audiences = ["http://sync.example.com", "powersync"]
        configuration.acceptsSyncTokens = true
        change(&configuration)
        return configuration
    }

    private func mint(
        _ keys: SigningKeys? = nil, _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) -> TokenMint {
        TokenMint(
            keys: keys ?? self.keys, configuration: Self.configuration(change),
            environment: BackendEnvironment(now: { Self.now }))
    }

    /// Who reads what these keys have signed, and knows no provider.
    private func reader(
        _ keys: SigningKeys? = nil, now: Double = now,
        _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) throws -> Authentication {
        try Authentication.make(
            Self.configuration(change), keys: keys ?? self.keys,
            environment: BackendEnvironment(now: { now }), clock: ManualSeconds().clock,
            log: Log(label: "test", level: .error) { _ in }, fetch: nil)
    }

    /// The code of the refusal of an upload, or "none".
    private func refusal(authorization: String?, by reader: Authentication) async -> String {
        var fields = HTTPFields()
        fields["authorization"] = authorization
        let request = HTTPRequest(method: "POST", target: "/api/data", fields: fields)
        return await refusalCode { _ = try await reader.principal(of: request, for: .uploads) }
    }

    private func refusal(_ token: String, by reader: Authentication) async -> String {
        await refusal(authorization: "Bearer " + token, by: reader)
    }

    @Test func aTokenHasWhatTheServiceAsksFor() throws {
        let response = try mint { $0.tokenIssuer = "me" }.mint(subject: "u1", parameters: .object([]))
        #expect(response.powersyncURL == "http://sync.example.com")
        #expect(response.expiresIn == 600)
        #expect(response.expiresAt == "2027-01-15T08:10:00Z")
        let token = try JSONWebToken(parsing: response.token)
        #expect(token.header.algorithm == "ES256")
        #expect(try token.header.kid == signer.key.thumbprint)
        #expect(token.header.type == "JWT")
        let claims = try JSON.parse(token.payload)
        #expect(claims["sub"] == .string("u1"))
        #expect(claims["aud"] == .array([.string("http://sync.example.com"), .string("powersync")]))
        #expect(claims["iss"] == .string("me"))
        #expect(claims["iat"] == .number("1799999995"), "for whoever's clock is behind")
        #expect(claims["exp"] == .number("1800000600"))
        #expect(claims["jti"]?.stringValue?.isEmpty == false)
        #expect(claims["parameters"] == .object([]))
    }

    /// The sync service refuses what lives for more than a day (backend 4.1).
    @Test func theLongestLifeIsADayFromWhatTheTokenSays() throws {
        let response = try mint { $0.tokenLifetime = .seconds(86_400) }.mint(subject: "u1")
        let claims = try JSON.parse(try JSONWebToken(parsing: response.token).payload)
        #expect(claims["iat"] == .number("1800000000") && claims["exp"] == .number("1800086400"))
    }

    @Test func aRoleTravelsAlongAndIsNeverAnotherClaim() throws {
        func claims(_ role: JSONMember) throws -> JSON {
            let response = try mint { $0.tokenIssuer = "me" }.mint(
                subject: "u1", parameters: .object([]), role: role)
            return try JSON.parse(try JSONWebToken(parsing: response.token).payload)
        }
        #expect(try claims(JSONMember("db_role", .string("app")))["db_role"] == .string("app"))
        for name in ["sub", "aud", "iss", "iat", "exp", "jti", "parameters"] {
            let claims = try claims(JSONMember(name, .string("app")))
            #expect(claims["sub"] == .string("u1") && claims[name] != .string("app"))
            #expect(claims.objectMembers?.filter { $0.name == name }.count == 1)
        }
    }

    @Test func whatIsMintedCanBeShown() async throws {
        func parameters(_ count: Int) -> JSON {
            .object([JSONMember("p", .string(String(repeating: "p", count: count - 8)))])
        }
        let token = try mint().mint(
            subject: String(repeating: "é", count: 512), parameters: parameters(2_048)
        ).token
        #expect(token.utf8.count < 6_000)
        #expect(await refusal(token, by: try reader()) == "none")
        let more = thrown { try mint().mint(subject: "u1", parameters: parameters(2_049)) } as? Problem
        #expect(more == .claimsTooLarge)
        // Each of these is six bytes of JSON.
        let control = String(repeating: "\u{1}", count: 1_024)
        #expect(thrown { try mint().mint(subject: control) } as? Problem == .claimsTooLarge)
    }

    @Test func thePublishedKeyVerifiesAndHoldsNothingSecret() throws {
        let token = try JSONWebToken(parsing: mint().mint(subject: "u1").token)
        let published = try JSON.parse(keys.set.published)
        let key = try #require(published["keys"]?.arrayValue?.first)
        #expect(key["kid"]?.stringValue == token.header.kid)
        #expect(key["use"] == .string("sig"))
        #expect(key["alg"] == .string("ES256"))
        for member in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] { #expect(key[member] == nil) }
        let set = try JSONWebKeySet(json: Array(keys.set.published.utf8))
        #expect(token.isSigned(by: try #require(set.keys.first), as: .ES256))
    }

    @Test func ourOwnTokenIsAcceptedUpToItsTolerance() async throws {
        let token = try mint().mint(subject: "u1").token
        #expect(await refusal(token, by: try reader()) == "none")
        #expect(await refusal(authorization: "bearer " + token, by: try reader()) == "none")
        #expect(await refusal(token, by: try reader(now: Self.now + 659)) == "none")
        #expect(await refusal(token, by: try reader(now: Self.now + 661)) == "TOKEN_EXPIRED")
    }

    /// The ledger could not find it by its index.
    @Test func aSubjectHasAtMost1024Bytes() async throws {
        let longest = String(repeating: "é", count: 512)
        #expect(await refusal(try mint().mint(subject: longest).token, by: try reader()) == "none")
        let longer = try mint().mint(subject: longest + "x").token
        #expect(await refusal(longer, by: try reader()) == "TOKEN_CLAIM")
    }

    @Test(arguments: [
        "", "Bearer", "Bearer ", "Basic dTpw", "Bearer  x", "Bearer a.b.c",
        "Bearer " + String(repeating: "x", count: 20_000),
    ])
    func whatIsNoTokenIsMalformed(authorization: String) async throws {
        #expect(await refusal(authorization: authorization, by: try reader()) == "CREDENTIALS_MALFORMED")
        #expect(await refusal(authorization: nil, by: try reader()) == "UNAUTHENTICATED")
    }

    @Test func aTokenOfAnotherKeyIsRefused() async throws {
        let other = try SigningKeys.ofThisRun()
        let reader = try reader()
        let foreign = try mint(other).mint(subject: "u1").token
        #expect(await refusal(foreign, by: reader) == "TOKEN_KEY_UNKNOWN")
        // The right name on the wrong key does not help.
        let otherSigner = try #require(other.set.signer)
        let forged = try JSONWebToken.signed(
            payload: Self.claims(), with: otherSigner.key, algorithm: .ES256, kid: signer.id)
        #expect(await refusal(forged, by: reader) == "TOKEN_SIGNATURE")
        let unnamed = try JSONWebToken.signed(
            payload: Self.claims(), with: signer.key, algorithm: .ES256, kid: nil)
        #expect(await refusal(unnamed, by: reader) == "TOKEN_KEY_UNKNOWN")
    }

    @Test func theAlgorithmIsThatOfTheKeyWhateverTheHeaderSays() async throws {
        func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
        let payload = Base64URL.encode(Self.claims())
        let id = try signer.id
        let none = encoded("{\"alg\":\"none\",\"kid\":\"\(id)\"}") + "." + payload + "."
        #expect(await refusal(none, by: try reader()) == "TOKEN_ALGORITHM")
        let secret = try JSONWebKey(secret: Array(keys.set.published.utf8), algorithm: .HS256)
        let confused = try JSONWebToken.signed(
            payload: Self.claims(), with: secret, algorithm: .HS256, kid: signer.id)
        #expect(await refusal(confused, by: try reader()) == "TOKEN_ALGORITHM")
    }

    private static func claims(
        sub: JSON? = .string("u1"), aud: JSON? = .string("powersync"), iat: Double? = now,
        exp: Double? = now + 600,
        nbf: Double? = nil, iss: String? = nil
    ) -> [UInt8] {
        let number = { (value: Double) in JSON.number(String(Int(value))) }
        let members: [(String, JSON?)] = [
            ("sub", sub), ("aud", aud), ("iat", iat.map(number)), ("exp", exp.map(number)),
            ("nbf", nbf.map(number)),
            ("iss", iss.map { .string($0) }),
        ]
        return JSON.object(members.compactMap { name, value in value.map { JSONMember(name, $0) } }).utf8
    }

    @Test func aTokenWithAWrongClaimIsRefused() async throws {
        let wrong: [([UInt8], String)] = [
            (Self.claims(sub: nil), "TOKEN_CLAIM"), (Self.claims(sub: .number("1")), "TOKEN_CLAIM"),
            (Self.claims(sub: .string("")), "TOKEN_CLAIM"), (Self.claims(aud: nil), "TOKEN_CLAIM"),
            (Self.claims(iat: nil), "TOKEN_CLAIM"), (Self.claims(exp: nil), "TOKEN_CLAIM"),
            (Self.claims(aud: .string("other")), "TOKEN_AUDIENCE"),
            (Self.claims(aud: .array([])), "TOKEN_AUDIENCE"),
            (Self.claims(exp: Self.now - 61), "TOKEN_EXPIRED"),
            (Self.claims(nbf: Self.now + 61), "TOKEN_EARLY"),
            (Self.claims(iat: Self.now + 61), "TOKEN_EARLY"),
            (Self.claims(exp: Self.now + 86_401), "TOKEN_LIFETIME"),
            (Array("no json".utf8), "CREDENTIALS_MALFORMED"),
        ]
        let reader = try reader()
        for (payload, code) in wrong {
            let token = try JSONWebToken.signed(
                payload: payload, with: signer.key, algorithm: .ES256, kid: signer.id)
            #expect(await refusal(token, by: reader) == code)
        }
        let right = try JSONWebToken.signed(
            payload: Self.claims(), with: signer.key, algorithm: .ES256, kid: signer.id)
        #expect(await refusal(right, by: reader) == "none")
        let strict = try self.reader { $0.tokenIssuer = "me" }
        #expect(await refusal(right, by: strict) == "TOKEN_ISSUER")
    }

    @Test func syncTokensAreRefusedWhereUploadsHaveTheirOwn() async throws {
        let strict = try reader {
            $0.acceptsSyncTokens = false
            $0.uploadAudiences = ["uploads"]
        }
        #expect(await refusal(try mint().mint(subject: "u1").token, by: strict) == "TOKEN_KIND")
        let own = try JSONWebToken.signed(
            payload: Self.claims(aud: .string("uploads")), with: signer.key, algorithm: .ES256,
            kid: signer.id)
        #expect(await refusal(own, by: strict) == "none")
    }

    @Test func withoutASignerTheOthersVerifyAndNobodyGetsAToken() async throws {
        let token = try mint().mint(subject: "u1").token
        let orphaned = SigningKeys(try KeySet(signer: nil, others: [signer.key]))
        #expect(await refusal(token, by: try reader(orphaned)) == "none")
        let problem = try #require(thrown { try mint(orphaned).mint(subject: "u1") } as? Problem)
        #expect(problem.status == 503 && problem.code == "KEYS_UNAVAILABLE")
    }
}
