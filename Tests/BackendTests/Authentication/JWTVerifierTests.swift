import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncWire
import Testing

/// Which tokens are believed (Backend/Authentication/SPEC.md, backend 4.1).
struct JWTVerifierTests {
    private static let now = SignIn.now
    private let key: JSONWebKey
    private let rules = TokenRules(
        algorithms: AuthenticationSettings.asymmetric, audiences: ["app", "other"], issuer: SignIn.issuer)

    init() throws { key = try JSONWebKey.generate(.ES256) }

    private func check(
        _ text: String, keys: [JSONWebKey]? = nil, rules: TokenRules? = nil
    ) -> Result<VerifiedClaims, Problem> {
        Result { () throws(Problem) -> VerifiedClaims in
            try JWTVerifier.claims(
                of: UnverifiedToken(text), keys: keys ?? [key.publicKey()], rules: rules ?? self.rules,
                now: Self.now)
        }
    }

    private func code(_ text: String, keys: [JSONWebKey]? = nil, rules: TokenRules? = nil) -> String {
        switch check(text, keys: keys, rules: rules) {
        case .success: "good"
        case .failure(let problem): problem.code
        }
    }

    private func code(_ changes: [String: JSON?]) throws -> String {
        code(try SignIn.token(key, kid: key.kid, SignIn.claims(changes)))
    }

    @Test func aGoodTokenProvesItsClaims() throws {
        let claims = SignIn.claims(["aud": .array([.string("x"), .string("app")]), "team": .string("t")])
        let verified = try check(try SignIn.token(key, kid: key.kid, claims)).get()
        #expect(verified.subject == "u1" && verified.json == claims)
    }

    @Test(arguments: [SignatureAlgorithm.ES256, .ES384, .ES512, .RS256, .EdDSA])
    func eachAlgorithmIsRead(algorithm: SignatureAlgorithm) throws {
        let key = try JSONWebKey.generate(algorithm)
        let token = try SignIn.token(key, algorithm, kid: key.kid)
        #expect(code(token, keys: [key.publicKey()]) == "good")
        var rules = rules
        rules.algorithms.removeAll { $0 == algorithm }
        #expect(code(token, keys: [key.publicKey()], rules: rules) == "TOKEN_ALGORITHM")
    }

    // MARK: How it is spelled

    @Test func whatIsNoTokenIsMalformed() throws {
        let good = try SignIn.token(key, kid: key.kid)
        let parts = good.split(separator: ".").map(String.init)
        let (head, body, end) = (parts[0], parts[1], parts[2])
        for text in [
            "", ".", "..", "a.b", "a.b.c", "\(good).", "\(good).x", ".\(good)", "\(good)=", "\(good) ",
            "\(good)\n", "\(head) .\(body).\(end)", "\(head).\(body)=.\(end)", "\(head)+.\(body).\(end)",
            "\(head).\u{301}\(body).\(end)", String(repeating: "x", count: 8_193),
        ] {
            #expect(code(text) == "CREDENTIALS_MALFORMED", "\(text.prefix(40))")
        }
    }

    @Test func aTokenHasAtMostEightKibibytes() throws {
        func token(_ count: Int) throws -> String {
            try SignIn.token(
                key, kid: key.kid, SignIn.claims(["x": .string(String(repeating: "x", count: count))]))
        }
        var count = (8_192 - (try token(0).utf8.count)) * 3 / 4 - 8
        while try token(count + 1).utf8.count <= 8_192 { count += 1 }
        #expect(code(try token(count)) == "good")
        #expect(code(try token(count + 1)) == "CREDENTIALS_MALFORMED")
    }

