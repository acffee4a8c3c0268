import PowerSyncCrypto
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes and checks the tokens with which clients sync and upload (backend 4).
package struct TokenMint: Sendable {
    /// The keys.
    package let keys: SigningKeys
    private let audiences: [String]
    private let issuer: String?
    private let lifetime: Duration
    private let powersyncURL: String
    private let uploads: ClaimsPolicy
    private let environment: BackendEnvironment
    private let lookForUnknown: @Sendable () -> Bool

    /// The longest token that is looked at.
    private static let longestToken = 16 << 10
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
    ///   - lookForUnknown: looks for keys that have come since, when a token names one that nobody knows; says whether it did.
    package init(
        keys: SigningKeys, configuration: BackendConfiguration, environment: BackendEnvironment,
        lookForUnknown: @escaping @Sendable () -> Bool = { false }
    ) {
        self.keys = keys
        self.lookForUnknown = lookForUnknown
        self.environment = environment
        audiences = configuration.tokenAudiences
        issuer = configuration.tokenIssuer
        lifetime = configuration.tokenLifetime
        powersyncURL = configuration.powersyncURL
        uploads = ClaimsPolicy(audiences: configuration.acceptedAudiences, issuer: configuration.tokenIssuer)
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

    /// Reads the token of a request and checks it for uploads.
    ///
    /// - Parameter authorization: the value of the header, if there is one.
    /// - Returns: the claims of a valid token.
    /// - Throws: `Problem` 401, which never says more than which rule failed.
    package func verify(authorization: String?) throws(Problem) -> TokenClaims {
        guard let authorization else { throw .unauthenticated("a bearer token is needed", hasToken: false) }
        let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bearer", !parts[1].isEmpty, !parts[1].contains(" ")
        else {
            throw .unauthenticated("expected Authorization: Bearer and a token", hasToken: true)
        }
        guard parts[1].utf8.count <= TokenMint.longestToken,
            let token = try? JSONWebToken(parsing: String(parts[1])),  // nil: no token, whatever it is
            let id = token.header.kid, let (key, algorithm) = known(id),
            token.header.algorithm == algorithm.rawValue, token.isSigned(by: key, as: algorithm)
        else { throw .unauthenticated("the token is not signed by a known key", hasToken: true) }
        guard let claims = TokenClaims(payload: token.payload) else {
            throw .unauthenticated("the token lacks a claim", hasToken: true)
        }
        if let objection = uploads.objection(to: claims, now: environment.now()) {
            throw .unauthenticated(objection, hasToken: true)
        }
        return claims
    }

    private func known(_ id: String) -> (key: JSONWebKey, algorithm: SignatureAlgorithm)? {
        keys.set[id] ?? (lookForUnknown() ? keys.set[id] : nil)
    }
}
