import PowerSyncCrypto
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes the tokens with which clients sync (backend 4); `Authentication` reads them.
package struct TokenMint: Sendable {
    /// The keys.
    package let keys: SigningKeys
    private let audiences: [String]
    private let issuer: String?
    private let lifetime: Duration
    private let powersyncURL: String
    private let environment: BackendEnvironment

    /// Seconds by which a token says that it is older than it is, for whoever's clock is behind (backend 4.4).
    private static let backdating: Int64 = 5
    /// The longest time from the making of a token to its end, in seconds, that the sync service allows (backend 4.1).
    private static let longestLife: Int64 = 86_400
    /// The most bytes of parameters: what is minted must be a token that can be shown.
    package static let mostParameterBytes = 2 << 10

    /// Makes a mint.
    ///
    /// - Parameters:
    ///   - keys: the keys.
    ///   - configuration: whom tokens are for, and how long they live.
    ///   - environment: the time and chance.
    package init(keys: SigningKeys, configuration: BackendConfiguration, environment: BackendEnvironment) {
        self.keys = keys
        self.environment = environment
        audiences = configuration.tokenAudiences
        issuer = configuration.tokenIssuer
        lifetime = configuration.tokenLifetime
        powersyncURL = configuration.powersyncURL
    }

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - subject: the user.
    ///   - parameters: what sync streams may read, an object.
    ///   - role: the claim that chooses a role of the database, if one is chosen.
    /// - Returns: the answer for the client.
    /// - Throws: `Problem` 503 while no key signs, 403 for what nobody could show, `CryptoError`.
    package func mint(
        subject: String, parameters: JSON? = nil, role: JSONMember? = nil
    ) throws -> TokenResponse {
        if let parameters, parameters.utf8.count > Self.mostParameterBytes { throw Problem.claimsTooLarge }
        guard let signer = keys.set.signer else {
            throw Problem.keysUnavailable(retryAfter: 1 + Int(environment.random() * 4))
        }
        let now = Int64(environment.now())
        let life = lifetime.components.seconds
        var claims: [JSONMember] = []
        if let issuer { claims.append(JSONMember("iss", .string(issuer))) }
        claims += [
            JSONMember("aud", .array(audiences.map { .string($0) })), JSONMember("sub", .string(subject)),
            JSONMember("iat", .integer(max(now - Self.backdating, now + life - Self.longestLife))),
            JSONMember("exp", .integer(now + life)), JSONMember("jti", .string(environment.uniqueName())),
        ]
        // A claim that every token has chooses no role: it is there already.
        if let role, !claims.contains(where: { $0.name == role.name }), role.name != "parameters" {
            claims.append(role)
        }
        if let parameters { claims.append(JSONMember("parameters", parameters)) }
        let token = try JSONWebToken.signed(
            payload: JSON.object(claims).utf8, with: signer.key, algorithm: signer.algorithm, kid: signer.id)
        guard token.utf8.count <= TokenHeader.longestToken else { throw Problem.claimsTooLarge }
        let expiry = Date(timeIntervalSince1970: Double(now + life))
        return TokenResponse(
            token: token, powersyncURL: powersyncURL, expiresIn: Int(life),
            expiresAt: expiry.formatted(.iso8601))
    }
}
