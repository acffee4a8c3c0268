import PowerSyncCrypto

/// The tokens with which the admin routes are asked (service 1.10).
package struct APITokens: Sendable {
    /// Digests, so that how long a comparison takes says nothing of a token, not even its length.
    private let digests: [[UInt8]]

    /// Takes the tokens; without one nobody is let in.
    package init(_ tokens: [String]) { digests = tokens.map(Self.digest) }

    /// Lets a request in.
    ///
    /// - Parameter field: The value of its Authorization field, nil if there is none.
    /// - Throws: `AuthorizationError`, the same for whatever is wrong.
    package func check(_ field: String?) throws(AuthorizationError) {
        // Whatever is wrong with it, the answer is that of a wrong token.
        guard let token = try? TokenVerifier.token(inField: field) else { throw .wrongAPIToken }
        let given = Self.digest(token)
        // All are compared, so that the time does not say which it was.
        let isKnown = digests.reduce(false) { constantTimeEquals($1, given) || $0 }
        guard isKnown else { throw .wrongAPIToken }
    }

    private static func digest(_ token: String) -> [UInt8] { Digest.sha256(Array(token.utf8)) }
}

extension AuthorizationError {
    /// No token of the admin routes, or there is none in the configuration.
    static let wrongAPIToken = AuthorizationError("PSYNC_S2101", "Authorization failed")
}
