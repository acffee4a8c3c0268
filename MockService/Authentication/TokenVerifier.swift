import PowerSyncCrypto
import PowerSyncSyncRules
import PowerSyncWire

/// A token whose signature and claims were accepted.
package struct VerifiedToken: Sendable, Equatable {
    /// All claims.
    package let payload: JSON
    /// When it expires, in seconds since 1970, without tolerance.
    package let expiry: Double

    /// The text of `sub` by which write checkpoints are kept.
    package var userID: String {
        RequestSlots(token: payload, connection: nil).value(of: .userID).textForm ?? "null"
    }
}

/// Decides whether a token is accepted (service 2.1, 2.2).
package struct TokenVerifier: Sendable {
    /// Seconds by which clocks may differ.
    private static let tolerance = 60.0

    /// Of two members of one name some readers take the first and some the last: such a token means two things.
    private static let limits = JSONLimits(refusesDuplicateNames: true)

    /// What a token must fulfil whose key has no rules of its own.
    package let rules: TokenRules

    /// Makes a verifier.
    package init(audience: [String], lifetimeLimit: Double = 86_400) {
        rules = TokenRules(audience: audience, lifetimeLimit: lifetimeLimit)
    }

    /// Takes the token out of the value of an Authorization field: `Token x` or `Bearer x`, in exactly this
    /// spelling.
    package static func token(inField value: String?) throws(AuthorizationError) -> String {
        guard let value else { throw .noToken }
        for scheme in ["Token ", "Bearer "] where value.hasPrefix(scheme) {
            let token = value.dropFirst(scheme.count)
            if !token.isEmpty, !token.contains(where: \.isWhitespace) { return String(token) }
        }
        throw .noToken
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - keys: The keys that may have signed it.
    ///   - now: Seconds since 1970.
    /// - Returns: The token.
    /// - Throws: The first check that fails; `.noKey` if other keys could change the outcome.
    package func verify(_ text: String, keys: [JSONWebKey], now: Double) throws(AuthorizationError)
        -> VerifiedToken
    {
        try verify(text, trusting: keys.map { TrustedKey($0) }, now: now)
    }

    /// Verifies a token by keys that may have rules of their own.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - keys: The keys that may have signed it.
    ///   - now: Seconds since 1970.
    /// - Returns: The token.
    /// - Throws: The first check that fails; `.noKey` if other keys could change the outcome.
    package func verify(
        _ text: String, trusting keys: [TrustedKey], now: Double
    ) throws(AuthorizationError) -> VerifiedToken {
        let token: JSONWebToken
        let payload: JSON
        do {
            token = try JSONWebToken(parsing: text)
            payload = try JSON.parse(token.payload, limits: Self.limits)
            // Read for its names alone: a second `kid` would be another key to another reader.
            _ = try JSON.parse(
                Base64URL.decode(text.prefix { $0 != "." }) ?? [], limits: Self.limits)
        } catch {
            throw .malformed
        }
        // None of the extensions that a token may require to be understood is known here.
        guard payload.objectMembers != nil, !token.header.hasCriticalExtensions else { throw .malformed }
        let signer = try signer(of: token, keys)
        return VerifiedToken(
            payload: payload, expiry: try checkClaims(payload, now, signer.rules ?? rules))
    }

    /// Returns the key that signed the token.
    private func signer(
        of token: JSONWebToken, _ keys: [TrustedKey]
    ) throws(AuthorizationError) -> TrustedKey {
        guard let algorithm = SignatureAlgorithm(rawValue: token.header.algorithm) else {
            throw AuthorizationError("PSYNC_S2101", "\"alg\" (Algorithm) Header Parameter not allowed")
        }
        if let kid = token.header.kid, let trusted = keys.first(where: { $0.key.kid == kid }) {
            guard trusted.key.goes(with: algorithm) else {
                throw AuthorizationError("PSYNC_S2101", "Unexpected token algorithm \(algorithm.rawValue)")
            }
            guard token.isSigned(by: trusted.key, as: algorithm) else {
                throw AuthorizationError("PSYNC_S2101", "signature verification failed")
            }
            return trusted
        }
        // A key without a name stands for any name.
        let unnamed = keys.first { trusted in
            let key = trusted.key
            return key.kid == nil && key.goes(with: algorithm) && token.isSigned(by: key, as: algorithm)
        }
        guard let unnamed else { throw .noKey }
        return unnamed
    }

    /// Returns when the token expires.
    private func checkClaims(
        _ payload: JSON, _ now: Double, _ rules: TokenRules
    ) throws(AuthorizationError) -> Double {
        for claim in ["sub", "iat", "exp"] where payload[claim] == nil { throw .missing(claim) }
        let issued = try number("iat", payload)
        let expiry = try number("exp", payload)
        if payload["nbf"] != nil, try number("nbf", payload) > now + Self.tolerance {
            // The real service's text for it (service 3.14 D16).
            throw .missing("nbf")
        }
        guard expiry > now - Self.tolerance else {
            throw AuthorizationError("PSYNC_S2103", "JWT has expired")
        }
        try checkAudience(payload, rules.audience)
        guard expiry - issued <= rules.lifetimeLimit else {
            throw AuthorizationError(
                "PSYNC_S2104",
                "Token must expire in a maximum of \(NumberText.normalized(rules.lifetimeLimit)) seconds, "
                    + "got \(NumberText.normalized(expiry - issued))s")
        }
        if let parameters = payload["parameters"], parameters.objectMembers == nil {
            throw AuthorizationError("PSYNC_S2101", "Payload parameters must be an object")
        }
        return expiry
    }

    private func checkAudience(_ payload: JSON, _ audience: [String]) throws(AuthorizationError) {
        guard let claim = payload["aud"], !claim.isNull else { throw .missing("aud", code: "PSYNC_S2105") }
        let named = claim.arrayValue?.compactMap(\.stringValue) ?? [claim.stringValue].compactMap { $0 }
        guard named.contains(where: audience.contains) else {
            throw AuthorizationError("PSYNC_S2105", "Unexpected \"aud\" claim value: \(claim.text)")
        }
    }

    private func number(_ claim: String, _ payload: JSON) throws(AuthorizationError) -> Double {
        guard case .number(let lexeme)? = payload[claim], let number = Double(lexeme), number.isFinite else {
            // The real service says so of a claim that is there, too.
            throw .missing(claim)
        }
        return number
    }
}
