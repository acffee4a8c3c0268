import PowerSyncWire

/// Chooses the role of a user's transactions by what was verified of him (Backend/DESIGN.md 5).
struct RoleChoice: Sendable {
    private let settings: RoleSettings

    init(_ settings: RoleSettings) { self.settings = settings }

    /// Returns the role that claims choose.
    ///
    /// - Parameter claims: what was verified.
    /// - Returns: the role, the first one where the claims say nothing; nil where transactions take none.
    /// - Throws: `Problem` 403 where the claim is there and names none of the roles.
    func role(_ claims: JSON) throws(Problem) -> DatabaseRole? {
        guard let first = settings.roles.first else { return nil }
        guard let name = settings.claim, let value = claims[name] else { return first }
        let text = value.stringValue.map(ExactText.init)
        guard let role = settings.roles.first(where: { ExactText($0.name) == text }) else {
            throw .roleNotAllowed
        }
        return role
    }

    /// The member of a token that chooses the same role again; nil where the claims have chosen none.
    func member(_ principal: Principal) -> JSONMember? {
        guard let name = settings.claim, let role = principal.role, principal.claims[name] != nil else {
            return nil
        }
        return JSONMember(name, .string(role.name))
    }
}
