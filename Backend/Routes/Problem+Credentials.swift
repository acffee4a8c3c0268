/// What a request is answered with for whom it is from (Backend/Authentication/SPEC.md and Backend/Apply/SPEC.md).
extension Problem {
    /// Which rule credentials break; each is a 401.
    package enum CredentialsCode: String, Sendable, CaseIterable {
        /// Two things are shown where one counts.
        case twice = "CREDENTIALS_TWICE"
        /// What is shown is not spelled as it must be.
        case malformed = "CREDENTIALS_MALFORMED"
        /// The word of a proxy, from somebody who is none.
        case proxyUntrusted = "PROXY_UNTRUSTED"
        /// An algorithm that nobody signs with here, or that does not go with the key.
        case tokenAlgorithm = "TOKEN_ALGORITHM"
        /// No key of that name.
        case tokenKeyUnknown = "TOKEN_KEY_UNKNOWN"
        /// The signature is another one.
        case tokenSignature = "TOKEN_SIGNATURE"
        /// A claim is missing, or of another type.
        case tokenClaim = "TOKEN_CLAIM"
        /// Its time is over.
        case tokenExpired = "TOKEN_EXPIRED"
        /// Its time has not come.
        case tokenEarly = "TOKEN_EARLY"
        /// It lives for too long.
        case tokenLifetime = "TOKEN_LIFETIME"
        /// It is for somebody else.
        case tokenAudience = "TOKEN_AUDIENCE"
        /// Somebody else has made it.
        case tokenIssuer = "TOKEN_ISSUER"
        /// It is good, and not for this route.
        case tokenKind = "TOKEN_KIND"
    }

    /// The credentials are no good.
    ///
    /// - Parameters:
    ///   - code: which rule they break.
    ///   - detail: the rule in words that go into a quoted text of HTTP; never a value.
    /// - Returns: the problem.
    package static func unauthenticated(_ code: CredentialsCode, _ detail: String) -> Problem {
        var problem = Problem(
            401, "unauthenticated", "Unauthenticated", code: code.rawValue, detail: detail, isRetryable: true)
        problem.challenge = unauthenticated(detail, hasToken: true).challenge
        return problem
    }

    /// The user may do nothing any more.
    package static let accountDisabled = Problem(403, "account-disabled", "Account disabled")

    /// The claim that chooses a role names none of those that may be taken.
    package static let roleNotAllowed = Problem(403, "role-not-allowed", "Role not allowed")

    /// What a token would have to hold is too much: nobody could show it.
    package static let claimsTooLarge = Problem(403, "claims-too-large", "Claims too large")

    /// A page of another site may have sent the cookie, to the backend or to the proxy before it.
    package static let crossSite = Problem(
        403, "cross-site", "Cross-site request",
        detail: "a page must be of an origin of CORS_ORIGINS, or of this host; with a cookie a request needs "
            + "X-Requested-With, too")

    /// Nobody can tell now whether the credentials are good.
    ///
    /// - Parameter retryAfter: seconds after which to come again.
    /// - Returns: the problem.
    package static func keysUnavailable(retryAfter: Int) -> Problem {
        .unavailable("keys-unavailable", "Keys unavailable", retryAfter: retryAfter)
    }

    /// There is no such rejection for the caller: the same words whether there is none, or one of somebody else.
    package static let unknownRejection = Problem(404, "unknown", "Unknown rejection")
}
