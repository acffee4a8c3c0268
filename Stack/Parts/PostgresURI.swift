/// Changes to connection texts of libpq, in either of their two forms.
enum PostgresURI {
    /// Returns the text with another database.
    ///
    /// - Parameters:
    ///   - uri: `postgresql://…` or `key=value …` (libpq, "Connection Strings").
    ///   - database: a name of ours: letters, digits and underscores.
    /// - Returns: the text in the same form.
    /// - Throws: `StackError` if the text is a URI without a host part.
    static func replacingDatabase(of uri: String, with database: String) throws -> String {
        guard uri.hasPrefix("postgres://") || uri.hasPrefix("postgresql://") else {
            // Of a key that is given twice, libpq takes the last.
            return uri + " dbname=\(database)"
        }
        guard let scheme = uri.firstRange(of: "://") else {
            throw StackError(.database, "DATABASE_URI is no URI")
        }
        let rest = uri[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let query = rest.firstIndex(of: "?").map { rest[$0...] } ?? ""
        return "\(uri[..<scheme.upperBound])\(authority)/\(database)\(query)"
    }

    /// Returns the text without a password, for people.
    static func withoutPassword(_ uri: String) -> String {
        guard let scheme = uri.firstRange(of: "://"), let at = uri.firstIndex(of: "@"),
            let colon = uri[scheme.upperBound..<at].firstIndex(of: ":")
        else { return uri.contains("password=") ? "(connection text with a password)" : uri }
        return String(uri[..<colon] + uri[at...])
    }
}
