import PowerSyncCrypto
import PowerSyncSystem

/// Who may sign in, and by what (Backend/Authentication/SPEC.md and Backend/Start/SPEC.md).
package struct AuthenticationSettings: Sendable, Hashable {
    /// The team's provider of tokens.
    package struct Provider: Sendable, Hashable {
        /// Where its keys are fetched.
        package var keysURL: String
        /// Who makes its tokens.
        package var issuer: String
        /// Whom they are for.
        package var audiences: [String]
        /// How they may be signed.
        package var algorithms = AuthenticationSettings.asymmetric
        /// The claim that names the user.
        package var subjectClaim = "sub"
    }

    /// Tokens that the team's app signs with a secret.
    package struct Session: Sendable, Hashable {
        /// The secret.
        package var secret: [UInt8]
        /// Who makes them.
        package var issuer: String
        /// Whom they are for.
        package var audiences: [String]
        /// The cookie that may have one; nil takes none.
        package var cookie: String?
    }

    /// Every algorithm whose keys can be published.
    package static let asymmetric = SignatureAlgorithm.allCases.filter { $0.keyType != .oct }

    /// The provider; nil trusts none.
    package var provider: Provider?
    /// Session tokens; nil takes none.
    package var session: Session?
    /// The claims of whoever signs in that become parameters of a token.
    package var parameterClaims: [String] = []
    /// Whose word counts about whom a request is from.
    package var trustedProxies: [IPRange] = []
    /// The field in which they say who has signed in; nil takes no such word.
    package var userHeader: String?

    /// Whether there is anything by which somebody can sign in.
    package var letsAnybodyIn: Bool { provider != nil || session != nil || userHeader != nil }

    /// Makes settings that let nobody sign in.
    package init() {}
}
