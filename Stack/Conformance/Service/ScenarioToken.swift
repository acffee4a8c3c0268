import PowerSyncCrypto
import PowerSyncWire

/// Tokens as the recordings have them (Tests/Fixtures/service/README.md).
package enum ScenarioToken {
    /// What the tokens are signed with, as the service's configuration spells it.
    static let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"
    static let kid = "k1"

    /// Makes the token of a user.
    ///
    /// - Parameters:
    ///   - user: its subject.
    ///   - claims: claims that replace the usual ones, or remove them with `null`; names that begin with two
    ///     underscores change header, signature or time to live.
    ///   - now: seconds since 1970.
    /// - Returns: the compact form.
    /// - Throws: `CryptoError`.
    package static func make(user: String, claims: JSON, now: Int64) throws(CryptoError) -> String {
        var payload = [
            JSONMember("sub", .string(user)), JSONMember("aud", .string("test")),
            JSONMember("iat", .integer(now)), JSONMember("exp", .integer(now + lifetime(claims))),
        ]
        for member in claims.objectMembers ?? [] where !member.name.hasPrefix("__") {
            payload.removeAll { $0.name == member.name }
            if !member.value.isNull { payload.append(member) }
        }
        let kid = claims["__kid"] == nil ? Self.kid : claims["__kid"]?.stringValue
        let body = JSON.object(payload).utf8
        if let algorithm = claims["__alg"] {
            let header = JSON.object([JSONMember("alg", algorithm), JSONMember("kid", .string(kid ?? ""))])
            return "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(body))."
        }
        guard let secret = Base64URL.decode(key) else { preconditionFailure("the key is base64url") }
        let token = try JSONWebToken.signed(
            payload: body, with: JSONWebKey(secret: secret, algorithm: .HS256, kid: Self.kid),
            algorithm: .HS256,
            kid: kid)
        guard claims["__badsig"] != nil, let dot = token.lastIndex(of: ".") else { return token }
        return token[...dot] + Base64URL.encode([UInt8](repeating: 7, count: 32))
    }

    /// Returns for how many seconds the token is valid.
    package static func lifetime(_ claims: JSON) -> Int64 { claims["__ttl"]?.int64Value ?? 3600 }
}
