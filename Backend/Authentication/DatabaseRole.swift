/// A role of the database that a transaction may take (`DB_ROLES`).
package struct DatabaseRole: Sendable, Hashable {
    /// The name as it is spelled in `pg_roles`.
    package let name: String

    /// Makes a role of its name; nil for what `SET ROLE` does not take for a name.
    package init?(_ name: String) {
        // "none" is the login role; the others are longer than a name or end it.
        guard !name.isEmpty, name != "none", name.utf8.count <= 63, !name.utf8.contains(0) else { return nil }
        self.name = name
    }
}
