import PowerSyncCrypto
import PowerSyncWire

/// What a token has proved.
package struct VerifiedClaims: Sendable, Hashable {
    /// The user.
    package let subject: String
    /// The payload; its `sub` is the subject.
    package let json: JSON
}

/// Reads tokens of every kind: a value of text, keys, rules and time, and the one place that believes a token.
package enum JWTVerifier {
    /// Returns how a token is signed, where its kind may be signed so: before anybody looks for its key.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - rules: those of its kind.
    /// - Returns: the algorithm.
    /// - Throws: `Problem` 401 `TOKEN_ALGORITHM`.
    package static func algorithm(
        of token: UnverifiedToken, rules: TokenRules
    ) throws(Problem) -> SignatureAlgorithm {
        guard let algorithm = SignatureAlgorithm(rawValue: token.header.algorithm),
            rules.algorithms.contains(algorithm)
        else { throw .unauthenticated(.tokenAlgorithm, "no token of this kind is signed so") }
        return algorithm
    }

    /// Checks a token.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - keys: all that may have signed it; the token says which of them.
    ///   - rules: those of its kind.
    ///   - now: seconds since 1970.
    /// - Returns: what it has proved.
    /// - Throws: `Problem` 401, whose code is the first rule that it breaks, and whose detail never has a value.
    package static func claims(
        of token: UnverifiedToken, keys: [JSONWebKey], rules: TokenRules, now: Double
    ) throws(Problem) -> VerifiedClaims {
        let algorithm = try algorithm(of: token, rules: rules)
        let candidates = try candidates(token.header, keys, algorithm)
        guard candidates.contains(where: { token.isSigned(by: $0, as: algorithm) }) else {
            throw .unauthenticated(.tokenSignature, "the signature is not that of the key")
        }
        let claims = try Claims(token.payload, subjectClaim: rules.subjectClaim)
        try check(claims, rules, now)
        return VerifiedClaims(
            subject: claims.subject, json: named(token.payload, claims.subject, rules.subjectClaim))
    }

    // MARK: Keys

    /// The keys of the name; without a name, or for one that no key has, those without a name (backend 4.1).
    private static func candidates(
        _ header: TokenHeader, _ keys: [JSONWebKey], _ algorithm: SignatureAlgorithm
    ) throws(Problem) -> [JSONWebKey] {
        if let id = header.keyID.map(ExactText.init) {
            let named = keys.filter { $0.kid.map(ExactText.init) == id }
            let fitting = named.filter { $0.goes(with: algorithm) }
            if !fitting.isEmpty { return fitting }
            guard named.isEmpty else {
                throw .unauthenticated(.tokenAlgorithm, "the algorithm is not that of the key")
            }
        }
        let unnamed = keys.filter { $0.kid == nil && $0.goes(with: algorithm) }
        guard !unnamed.isEmpty else {
            throw .unauthenticated(.tokenKeyUnknown, "the token is not signed by a known key")
        }
        return unnamed
    }

    // MARK: Claims

    /// The claims that every token must have, of their types.
    private struct Claims {
        let subject: String
        let audiences: [String]
        let issuer: String?
        let issuedAt: Double
        let expiresAt: Double
        let notBefore: Double?

        init(_ payload: JSON, subjectClaim: String) throws(Problem) {
            func seconds(_ name: String) throws(Problem) -> Double? {
                guard let value = payload[name] else { return nil }
                guard case .number(let lexeme) = value, let seconds = Double(lexeme), seconds.isFinite else {
                    throw Claims.wrong("a time of the token is no finite number")
                }
                return seconds
            }
            guard let expiresAt = try seconds("exp"), let issuedAt = try seconds("iat") else {
                throw Claims.wrong("the token lacks exp or iat")
            }
            self.expiresAt = expiresAt
            self.issuedAt = issuedAt
            notBefore = try seconds("nbf")
            switch payload["aud"] {
            case .string(let audience): audiences = [audience]
            case .array(let list):
                audiences = list.compactMap(\.stringValue)
                guard audiences.count == list.count else {
                    throw Claims.wrong("an audience of the token is no text")
                }
            default: throw Claims.wrong("the token lacks an audience")
            }
            guard let subject = payload[subjectClaim]?.stringValue,
                (1...Principal.longestSubject).contains(subject.utf8.count), !subject.utf8.contains(0)
            else {
                throw Claims.wrong(
                    "the token's user is not a text of 1 to \(Principal.longestSubject) bytes without NUL")
            }
            self.subject = subject
            issuer = payload["iss"]?.stringValue
        }

        private static func wrong(_ detail: String) -> Problem { .unauthenticated(.tokenClaim, detail) }
    }

    private static func check(_ claims: Claims, _ rules: TokenRules, _ now: Double) throws(Problem) {
        guard claims.expiresAt > now - TokenRules.tolerance else {
            throw .unauthenticated(.tokenExpired, "the token has expired")
        }
        let latest = now + TokenRules.tolerance
        guard claims.issuedAt <= latest, claims.notBefore.map({ $0 <= latest }) ?? true else {
            throw .unauthenticated(.tokenEarly, "the token is not valid yet")
        }
        guard claims.expiresAt - claims.issuedAt <= rules.longestLife else {
            throw .unauthenticated(.tokenLifetime, "the token lives too long")
        }
        let ours = Set(rules.audiences.map(ExactText.init))
        guard !ours.isDisjoint(with: claims.audiences.map(ExactText.init)) else {
            throw .unauthenticated(.tokenAudience, "the token is for another audience")
        }
        guard let issuer = rules.issuer else { return }
        guard claims.issuer.map(ExactText.init) == ExactText(issuer) else {
            throw .unauthenticated(.tokenIssuer, "the token is of another issuer")
        }
    }

    /// The payload with the subject under the name that rows and policies know.
    private static func named(_ payload: JSON, _ subject: String, _ claim: String) -> JSON {
        guard ExactText(claim) != ExactText("sub") else { return payload }
        let name = ExactText("sub")
        let others = (payload.objectMembers ?? []).filter { ExactText($0.name) != name }
        return .object(others + [JSONMember("sub", .string(subject))])
    }
}