    @Test func aHeaderIsAnObjectOfWhatIsKnown() throws {
        let id = try #require(key.kid)
        let kid = #""kid":"\#(id)""#
        let deep = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
        for header in [
            "[]", "null", "\"ES256\"", "{}", "{\(kid)}", #"{"alg":1,\#(kid)}"#, #"{"alg":null,\#(kid)}"#,
            #"{"alg":"ES256","alg":"ES256",\#(kid)}"#, #"{"alg":"ES256",\#(kid),\#(kid)}"#,
            #"{"alg":"ES256","crit":["exp"],\#(kid)}"#, #"{"alg":"ES256","crit":[],\#(kid)}"#,
            #"{"alg":"ES256","crit":null,\#(kid)}"#, #"{"alg":"ES256","kid":1}"#,
            #"{"alg":"ES256","kid":null}"#, #"{"alg":"ES256","kid":""}"#, #"{"alg":"ES256","kid":"a\nb"}"#,
            #"{"alg":"ES256","kid":"é"}"#,
            #"{"alg":"ES256","kid":"\#(String(repeating: "k", count: 256))"}"#,
            #"{"alg":"ES256","x":\#(deep),\#(kid)}"#, #"{"alg":"ES256",\#(kid)} x"#,
        ] {
            #expect(code(try SignIn.token(header: header, key)) == "CREDENTIALS_MALFORMED", "\(header)")
        }
        // What says where a key would be is not looked at.
        for member in [
            #""jku":"https://evil.example.com/keys""#, #""x5u":"https://evil.example.com""#, #""x5c":["AA"]"#,
            #""jwk":{"kty":"oct","k":"AA"}"#, #""typ":"JWT""#,
        ] {
            #expect(code(try SignIn.token(header: "{\"alg\":\"ES256\",\(kid),\(member)}", key)) == "good")
        }
    }

