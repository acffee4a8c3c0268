import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Keys that stand in settings (backend 4.6).
struct GivenKeysTests {
    private static let minimum = [
        "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "http://x", "ENV": "development",
        "DEV_OPEN_SCHEMA": "true", "DEV_TOKENS": "true",
    ]

    private func read(_ settings: [String: String]) throws -> BackendConfiguration {
        try BackendConfiguration(environment: Self.minimum.merging(settings) { $1 }) { _ in "" }
    }

    private func refusal(_ settings: [String: String]) -> String? {
        (thrown { try read(settings) } as? BackendError)?.message
    }

    /// The bytes between the lines of PEM.
    private func body(_ pem: String) -> String {
        pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    }

    @Test(arguments: [SignatureAlgorithm.ES256, .ES384, .ES512, .RS256, .EdDSA])
    func eachSpellingIsTheSameKey(algorithm: SignatureAlgorithm) throws {
        let key = try JSONWebKey.generate(algorithm)
        let jwk = key.jsonObjectText(includePrivate: true)
        let bare = JSON.object(
            (try JSON.parse(jwk).objectMembers ?? []).filter { !["kid", "alg", "use"].contains($0.name) })
        let pem = try key.pemText(includePrivate: true)
        for text in [
            jwk, " \(jwk)\n", bare.text, Base64.encode(Array(jwk.utf8)), Base64URL.encode(bare.utf8), pem,
            body(pem), Base64.encode(Array(pem.utf8)),
        ] {
            let set = try GivenKeys(privateText: text).set()
            #expect(set.signer?.id == key.thumbprint && set.signer?.algorithm == algorithm)
        }
    }

