import PowerSyncPostgres

/// How a transaction takes a role of the database and lets go of it (backend 2.9): the app's tables are written as the role,
/// `psb` as who has logged in.
enum RoleStatements {
    /// Makes who has logged in the one who acts again.
    static let release = PostgresStatement("SET LOCAL ROLE NONE", keepsRows: false)

    /// Makes a role the one who acts until the transaction ends; who has logged in where there is none.
    static func take(_ role: DatabaseRole?) -> PostgresStatement {
        guard let role else { return release }
        return PostgresStatement("SELECT \(setting("$1"))", [role.name], keepsRows: false)
    }

    /// The expression that takes a role.
    fileprivate static func setting(_ parameter: String) -> String {
        "pg_catalog.set_config('role', \(parameter)::text, true)"
    }
}

extension SessionSettings {
    /// The statement that sets them and then takes a role.
    ///
    /// - Parameter role: the role; nil takes none.
    /// - Returns: the statement.
    func statement(as role: DatabaseRole?) -> PostgresStatement {
        guard let role else { return statement }
        var values = statement.values
        values.append(role.name)
        return PostgresStatement(
            statement.sql + ", " + RoleStatements.setting("$\(values.count)"), values, keepsRows: false)
    }
}
