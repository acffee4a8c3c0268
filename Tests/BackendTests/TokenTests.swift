import Foundation
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncWire
import Testing

struct TokenTests {
    private static let now = 1_800_000_000.0
    private let keys: SigningKeys

    init() throws { keys = try SigningKeys.ofThisRun() }

    private func mint(
        _ keys: SigningKeys? = nil, now: Double = now,
        _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) -> TokenMint {
        var configuration = BackendConfiguration(databaseURI: "", powersyncURL: "http://sync.example.com")
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
        #expect(token.header.kid == keys.signer.thumbprint)
        #expect(token.header.type == "JWT")
        let claims = try JSON.parse(token.payload)
        #expect(claims["sub"] == .string("u1"))
        #expect(claims["aud"] == .array([.string("http://sync.example.com"), .string("powersync")]))
        #expect(claims["iss"] == .string("me"))
        #expect(claims["iat"] == .number("1800000000"))
        #expect(claims["exp"] == .number("1800000600"))
        #expect(claims["jti"]?.stringValue?.isEmpty == false)
        #expect(claims["parameters"] == .object([]))
    }

    @Test func thePublishedKeyVerifiesAndHoldsNothingSecret() throws {
        let token = try JSONWebToken(parsing: mint().mint(subject: "u1").token)
        let published = try JSON.parse(keys.published)
        let key = try #require(published["keys"]?.arrayValue?.first)
        #expect(key["kid"]?.stringValue == token.header.kid)
        #expect(key["use"] == .string("sig"))
        #expect(key["alg"] == .string("ES256"))
        for member in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] { #expect(key[member] == nil) }
        let set = try JSONWebKeySet(json: Array(keys.published.utf8))
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
        let forged = try JSONWebToken.signed(
            payload: Self.claims(), with: other.signer, algorithm: .ES256, kid: keys.signerID)
        #expect(refusal(forged, by: mint())?.status == 401)
        let unnamed = try JSONWebToken.signed(
            payload: Self.claims(), with: keys.signer, algorithm: .ES256, kid: nil)
        #expect(refusal(unnamed, by: mint())?.status == 401)
    }

    @Test func theAlgorithmIsThatOfTheKeyWhateverTheHeaderSays() throws {
        func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }
        let payload = Base64URL.encode(Self.claims())
        let none = encoded("{\"alg\":\"none\",\"kid\":\"\(keys.signerID)\"}") + "." + payload + "."
        #expect(refusal(none, by: mint())?.status == 401)
        let secret = try JSONWebKey(secret: Array(keys.published.utf8), algorithm: .HS256)
        let confused = try JSONWebToken.signed(
            payload: Self.claims(), with: secret, algorithm: .HS256, kid: keys.signerID)
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
                payload: payload, with: keys.signer, algorithm: .ES256, kid: keys.signerID)
            let problem = try #require(refusal(token, by: mint()))
            #expect(problem.status == 401)
            #expect(problem.detail?.contains(reason) == true, "\(reason)")
        }
        let right = try JSONWebToken.signed(
            payload: Self.claims(), with: keys.signer, algorithm: .ES256, kid: keys.signerID)
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
            payload: Self.claims(aud: .string("uploads")), with: keys.signer, algorithm: .ES256,
            kid: keys.signerID)
        #expect(refusal(own, by: strict) == nil)
    }

    // MARK: Keys

    @Test(arguments: [SignatureAlgorithm.ES256, .RS256, .EdDSA])
    func aKeyOfTheEnvironmentSignsAsItsTypeSays(algorithm: SignatureAlgorithm) throws {
        let key = try JSONWebKey.generate(algorithm)
        let bare = try JSON.parse(key.jsonObjectText(includePrivate: true))
        let members = (bare.objectMembers ?? []).filter { !["kid", "alg", "use"].contains($0.name) }
        let text = Base64.encode(JSON.object(members).utf8)
        let keys = try SigningKeys([SigningKeys.key(text)])
        #expect(keys.algorithm == algorithm)
        #expect(keys.signerID == key.thumbprint)
        #expect(
            try mint(keys).verify(authorization: "Bearer " + mint(keys).mint(subject: "u").token).subject
                == "u")
    }

    @Test func keysThatCannotSignAreRefused() throws {
        let secret = try JSONWebKey(secret: Array("secret".utf8), algorithm: .HS256, kid: "s")
        #expect((thrown { try SigningKeys([secret]) } as? BackendError)?.code == .keys)
        #expect((thrown { try SigningKeys([keys.signer.publicKey()]) } as? BackendError)?.code == .keys)
        #expect((thrown { try SigningKeys([]) } as? BackendError)?.code == .keys)
        #expect((thrown { try SigningKeys.key("not a key") } as? BackendError)?.code == .keys)
        #expect((thrown { try SigningKeys.key("{}") } as? BackendError)?.code == .keys)
    }

    @Test func aFolderOfKeysOutlivesARestart() throws {
        let folder = try TemporaryDirectory(prefix: "keys")
        defer { folder.remove() }
        let directory = KeyDirectory(path: folder.path + "/inner")
        let first = try SigningKeys(directory.keys(creating: .ES256))
        let again = try SigningKeys(directory.keys(creating: .ES256))
        #expect(first.signerID == again.signerID)
        let token = try mint(first).mint(subject: "u").token
        #expect(refusal(token, by: mint(again)) == nil)
        let file = folder.path + "/inner/signing-key.jwk"
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path + "/inner") == ["signing-key.jwk"]
        )
    }

    /// The next start in a container has the same number.
    @Test func whatAKilledStartLeftDoesNotEndTheNext() throws {
        let folder = try TemporaryDirectory(prefix: "keys")
        defer { folder.remove() }
        let left = folder.path + "/.new-\(ProcessInfo.processInfo.processIdentifier)"
        try "half a key".write(toFile: left, atomically: true, encoding: .utf8)
        #expect(try KeyDirectory(path: folder.path).keys(creating: .ES256).count == 1)
    }

    /// As when the stack that had made it was killed, and its shell has removed it.
    @Test func aFolderThatWasTakenAwayDoesNotComeBack() throws {
        let folder = try TemporaryDirectory(prefix: "keys")
        let directory = KeyDirectory(path: folder.path + "/keys")
        folder.remove()
        let error = thrown { try directory.keys(creating: .ES256) } as? BackendError
        #expect(error?.code == .keys)
        #expect(error?.message.hasSuffix("the folder above it: No such file or directory") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test func theNewestKeySignsAndTheOlderStaysPublished() throws {
        let folder = try TemporaryDirectory(prefix: "keys")
        defer { folder.remove() }
        let directory = KeyDirectory(path: folder.path)
        let old = try SigningKeys(directory.keys(creating: .ES256))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -100)],
            ofItemAtPath: folder.path + "/signing-key.jwk")
        let new = try JSONWebKey.generate(.EdDSA)
        try new.jsonObjectText(includePrivate: true).write(
            toFile: folder.path + "/next.jwk", atomically: true, encoding: .utf8)
        let both = try SigningKeys(directory.keys(creating: .ES256))
        #expect(both.signerID == new.thumbprint)
        #expect(refusal(try mint(old).mint(subject: "u").token, by: mint(both)) == nil)
        try "broken".write(toFile: folder.path + "/broken.jwk", atomically: true, encoding: .utf8)
        #expect((thrown { try directory.keys(creating: .ES256) } as? BackendError)?.code == .keys)
    }
}