    @Test func aPayloadIsAnObjectWithEachNameOnce() throws {
        let id = try #require(key.kid)
        let open = String(SignIn.claims().text.dropLast())
        let nested = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
        let many = String(repeating: "0,", count: 1_000)
        for payload in [
            "", "[]", "null", "text", "\(open)}{}", "\(open),\"sub\":\"u2\"}", "\(open),\"x\":\(nested)}",
            "\(open),\"x\":[\(many)0]}",
        ] {
            let token = try SignIn.token(
                header: #"{"alg":"ES256","kid":"\#(id)"}"#, key, payload: payload)
            #expect(code(token) == "CREDENTIALS_MALFORMED", "\(payload.prefix(60))")
        }
    }

    // MARK: By whom it is signed

    @Test func noneAndSharedSecretsAreNoAlgorithms() throws {
        let id = try #require(key.kid)
        let payload = Base64URL.encode(SignIn.claims().utf8)
        for name in ["none", "None", "NONE", "nOnE", "", "HS256", "HS512", "PS256", "ES256K", "es256"] {
            let header = Base64URL.encode(Array("{\"alg\":\"\(name)\",\"kid\":\"\(id)\"}".utf8))
            for signature in ["", "AAAA"] {
                #expect(code("\(header).\(payload).\(signature)") == "TOKEN_ALGORITHM", "\(name)")
            }
        }
        // The public key as a secret (RFC 8725 2.1).
        let secret = try JSONWebKey(
            secret: Array(try key.pemText(includePrivate: false).utf8), algorithm: .HS256)
        #expect(code(try SignIn.token(secret, .HS256, kid: id)) == "TOKEN_ALGORITHM")
    }

    @Test func theAlgorithmIsThatOfTheKey() throws {
        let rsa = try JSONWebKey.generate(.RS256)
        let token = try SignIn.token(header: #"{"alg":"RS512","kid":"k"}"#, rsa, .RS256)
        var named = rsa.publicKey()
        named.kid = "k"
        #expect(code(token, keys: [named]) == "TOKEN_ALGORITHM")
    }

    @Test func theKeyIsThatOfTheNameAndNoOther() throws {
        let other = try JSONWebKey.generate(.ES256)
        let keys = [key.publicKey(), other.publicKey()]
        #expect(code(try SignIn.token(other, kid: other.kid), keys: keys) == "good")
        #expect(code(try SignIn.token(other, kid: key.kid), keys: keys) == "TOKEN_SIGNATURE")
        #expect(code(try SignIn.token(other, kid: "no such"), keys: keys) == "TOKEN_KEY_UNKNOWN")
        #expect(code(try SignIn.token(other, kid: nil), keys: keys) == "TOKEN_KEY_UNKNOWN")
        #expect(code(try SignIn.token(other, kid: other.kid), keys: []) == "TOKEN_KEY_UNKNOWN")
        // The sign for kelvin is another name than K.
        var kelvin = other.publicKey()
        kelvin.kid = "\u{212A}"
        #expect(code(try SignIn.token(other, kid: "K"), keys: [kelvin]) == "TOKEN_KEY_UNKNOWN")
    }

    @Test func keysWithoutANameAreForWhoeverIsNamedByNone() throws {
        var unnamed = key.publicKey()
        unnamed.kid = nil
        let other = try JSONWebKey.generate(.ES256)
        let keys = [other.publicKey(), unnamed]
        #expect(code(try SignIn.token(key, kid: nil), keys: keys) == "good")
        #expect(code(try SignIn.token(key, kid: "rotated"), keys: keys) == "good")
        #expect(code(try SignIn.token(key, kid: other.kid), keys: keys) == "TOKEN_SIGNATURE")
        #expect(code(try SignIn.token(other, kid: nil), keys: keys) == "TOKEN_SIGNATURE")
        let edwards = try JSONWebKey.generate(.EdDSA)
        #expect(code(try SignIn.token(edwards, .EdDSA, kid: nil), keys: keys) == "TOKEN_KEY_UNKNOWN")
    }

    @Test func whatWasChangedIsNotSigned() throws {
        let parts = try SignIn.token(key, kid: key.kid).split(separator: ".").map(String.init)
        let other = Base64URL.encode(SignIn.claims(["sub": .string("admin")]).utf8)
        #expect(code("\(parts[0]).\(other).\(parts[2])") == "TOKEN_SIGNATURE")
        #expect(code("\(parts[0]).\(parts[1]).") == "TOKEN_SIGNATURE")
        let zeros = Base64URL.encode([UInt8](repeating: 0, count: 64))
        #expect(code("\(parts[0]).\(parts[1]).\(zeros)") == "TOKEN_SIGNATURE")
    }

    // MARK: What it claims

    @Test(arguments: ["exp", "iat", "aud", "sub"])
    func whatMustBeThereIsThereAndOfItsType(name: String) throws {
        #expect(try code([name: nil]) == "TOKEN_CLAIM")
        for wrong in [JSON.null, .bool(true), .object([]), .string(""), .array([.number("1")])] {
            if name == "aud", wrong == .string("") { continue }
            #expect(try code([name: wrong]) == "TOKEN_CLAIM", "\(wrong.text)")
        }
        let number = try code([name: .number("1800000001")])
        #expect(number == (["exp", "iat"].contains(name) ? "good" : "TOKEN_CLAIM"))
    }

    @Test func timesAreFiniteNumbers() throws {
        for name in ["exp", "iat", "nbf"] {
            for lexeme in ["1e400", "-1e400"] {
                #expect(try code([name: .number(lexeme)]) == "TOKEN_CLAIM", "\(name) \(lexeme)")
            }
            #expect(try code([name: .string("1800000000")]) == "TOKEN_CLAIM")
            #expect(try code([name: .number("1800000000.25")]) == "good")
            #expect(try code([name: .number("1.8e9")]) == "good")
        }
    }

    @Test func timesMayDifferByAMinute() throws {
        let now = Int(Self.now)
        for (changes, expected) in [
            (["exp": .integer(now - 59)], "good"), (["exp": .integer(now - 60)], "TOKEN_EXPIRED"),
            (["iat": .integer(now + 60)], "good"), (["iat": .integer(now + 61)], "TOKEN_EARLY"),
            (["nbf": .integer(now + 60)], "good"), (["nbf": .integer(now + 61)], "TOKEN_EARLY"),
            (["exp": .integer(now + 86_400)], "good"), (["exp": .integer(now + 86_401)], "TOKEN_LIFETIME"),
            (["iat": .integer(now - 86_400)], "TOKEN_LIFETIME"),
        ] as [([String: JSON?], String)] {
            #expect(try code(changes) == expected, "\(changes)")
        }
    }

    @Test func sessionsLiveForAMonth() throws {
        var rules = rules
        rules.longestLife = 30 * TokenRules.day
        let month = Int(Self.now) + 30 * 86_400
        for (end, expected) in [(month, "good"), (month + 1, "TOKEN_LIFETIME")] {
            let token = try SignIn.token(key, kid: key.kid, SignIn.claims(["exp": .integer(end)]))
            #expect(code(token, rules: rules) == expected)
        }
    }

    @Test func audienceAndIssuerAreComparedByBytes() throws {
        #expect(try code(["aud": .string("other")]) == "good")
        for audience in ["app/", "App", "ap", "", "app\u{301}"] {
            #expect(try code(["aud": .string(audience)]) == "TOKEN_AUDIENCE", "\(audience)")
            #expect(try code(["aud": .array([.string(audience)])]) == "TOKEN_AUDIENCE", "\(audience)")
        }
        #expect(try code(["aud": .array([])]) == "TOKEN_AUDIENCE")
        for issuer in [JSON.string(SignIn.issuer + "/"), .string(""), .null, .number("1")] {
            #expect(try code(["iss": issuer]) == "TOKEN_ISSUER", "\(issuer.text)")
        }
        #expect(try code(["iss": nil]) == "TOKEN_ISSUER")
        var rules = rules
        rules.issuer = nil
        let token = try SignIn.token(key, kid: key.kid, SignIn.claims(["iss": nil]))
        #expect(code(token, rules: rules) == "good")
    }

    @Test func aSubjectIsWhatTheLedgerCanHold() throws {
        #expect(try code(["sub": .string(String(repeating: "s", count: 1_024))]) == "good")
        #expect(try code(["sub": .string(String(repeating: "s", count: 1_025))]) == "TOKEN_CLAIM")
        #expect(try code(["sub": .string("a\0b")]) == "TOKEN_CLAIM")
    }

    @Test func anotherClaimMayNameTheUser() throws {
        var rules = rules
        rules.subjectClaim = "https://x/uid"
        let both = SignIn.claims(["https://x/uid": .string("u9")])
        let verified = try check(try SignIn.token(key, kid: key.kid, both), rules: rules).get()
        #expect(verified.subject == "u9" && verified.json["sub"] == .string("u9"))
        #expect(verified.json.objectMembers?.filter { $0.name == "sub" }.count == 1)
        let token = try SignIn.token(key, kid: key.kid)
        #expect(code(token, rules: rules) == "TOKEN_CLAIM", "sub is nobody then")
    }

    /// What is wrong first is told, whatever else is.
    @Test func theFirstRuleIsTold() throws {
        let now = Int(Self.now)
        var wrong: [String: JSON?] = [
            "exp": .integer(now - 100), "iat": .integer(now + 90_000), "aud": .string("x"),
            "iss": .string("x"), "sub": .number("1"),
        ]
        #expect(try code(wrong) == "TOKEN_CLAIM")
        wrong["sub"] = JSON.string("u1")
        #expect(try code(wrong) == "TOKEN_EXPIRED")
        wrong["exp"] = JSON.integer(now + 300_000)
        #expect(try code(wrong) == "TOKEN_EARLY")
        wrong["iat"] = JSON.integer(now)
        #expect(try code(wrong) == "TOKEN_LIFETIME")
        wrong["exp"] = JSON.integer(now + 60)
        #expect(try code(wrong) == "TOKEN_AUDIENCE")
        wrong["aud"] = JSON.string("app")
        #expect(try code(wrong) == "TOKEN_ISSUER")
        wrong["iss"] = JSON.string(SignIn.issuer)
        #expect(try code(wrong) == "good")
    }

    @Test func noRefusalShowsAValue() throws {
        let canary = "canary-value"
        for changes in [
            ["sub": .number("1"), "aud": .string(canary)], ["aud": .string(canary)], ["iss": .string(canary)],
        ] as [[String: JSON?]] {
            let token = try SignIn.token(key, kid: key.kid, SignIn.claims(changes))
            guard case .failure(let problem) = check(token) else {
                Issue.record("it is refused")
                continue
            }
            #expect(problem.status == 401 && problem.isRetryable)
            #expect(!"\(problem)".contains(canary) && problem.challenge?.hasPrefix("Bearer ") == true)
        }
    }
}
