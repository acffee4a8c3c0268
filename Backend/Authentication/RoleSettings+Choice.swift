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
        else { throw Problem.roleNotAllowed }
        return role
    }
}
