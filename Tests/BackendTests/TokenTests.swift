import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncWire
import Testing

struct TokenTests {
    private static let now = 1_800_000_000.0
    private let keys: SigningKeys

    init() throws { keys = try SigningKeys.ofThisRun() }

    private var signer: KeySet.Signer { get throws { try #require(keys.set.signer) } }

    private func mint(
        _ keys: SigningKeys? = nil, now: Double = now,
        _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) -> TokenMint {
        var configuration = BackendConfiguration.development()
        configuration.audiences = ["http://sync.example.com", "powersync"]
        change(&configuration)
        return TokenMint(
            keys: keys ?? self.keys, configuration: configuration,
            environment: BackendEnvironment(now: { now }))
    }

    private func refusal(_ token: String, by mint: TokenMint) -> Problem? {
        thrown { try mint.verify(authorization: "Bearer " + token) } as? Problem
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

    @Test func whatIsMintedCanBeShown() throws {
        func parameters(_ count: Int) -> JSON {
            .object([JSONMember("p", .string(String(repeating: "p", count: count - 8)))])
        }
        let token = try mint().mint(
            subject: String(repeating: "é", count: 512), parameters: parameters(2_048)
        ).token
        #expect(token.utf8.count < 6_000)
        #expect(try mint().verify(authorization: "Bearer " + token).subject.utf8.count == 1_024)
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

    @Test func ourOwnTokenIsAcceptedUpToItsTolerance() throws {
        let token = try mint().mint(subject: "u1").token
        #expect(try mint().verify(authorization: "Bearer " + token).subject == "u1")
        #expect(try mint().verify(authorization: "bearer " + token).subject == "u1")
        #expect(try mint(now: Self.now + 659).verify(authorization: "Bearer " + token).subject == "u1")
        #expect(refusal(token, by: mint(now: Self.now + 661))?.detail == "the token has expired")
    }

    /// The ledger could not find it by its index.
    @Test func aSubjectHasAtMost1024Bytes() throws {
        let longest = String(repeating: "é", count: 512)
        let token = try mint().mint(subject: longest).token
        #expect(try mint().verify(authorization: "Bearer " + token).subject == longest)
        let longer = refusal(try mint().mint(subject: longest + "x").token, by: mint())
        #expect(longer?.status == 401)
        #expect(longer?.detail == "the token's subject is longer than 1024 bytes")
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "Basic dTpw", "Bearer  x", "Bearer a.b.c",
        "Bearer " + String(repeating: "x", count: 20_000),
    ])
    func whatIsNoTokenIsUnauthenticated(authorization: String?) throws {
        let problem = try #require(thrown { try mint().verify(authorization: authorization) } as? Problem)
        #expect(problem.status == 401)
        #expect(problem.isRetryable)
        #expect(problem.challenge?.hasPrefix("Bearer ") == true)
    }

    @Test func aTokenOfAnotherKeyIsRefused() throws {
        let other = try SigningKeys.ofThisRun()
        #expect(refusal(try mint(other).mint(subject: "u1").token, by: mint())?.status == 401)
        // The right name on the wrong key does not help.
        let otherSigner = try #require(other.set.signer)
        let forged = try JSONWebToken.signed(
            payload: Self.claims(), with: otherSigner.key, algorithm: .ES256, kid: signer.id)
        #expect(refusal(forged, by: mint())?.status == 401)
        let unnamed = try JSONWebToken.signed(
            payload: Self.claims(), with: signer.key, algorithm: .ES256, kid: nil)
        #expect(refusal(unnamed, by: mint())?.status == 401)
    }

    @Test func theAlgorithmIsThatOfTheKeyWhateverTheHeaderSays() throws {
        func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
        let payload = Base64URL.encode(Self.claims())
        let id = try signer.id
        let none = encoded("{\"alg\":\"none\",\"kid\":\"\(id)\"}") + "." + payload + "."
        #expect(refusal(none, by: mint())?.status == 401)
        let secret = try JSONWebKey(secret: Array(keys.set.published.utf8), algorithm: .HS256)
        let confused = try JSONWebToken.signed(
            payload: Self.claims(), with: secret, algorithm: .HS256, kid: signer.id)
        #expect(refusal(confused, by: mint())?.status == 401)
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

    @Test func aTokenWithAWrongClaimIsRefused() throws {
        let wrong: [([UInt8], String)] = [
            (Self.claims(sub: nil), "lacks a claim"), (Self.claims(sub: .number("1")), "lacks a claim"),
            (Self.claims(sub: .string("")), "lacks a claim"), (Self.claims(aud: nil), "lacks a claim"),
            (Self.claims(iat: nil), "lacks a claim"), (Self.claims(exp: nil), "lacks a claim"),
            (Self.claims(aud: .string("other")), "another audience"),
            (Self.claims(aud: .array([])), "another audience"),
            (Self.claims(exp: Self.now - 61), "expired"), (Self.claims(nbf: Self.now + 61), "not valid yet"),
            (Self.claims(exp: Self.now + 86_401), "too long"), (Array("no json".utf8), "lacks a claim"),
        ]
        for (payload, reason) in wrong {
            let token = try JSONWebToken.signed(
                payload: payload, with: signer.key, algorithm: .ES256, kid: signer.id)
            let problem = try #require(refusal(token, by: mint()))
            #expect(problem.status == 401)
            #expect(problem.detail?.contains(reason) == true, "\(reason)")
        }
        let right = try JSONWebToken.signed(
            payload: Self.claims(), with: signer.key, algorithm: .ES256, kid: signer.id)
        #expect(refusal(right, by: mint()) == nil)
        #expect(refusal(right, by: mint { $0.tokenIssuer = "me" })?.detail?.contains("issuer") == true)
    }

    @Test func syncTokensAreRefusedWhereUploadsHaveTheirOwn() throws {
        let strict = mint {
            $0.acceptsSyncTokens = false
            $0.uploadAudiences = ["uploads"]
        }
        #expect(refusal(try strict.mint(subject: "u1").token, by: strict)?.status == 401)
        let own = try JSONWebToken.signed(
            payload: Self.claims(aud: .string("uploads")), with: signer.key, algorithm: .ES256,
            kid: signer.id)
        #expect(refusal(own, by: strict) == nil)
    }

    @Test func withoutASignerTheOthersVerifyAndNobodyGetsAToken() throws {
        let token = try mint().mint(subject: "u1").token
        let orphaned = SigningKeys(try KeySet(signer: nil, others: [signer.key]))
        #expect(refusal(token, by: mint(orphaned)) == nil)
        let problem = try #require(thrown { try mint(orphaned).mint(subject: "u1") } as? Problem)
        #expect(problem.status == 503 && problem.code == "KEYS_UNAVAILABLE")
    }

    @Test func aNameThatNobodyKnowsIsLookedForOnce() throws {
        let other = try SigningKeys.ofThisRun()
        let token = try mint(other).mint(subject: "u1").token
        let looks = Lock(0)
        let (keys, set) = (self.keys, other.set)
        let looking = TokenMint(
            keys: keys, configuration: BackendConfiguration.development(powersyncURL: "powersync"),
            environment: BackendEnvironment(now: { Self.now }),
            lookForUnknown: {
                let count = looks.withLock { looks -> Int in
                    looks += 1
                    return looks
                }
                if count == 2 { keys.replace(with: set) }
                return true
            })
        #expect(refusal(token, by: looking)?.status == 401, "it was not there yet")
        #expect(refusal(token, by: looking) == nil)
        #expect(refusal(token, by: looking) == nil)
        #expect(looks.withLock { $0 } == 2)
    }
}
