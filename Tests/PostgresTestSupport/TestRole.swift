import PowerSyncPostgres

/// Roles that tests make: they log in with the password of the superuser, so that a URI of his with another name is theirs.
package enum TestRole {
    /// Returns what stands in CREATE ROLE: `LOGIN PASSWORD '…'`.
    ///
    /// - Parameter uri: Of the superuser.
    /// - Returns: The clause.
    /// - Throws: `PostgresError` if it is no URI.
    package static func login(_ uri: String) throws -> String {
        "LOGIN PASSWORD " + quoteLiteral(try ConnectionOptions.named(in: uri)["password"] ?? "")
    }

    /// Returns the URI of a role.
    ///
    /// - Parameters:
    ///   - uri: Of another one, with its password.
    ///   - role: The name.
    /// - Returns: The same database and the same password.
    package static func uri(_ uri: String, as role: String) -> String {
        guard let start = uri.firstRange(of: "//")?.upperBound, let end = uri[start...].firstIndex(of: ":")
        else { return uri }
        return "\(uri[..<start])\(role)\(uri[end...])"
    }
}
