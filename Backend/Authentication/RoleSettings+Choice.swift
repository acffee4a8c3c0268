import PowerSyncWire

extension RoleSettings {
    /// The role whose rights plans are made with: that of users for whom no claim chooses.
    package var first: DatabaseRole? { roles.first }

    /// The roles, or nobody's once where transactions take none.
    var each: [DatabaseRole?] { roles.isEmpty ? [nil] : roles.map { $0 } }

    /// Returns the role of a user's transactions.
    ///
    /// - Parameter claims: the payload that names the user, verified.
    /// - Returns: the role; nil where transactions take none.
    /// - Throws: `Problem` 403 where the claim names none of those that may be taken.
    package func role(for claims: JSON) throws(Problem) -> DatabaseRole? {
        guard let first else { return nil }
        guard let claim, let choice = claims[claim] else { return first }
        // Postgres compares the bytes of names.
        guard let name = choice.stringValue.map(ExactText.init),
            let role = roles.first(where: { ExactText($0.name) == name })
        else { throw .roleNotAllowed }
        return role
    }

    /// The member of a token that chooses the same role again; nil where the claims have chosen none.
    func member(of principal: Principal) -> JSONMember? {
        guard let claim, let role = principal.role, principal.claims[claim] != nil else { return nil }
        return JSONMember(claim, .string(role.name))
    }
}