    @Test func publicKeysVerifyBesides() throws {
        let keys = try (0..<3).map { _ in try JSONWebKey.generate(.ES256) }
        let text = keys[0].jsonObjectText(includePrivate: true)
        let one = keys[1].jsonObjectText(includePrivate: false)
        let several = JSONWebKeySet(keys: keys.map { $0.publicKey() }).jsonText()
        let pem = try keys[1].pemText(includePrivate: false)
        for (spelled, count) in [
            (one, 2), (Base64.encode(Array(one.utf8)), 2), (pem, 2), (body(pem), 2), (several, 3),
            (Base64.encode(Array(several.utf8)), 3), (keys[0].jsonObjectText(includePrivate: false), 1),
            // Whoever gives a private key in its place does not publish it.
            (keys[1].jsonObjectText(includePrivate: true), 2),
        ] {
            let set = try GivenKeys(privateText: text, publicText: spelled).set()
            #expect(set.signer?.id == keys[0].kid)
            let published = try JSON.parse(set.published)["keys"]?.arrayValue ?? []
            #expect(published.count == count && published.allSatisfy { $0["d"] == nil })
            if count > 1 { #expect(set[keys[1].thumbprint] != nil) }
        }
    }

    @Test(arguments: [
        "not a key", "{}", "e30=", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        #"{"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2Vj"}"#, #"{"keys":[]}"#, "AAAA",
    ])
    func whatIsNoKeyIsToldWithoutItsText(text: String) throws {
        let good = try JSONWebKey.generate(.ES256).jsonObjectText(includePrivate: true)
        let asPrivate = thrown { try GivenKeys(privateText: text).set() } as? BackendError
        #expect(asPrivate?.code == .keys)
        #expect(asPrivate?.message.hasPrefix("POWERSYNC_PRIVATE_KEY") == true)
        let asPublic = thrown { try GivenKeys(privateText: good, publicText: text).set() } as? BackendError
        #expect(asPublic?.code == .keys)
        #expect(asPublic?.message.hasPrefix("POWERSYNC_PUBLIC_KEY") == true)
        for error in [asPrivate, asPublic] { #expect(error?.message.contains("c2VjcmV0") == false) }
    }

    @Test func aPublicKeyCannotSign() throws {
        let half = try JSONWebKey.generate(.ES256).jsonObjectText(includePrivate: false)
        let error = thrown { try GivenKeys(privateText: half).set() } as? BackendError
        #expect(error?.message == "the signing key has no private part")
    }

    /// With an exponent of 1 every message is its own signature (K5).
    @Test func aWeakKeyIsRefused() throws {
        let strong = try JSONWebKey.generate(.RS256).jsonObjectText(includePrivate: false)
        let members = (try JSON.parse(strong).objectMembers ?? []).filter { !["e", "kid"].contains($0.name) }
        let weak = JSON.object(members + [JSONMember("e", .string("AQ"))]).text
        let good = try JSONWebKey.generate(.ES256).jsonObjectText(includePrivate: true)
        let error = thrown { try GivenKeys(privateText: good, publicText: weak).set() } as? BackendError
        #expect(error?.message.contains("exponent is even or below 3") == true, "\(error?.message ?? "none")")
    }

    @Test func theNamesOfNETProgramsAreRead() throws {
        let settings = ["POWERSYNC_PRIVATEKEY": "a", "POWERSYNC_PUBLICKEY": "b", "JWT_KEYS_DIR": "/keys"]
        let given = GivenKeys(
            privateText: "a", publicText: "b", privateName: "POWERSYNC_PRIVATEKEY",
            publicName: "POWERSYNC_PUBLICKEY")
        #expect(try read(settings).keys == .given(given))
        #expect(try read(["POWERSYNC_PRIVATE_KEY": "a"]).keys == .given(GivenKeys(privateText: "a")))
        #expect(try read(["JWT_KEYS_DIR": "/keys", "POWERSYNC_PUBLIC_KEY": ""]).keys == .directory("/keys"))
    }

    /// Whoever has set the one would look for the other.
    @Test func theNameThatWasSetIsTold() throws {
        let good = try JSONWebKey.generate(.ES256).jsonObjectText(includePrivate: true)
        func refusal(_ privateText: String) throws -> String? {
            let source = try read(["POWERSYNC_PRIVATEKEY": privateText, "POWERSYNC_PUBLICKEY": "none"]).keys
            guard case .given(let given) = source else { return nil }
            return (thrown { try given.set() } as? BackendError)?.message
        }
        #expect(try refusal("none")?.hasPrefix("POWERSYNC_PRIVATEKEY ") == true)
        #expect(try refusal(good)?.hasPrefix("POWERSYNC_PUBLICKEY ") == true)
    }

    @Test func whatCannotBeMeantIsRefused() {
        let words = " are two names of one setting: give one of them"
        #expect(
            refusal(["POWERSYNC_PRIVATE_KEY": "a", "POWERSYNC_PRIVATEKEY": "a"])
                == "POWERSYNC_PRIVATE_KEY and POWERSYNC_PRIVATEKEY" + words)
        let both = ["POWERSYNC_PRIVATE_KEY": "a", "POWERSYNC_PUBLIC_KEY": "a", "POWERSYNC_PUBLICKEY": "a"]
        #expect(refusal(both) == "POWERSYNC_PUBLIC_KEY and POWERSYNC_PUBLICKEY" + words)
        for name in ["POWERSYNC_PUBLIC_KEY", "POWERSYNC_PUBLICKEY"] {
            let alone =
                "\(name) has no effect without POWERSYNC_PRIVATE_KEY: set POWERSYNC_PRIVATE_KEY, or remove \(name)"
            #expect(refusal([name: "a", "JWT_KEYS_DIR": "/keys"])?.hasPrefix(alone) == true)
        }
        let database = refusal(["JWT_KEYS_SQL": "1", "JWT_KEYS_DIR": "/keys"])
        #expect(database?.hasPrefix("JWT_KEYS_SQL is not built") == true)
        #expect(database?.contains("JWT_KEYS_DIR") == true)
    }
}
