import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncWire

/// Proves who an upload is from by a token that this backend has minted.
///
/// It is no `Authenticator`, because it does not do for every request: a token must not renew itself for ever.
struct OwnTokens: Sendable {
    let keys: SigningKeys
    private let lookForUnknown: @Sendable () async -> Bool
    private let rules: TokenRules
    private let uploadAudiences: Set<ExactText>
    private let roles: RoleSettings
    private let now: @Sendable () -> Double

    /// Makes a reader of own tokens.
    ///
    /// - Parameters:
    ///   - keys: the keys of this backend.
    ///   - configuration: whom tokens are for, and which of them are good for uploads.
    ///   - roles: chooses the role of a user.
    ///   - now: seconds since 1970.
    ///   - lookForUnknown: looks for keys that have come since; says whether it did.
    init(
        keys: SigningKeys, configuration: BackendConfiguration, roles: RoleSettings,
        now: @escaping @Sendable () -> Double, lookForUnknown: @escaping @Sendable () async -> Bool
    ) {
        self.keys = keys
        self.lookForUnknown = lookForUnknown
        self.roles = roles
        self.now = now
        uploadAudiences = Set(configuration.acceptedAudiences.map(ExactText.init))
        rules = TokenRules(
            algorithms: AuthenticationSettings.asymmetric,
            audiences: configuration.tokenAudiences + configuration.uploadAudiences,
            issuer: configuration.tokenIssuer)
    }

    /// Whether a token names a key of this backend, or one that a look for new keys finds.
    func isOwn(_ header: TokenHeader) async -> Bool {
        guard let id = header.keyID else { return false }
        if keys.set[id] != nil { return true }
        return await lookForUnknown() && keys.set[id] != nil
    }

    /// Returns whom a token proves.
    ///
    /// - Parameter text: the token.
    /// - Returns: who it is.
    /// - Throws: `Problem` 401, 403.
    func principal(_ text: String) throws(Problem) -> Principal {
        let token = try UnverifiedToken(text)
        let key = token.header.keyID.flatMap { keys.set[$0]?.key }
        let claims = try JWTVerifier.claims(
            of: token, keys: key.map { [$0] } ?? [], rules: rules, now: now())
        return try Principal(claims, .own, roles)
    }

    /// Refuses a token that is good, and not for uploads.
    ///
    /// - Parameter principal: whom the token has proved.
    /// - Throws: `Problem` 401 `TOKEN_KIND`.
    func requireUpload(_ principal: Principal) throws(Problem) {
        let audiences =
            principal.claims["aud"]?.arrayValue?.compactMap(\.stringValue)
            ?? [principal.claims["aud"]?.stringValue].compactMap { $0 }
        guard uploadAudiences.isDisjoint(with: audiences.map(ExactText.init)) else { return }
        throw .unauthenticated(.tokenKind, "a token for the sync service uploads nothing here")
    }
}
