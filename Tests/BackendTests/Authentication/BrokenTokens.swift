import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncWire
import Testing

/// The tokens that nobody may believe (reliability 3), each as it is shown in each way of signing in.
struct BrokenTokens: Sendable {
    /// A way to show a token, and whose keys it counts by.
    enum Way: String, Sendable, CaseIterable {
        case own, provider, session, cookie
    }

    /// One that is no good.
    struct Broken: Sendable {
        /// What is wrong with it.
        let name: String
        /// How it is shown.
        let fields: HTTPFields
        /// What it is answered with, beside 401.
        let code: String
        /// What the query of its request has.
        var query = ""
    }

    /// The key of this backend, and one that it has revoked.
    let own: JSONWebKey
    let revoked: JSONWebKey
    /// The key of the provider, and one that it has withdrawn.
    let provider: JSONWebKey
    let withdrawn: JSONWebKey
    /// The key of somebody whom nobody here knows.
    let unknown: JSONWebKey
    /// One of the provider's with whose public form secrets are made.
    let rsa: JSONWebKey
    /// One of the provider's that encrypts.
    let encrypting: JSONWebKey
    private let secret: JSONWebKey

    /// 512 bits; nobody here can sign with it, so that what it has signed stands below.
    static let shortModulus =
        "1rpoHhxBUgTy238OLylSoQ2mv8kzWnYXrlxzizM_lOMGsIde1p5Z4g9w3q6X3xQfK5U3ReQkLExdJ9z4tuDGxw"
    static let shortSignature =
        "iJZC1CBXGkcwl_uFzQACRf3qTM06a5th1ThNMhXjscMe2d4yOguicJZ0E2L6Z3OPR-5dflOjkkzO3z38n1JVDg"
    static let shortPayload =
        #"{"aud":"app","exp":1800000600,"iat":1800000000,"iss":"https://id.example.com","sub":"u1"}"#

    init() throws {
        own = try KeysFixture.key()
        revoked = try KeysFixture.key()
        provider = try JSONWebKey.generate(.ES256)
        withdrawn = try JSONWebKey.generate(.ES256)
        unknown = try JSONWebKey.generate(.ES256)
        rsa = try JSONWebKey.generate(.RS256)
        encrypting = try JSONWebKey.generate(.ES256)
        secret = try JSONWebKey(secret: Array(SignIn.secret.utf8), algorithm: .HS256)
    }

    /// What the provider publishes: good keys, and such as nobody may use.
    func document() throws -> String {
        let modulus = [0xC1] + [UInt8](repeating: 0x55, count: 255)
        let point = [1] + [UInt8](repeating: 0, count: 31)
        let encryption = try JSON.parse(encrypting.jsonObjectText(includePrivate: false)).objectMembers ?? []
        let others = encryption.filter { !["use", "kid"].contains($0.name) }
        let keys = [
            provider.jsonObjectText(includePrivate: false), rsa.jsonObjectText(includePrivate: false),
            #"{"kty":"RSA","kid":"one","n":"\#(Base64URL.encode(modulus))","e":"AQ"}"#,
            #"{"kty":"RSA","kid":"short","n":"\#(Self.shortModulus)","e":"AQAB"}"#,
            #"{"kty":"OKP","kid":"small","crv":"Ed25519","x":"\#(Base64URL.encode(point))"}"#,
            JSON.object(
                others + [JSONMember("use", .string("enc")), JSONMember("kid", .string("enc"))]
            ).text,
            #"{"kty":"oct","kid":"oct","k":"\#(Base64URL.encode(Array(SignIn.secret.utf8)))"}"#,
        ]
        return "{\"keys\":[\(keys.joined(separator: ","))]}"
    }

    // MARK: Good ones

    /// A good token.
    func good(_ way: Way, _ changes: [String: JSON?] = [:]) throws -> String {
        try signed(way, payload: SignIn.claims(changes).text)
    }

    /// Shows a token.
    func shown(_ token: String, _ way: Way) -> HTTPFields {
        way == .cookie
            ? ["cookie": "s=\(token)", "x-requested-with": "test"] : ["authorization": "Bearer \(token)"]
    }

    func key(_ way: Way) -> JSONWebKey {
        switch way {
        case .own: own
        case .provider: provider
        case .session, .cookie: secret
        }
    }

    func isShared(_ way: Way) -> Bool { way == .session || way == .cookie }

    /// The members of a good header, but for the last brace.
    func header(_ way: Way, kid: String? = nil) -> String {
        let algorithm = isShared(way) ? "HS256" : "ES256"
        let name = kid ?? key(way).kid.map { JSON.quoted($0) }
        return "{\"alg\":\"\(algorithm)\"" + (name.map { ",\"kid\":\($0)" } ?? "")
    }

    /// A token with any header and payload, signed as those of the way are.
    func signed(
        _ way: Way, header: String? = nil, payload: String? = nil, by other: JSONWebKey? = nil
    ) throws -> String {
        try SignIn.token(
            header: header ?? self.header(way) + "}", other ?? key(way), isShared(way) ? .HS256 : .ES256,
            payload: payload ?? SignIn.claims().text)
    }

    /// A key that signs as that of the way does, and is another one.
    func otherKey(_ way: Way) throws -> JSONWebKey {
        guard isShared(way) else { return unknown }
        return try JSONWebKey(secret: Array(SignIn.secret.utf8.reversed()), algorithm: .HS256)
    }
}
