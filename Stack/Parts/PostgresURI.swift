/// Changes to connection texts of libpq, in either of their two forms: `postgresql://…` and `key=value …`
/// (libpq, "Connection Strings").
enum PostgresURI {
    /// Returns the text with another database.
    ///
    /// - Parameters:
    ///   - uri: the text.
    ///   - database: a name of ours: letters, digits and underscores.
    /// - Returns: the text in the same form.
    /// - Throws: `StackError` if the text is a URI without `://`.
    static func replacingDatabase(of uri: String, with database: String) throws(StackError) -> String {
        guard let parts = try Parts(uri) else {
            // Of a key that is given twice, libpq takes the last.
            return uri + " dbname=\(database)"
        }
        // A database among the parameters would win over that of the path.
        let query = parts.query.filter { !$0.hasPrefix("dbname=") }
        return parts.scheme + parts.authority + "/" + database + Parts.text(of: query)
    }

    /// Returns the text with a parameter at its end; of one that is given twice, libpq takes the last.
    ///
    /// - Parameters:
    ///   - name: the parameter.
    ///   - value: letters, digits, hyphens, slashes.
    ///   - uri: the text.
    /// - Returns: the text in the same form.
    /// - Throws: `StackError` if the text is a URI without `://`.
    static func adding(_ name: String, _ value: String, to uri: String) throws(StackError) -> String {
        guard let parts = try Parts(uri) else { return uri + " \(name)=\(value)" }
        return parts.scheme + parts.authority + parts.path
            + Parts.text(of: parts.query + ["\(name)=\(value)"])
    }

    /// Returns the text without passwords, for people.
    ///
    /// A password whose `@`, `/` or `?` was not escaped does not connect, but is hidden as a whole, too.
    static func withoutPassword(_ uri: String) -> String {
        guard let parts = try? Parts(uri) else {
            return uri.contains("password") ? "(connection text with a password)" : uri
        }
        let secret = ["password=", "sslpassword="]
        let query = parts.query.filter { part in !secret.contains { part.hasPrefix($0) } }
        let place = String(parts.authority + parts.path + Parts.text(of: query))
        let wholeAuthority = parts.authority.contains("@") ? parts.authority.count : place.count
        guard let at = place.prefix(wholeAuthority).lastIndex(of: "@") else { return parts.scheme + place }
        return "\(parts.scheme)\(place[..<at].prefix { $0 != ":" })\(place[at...])"
    }

    /// The parts of the URI form.
    private struct Parts {
        let scheme: Substring
        let authority: Substring
        /// With its slash; empty without one.
        let path: Substring
        let query: [Substring]

        /// Splits a text; nil for the other form.
        init?(_ uri: String) throws(StackError) {
            guard uri.hasPrefix("postgres:") || uri.hasPrefix("postgresql:") else { return nil }
            guard let scheme = uri.firstRange(of: "://") else {
                throw StackError(
                    .database, "DATABASE_URI is no URI: use postgresql://user@host:port/database")
            }
            self.scheme = uri[..<scheme.upperBound]
            let rest = uri[scheme.upperBound...]
            // An unescaped `/` or `?` in a password ends the host part for libpq, too.
            authority = rest.prefix { $0 != "/" && $0 != "?" }
            path = rest[authority.endIndex...].prefix { $0 != "?" }
            query = rest[path.endIndex...].dropFirst().split(separator: "&")
        }

        static func text(of query: [some StringProtocol]) -> String {
            query.isEmpty ? "" : "?" + query.joined(separator: "&")
        }
    }
}
