/// Why a request is not let in; always an answer with status 401 (service 2.2).
package struct AuthorizationError: Error, Sendable, Equatable {
    /// The code, such as `PSYNC_S2101`.
    package let code: String
    /// The text that the real service has for it; holds nothing of the token but its audience.
    package let description: String

    /// Makes an error of its parts.
    package init(_ code: String, _ description: String) {
        self.code = code
        self.description = description
    }

    static let noToken = AuthorizationError("PSYNC_S2106", "Authentication required")
    static let malformed = AuthorizationError(
        "PSYNC_S2101", "Token is not a well-formed JWT. Check the token format.")
    static let noKey = AuthorizationError(
        "PSYNC_S2101",
        "Could not find an appropriate key in the keystore. The key is missing or no key matched the token KID"
    )
    static let rejectedAddress = AuthorizationError(
        "PSYNC_S2203", "The address of the configured jwks_uri is in a range that the configuration rejects")

    static func missing(_ claim: String, code: String = "PSYNC_S2101") -> AuthorizationError {
        AuthorizationError(code, "JWT payload is missing a required claim \"\(claim)\"")
    }
}
