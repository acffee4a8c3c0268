import PowerSyncCrypto

/// What a token of one kind must say (Backend/Authentication/SPEC.md).
package struct TokenRules: Sendable, Hashable {
    /// How far two clocks may differ, in seconds.
    package static let tolerance = 60.0
    /// The longest life of a token, in seconds; the sync service refuses longer ones.
    package static let day = 86_400.0

    /// How it may be signed.
    package var algorithms: [SignatureAlgorithm]
    /// The audiences of which it must name one.
    package var audiences: [String]
    /// The issuer that it must name; nil asks for none.
    package var issuer: String?
    /// The claim that names the user.
    package var subjectClaim = "sub"
    /// The longest life, in seconds.
    package var longestLife = TokenRules.day

    /// Makes rules.
    ///
    /// - Parameters:
    ///   - algorithms: how it may be signed.
    ///   - audiences: of which it must name one.
    ///   - issuer: that it must name, if any.
    package init(algorithms: [SignatureAlgorithm], audiences: [String], issuer: String?) {
        self.algorithms = algorithms
        self.audiences = audiences
        self.issuer = issuer
    }

    /// The rules of a provider's tokens.
    init(_ provider: AuthenticationSettings.Provider) {
        self.init(
            algorithms: provider.algorithms, audiences: provider.audiences, issuer: provider.issuer)
        subjectClaim = provider.subjectClaim
    }

    /// The rules of session tokens, which live for a month at most.
    init(_ session: AuthenticationSettings.Session) {
        self.init(algorithms: [.HS256], audiences: session.audiences, issuer: session.issuer)
        longestLife = 30 * TokenRules.day
    }
}
