/// Proves who a request is from by a token of the team's provider.
package struct ProviderAuthenticator: TokenAuthenticator {
    package let kind = Principal.Kind.provider
    private let keys: ProviderKeys
    private let rules: TokenRules
    private let roles: RoleSettings
    private let now: @Sendable () -> Double

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - provider: what its tokens must say.
    ///   - keys: its keys.
    ///   - roles: chooses the role of a user.
    ///   - now: seconds since 1970.
    init(
        _ provider: AuthenticationSettings.Provider, keys: ProviderKeys, roles: RoleSettings,
        now: @escaping @Sendable () -> Double
    ) {
        self.keys = keys
        self.roles = roles
        self.now = now
        rules = TokenRules(provider)
    }

    /// Another number once other keys count.
    package func generation() async -> Int { await keys.generation }

    /// Returns whom a token proves.
    ///
    /// - Parameter credentials: what shows the token.
    /// - Returns: who it is.
    /// - Throws: `Problem` 401, 403, and 503 while nobody can tell whether its key is one of the provider's.
    package func principal(_ credentials: Credentials) async throws(Problem) -> Principal {
        let token = try UnverifiedToken(try credentials.token())
        // Before anything is fetched for its sake.
        _ = try JWTVerifier.algorithm(of: token, rules: rules)
        let known = try await keys.keys(for: token.header.keyID)
        let claims = try JWTVerifier.claims(of: token, keys: known, rules: rules, now: now())
        return try Principal(claims, kind, roles)
    }
}
