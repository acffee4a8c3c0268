import PowerSyncWire

/// Who a request is from, as its credentials have proved.
package struct Principal: Sendable, Hashable {
    /// By what it was proved.
    package enum Kind: String, Sendable {
        /// A token that this backend has minted.
        case own
        /// A token of the team's provider.
        case provider
        /// A session token.
        case session
        /// The word of a trusted proxy.
        case proxy
        /// A switch for development.
        case development
    }

    /// The most bytes of a subject, which the ledger must be able to find by an index.
    package static let longestSubject = 1_024

    /// The user, as tokens, rows and the ledger name it.
    package let subject: String
    /// What was verified; its `sub` is the subject.
    package let claims: JSON
    /// By what it was proved.
    package let kind: Kind
    /// The role of the user's transactions; nil where they take none.
    package let role: DatabaseRole?

    /// Makes a principal of its parts.
    ///
    /// Nil for a subject that is empty, too long, or has NUL in it, which no text of Postgres can hold.
    package init?(subject: String, claims: JSON, kind: Kind, role: DatabaseRole? = nil) {
        guard (1...Principal.longestSubject).contains(subject.utf8.count), !subject.utf8.contains(0) else {
            return nil
        }
        self.subject = subject
        self.claims = claims
        self.kind = kind
        self.role = role
    }
}

extension Principal {
    /// Makes a principal of what a token has proved.
    ///
    /// - Parameters:
    ///   - claims: what it has proved.
    ///   - kind: by whose keys.
    ///   - roles: chooses the role.
    /// - Throws: `Problem` 403 where the claims choose a role that is not allowed.
    init(_ claims: VerifiedClaims, _ kind: Kind, _ roles: RoleSettings) throws(Problem) {
        let role = try roles.role(for: claims.json)
        guard let principal = Principal(subject: claims.subject, claims: claims.json, kind: kind, role: role)
        else { throw .unauthenticated(.tokenClaim, "the user of the token is none that can be named") }
        self = principal
    }
}
