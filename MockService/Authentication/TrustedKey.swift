import PowerSyncCrypto

/// What a token must fulfil beside its signature.
package struct TokenRules: Sendable, Equatable {
    /// The audiences of which it must name one.
    package var audience: [String]
    /// The longest time from `iat` to `exp`, in seconds.
    package var lifetimeLimit: Double

    /// Makes rules.
    package init(audience: [String], lifetimeLimit: Double = 86_400) {
        self.audience = audience
        self.lifetimeLimit = lifetimeLimit
    }
}

/// A key that may have signed a token.
package struct TrustedKey: Sendable {
    /// The key.
    package let key: JSONWebKey
    /// The rules of the tokens that it signs, where they take the place of the usual ones.
    package let rules: TokenRules?

    /// Makes a key.
    package init(_ key: JSONWebKey, rules: TokenRules? = nil) {
        self.key = key
        self.rules = rules
    }
}

/// The keys of a Supabase project (service 2.3).
package struct SupabaseKeys: Sendable {
    /// Where the project publishes its keys; nil if it is not known which project it is.
    package var uri: String?
    /// The secret that the project's older tokens are signed with.
    package var secret: JSONWebKey?

    /// The rules of the project's tokens: its audience, and a week with twenty minutes of grace.
    package static let rules = TokenRules(audience: ["authenticated"], lifetimeLimit: 7 * 86_400 + 1200)

    /// Makes keys.
    package init(uri: String? = nil, secret: JSONWebKey? = nil) {
        self.uri = uri
        self.secret = secret
    }

    /// Returns where the project of a source publishes its keys; nil if the host is none of Supabase's.
    ///
    /// - Parameter host: The host of the source, `db.<project>.supabase.co`.
    /// - Returns: The address of the keys.
    package static func uri(ofSource host: String) -> String? {
        let parts = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "db", parts[2...].elementsEqual(["supabase", "co"]),
            !parts[1].isEmpty,
            parts[1].utf8.allSatisfy({
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
            })
        else { return nil }
        return "https://\(parts[1]).supabase.co/auth/v1/.well-known/jwks.json"
    }
}
