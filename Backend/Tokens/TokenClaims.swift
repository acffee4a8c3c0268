import PowerSyncWire

/// The payload of a token, read and checked (backend 4.3).
package struct TokenClaims: Sendable, Hashable {
    /// The user.
    package let subject: String
    /// Whom the token is for.
    package let audiences: [String]
    /// Who made it.
    package let issuer: String?
    /// When it was made, in seconds since 1970.
    package let issuedAt: Double
    /// When it ends.
    package let expiresAt: Double
    /// Before which it does not count.
    package let notBefore: Double?
    /// The payload as JSON.
    package let json: JSON

    /// Reads a payload; nil if a claim that must be there is missing or of another type.
    package init?(payload: [UInt8]) {
        // Not an error of its own: the caller says that the token is no good.
        guard let json = try? JSON.parse(payload), case .string(let subject) = json["sub"], !subject.isEmpty,
            !subject.utf8.contains(0), let issuedAt = json["iat"].flatMap(TokenClaims.seconds),
            let expiresAt = json["exp"].flatMap(TokenClaims.seconds)
        else { return nil }
        switch json["aud"] {
        case .string(let audience): audiences = [audience]
        case .array(let list): audiences = list.compactMap(\.stringValue)
        default: return nil
        }
        self.subject = subject
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        notBefore = json["nbf"].flatMap(TokenClaims.seconds)
        issuer = json["iss"]?.stringValue
        self.json = json
    }

    private static func seconds(_ json: JSON) -> Double? {
        guard case .number(let lexeme) = json, let seconds = Double(lexeme), seconds.isFinite else {
            return nil
        }
        return seconds
    }

    /// The claims that a dead letter keeps: who, by which token, in which role.
    package var forLetter: String {
        let kept: Set<String> = ["sub", "jti", "iss", "iat", "exp", "role", "client_id"]
        return JSON.object((json.objectMembers ?? []).filter { kept.contains($0.name) }).text
    }
}

/// Decides whether claims are good enough (backend 4.1, 4.3).
package struct ClaimsPolicy: Sendable, Hashable {
    /// The audiences of which a token must name one.
    package var audiences: Set<String>
    /// The issuer that a token must name, if any.
    package var issuer: String?
    /// How far two clocks may differ.
    package var tolerance = 60.0
    /// The most bytes of a subject, which the ledger must be able to find by an index.
    package var longestSubject = 1_024
    /// The longest life of a token; the sync service refuses longer ones.
    package var longestLife = 86_400.0

    /// Makes a policy.
    package init(audiences: [String], issuer: String?) {
        self.audiences = Set(audiences)
        self.issuer = issuer
    }

    /// Returns what is wrong with claims, or nil.
    ///
    /// - Parameters:
    ///   - claims: the claims.
    ///   - now: seconds since 1970.
    /// - Returns: what is wrong, for the client.
    package func objection(to claims: TokenClaims, now: Double) -> String? {
        if claims.expiresAt + tolerance < now { return "the token has expired" }
        if let notBefore = claims.notBefore, notBefore - tolerance > now {
            return "the token is not valid yet"
        }
        if claims.expiresAt - claims.issuedAt > longestLife { return "the token lives too long" }
        if claims.subject.utf8.count > longestSubject {
            return "the token's subject is longer than \(longestSubject) bytes"
        }
        if audiences.isDisjoint(with: claims.audiences) { return "the token is for another audience" }
        if let issuer, claims.issuer != issuer { return "the token is of another issuer" }
        return nil
    }
}
