import PowerSyncCrypto
import PowerSyncWire
import Testing

/// Tokens as the recordings have them.
enum TestTokens {
    static let secret = Array("0123456789abcdef0123456789abcdef".utf8)

    static func key(kid: String? = "k1") throws -> JSONWebKey {
        try JSONWebKey(secret: secret, algorithm: .HS256, kid: kid)
    }

    /// A token of a user; members of `claims` replace the usual ones, `null` removes one, `__…` spoils the token.
    static func token(user: String, now: Double, claims: JSON = .object([])) throws -> String {
        let time = Int64(now)
        let ttl = claims["__ttl"]?.int64Value ?? 3600
        var payload: [JSONMember] = [
            JSONMember("sub", .string(user)), JSONMember("aud", .string("test")),
            JSONMember("iat", .integer(time)),
            JSONMember("exp", .integer(time + ttl)),
        ]
        for member in claims.objectMembers ?? [] where !member.name.hasPrefix("__") {
            payload.removeAll { $0.name == member.name }
            if !member.value.isNull { payload.append(member) }
        }
        let kid = claims["__kid"] == nil ? "k1" : claims["__kid"]?.stringValue
        let body = JSON.object(payload).utf8
        let token = try JSONWebToken.signed(payload: body, with: try key(), algorithm: .HS256, kid: kid)
        if let algorithm = claims["__alg"]?.stringValue {
            let header = JSON.object([
                JSONMember("alg", .string(algorithm)), JSONMember("kid", .string(kid ?? "")),
            ])
            return "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(body))."
        }
        guard claims["__badsig"] == nil else {
            let parts = token.split(separator: ".")
            return "\(parts[0]).\(parts[1]).\(Base64URL.encode([UInt8](repeating: 7, count: 32)))"
        }
        return token
    }
}
