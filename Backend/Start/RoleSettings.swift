/// As whom transactions write (Backend/Apply/SPEC.md and Backend/Start/SPEC.md).
package struct RoleSettings: Sendable, Hashable {
    /// The roles that a transaction may take, the first one by default; none leaves it the login role.
    package var roles: [DatabaseRole] = []
    /// The claim that chooses among them; nil where the first is everybody's.
    package var claim: String?
    /// The role that sees rows which policies hide; nil does not tell such rows from missing ones.
    package var probe: DatabaseRole?

    /// Makes settings without roles.
    package init() {}

    /// Reads them.
    ///
    /// - Parameters:
    ///   - reader: the environment.
    ///   - problems: gets what is wrong.
    init(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        let names = problems.read { try reader.names("DB_ROLES") } ?? []
        for name in names {
            guard let role = DatabaseRole(name) else {
                problems.add("DB_ROLES", "must be names of roles, separated by commas; \(name) is none")
                continue
            }
            roles.append(role)
        }
        claim = problems.read { try reader.text("DB_ROLE_CLAIM") }
        if claim != nil, roles.isEmpty { problems.add("DB_ROLE_CLAIM", needs: "DB_ROLES") }
        let isStrict = problems.read { try reader.flag("RLS_STRICT") } ?? false
        let name = problems.read { try reader.text("RLS_PROBE_ROLE") }
        guard let name else {
            if isStrict {
                problems.add("RLS_PROBE_ROLE", "is missing: a role that sees the rows which policies hide")
            }
            return
        }
        probe = DatabaseRole(name)
        if probe == nil { problems.add("RLS_PROBE_ROLE", "must be the name of a role") }
        if !isStrict { problems.add("RLS_PROBE_ROLE", needs: "RLS_STRICT=true") }
    }
}
