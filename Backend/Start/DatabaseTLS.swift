import PowerSyncPostgres
import PowerSyncSystem

/// How the link to the database is protected, and by which authorities its server is known (backend 7, number 22).
///
/// libpq's own default encrypts where the server offers it and asks nobody whose the server is. To another machine this is
/// `verify-full`, unless an operator says in two places that it shall be less.
package struct DatabaseTLS: Sendable, Hashable {
    /// What of this machine counts beside the keywords of libpq.
    package struct Files: Sendable {
        /// The home of the user, where libpq looks for `.postgresql/root.crt`; nil where there is none.
        package var home: String?
        /// The file of authorities that the environment names (`SSL_CERT_FILE`).
        package var named: String?
        /// Whether a file can be read.
        package var isReadable: @Sendable (String) -> Bool

        /// Makes them of their parts.
        ///
        /// - Parameters:
        ///   - home: the home of the user.
        ///   - named: the file of authorities that the environment names.
        ///   - isReadable: whether a file can be read.
        package init(home: String?, named: String?, isReadable: @escaping @Sendable (String) -> Bool) {
            self.home = home
            self.named = named
            self.isReadable = isReadable
        }

        /// Where systems keep the authorities that they trust: Debian, Fedora, openSUSE, Alpine and macOS.
        fileprivate static let ofSystems = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
        ]

        /// The file in the user's home, if it is there: libpq takes it by itself.
        fileprivate var own: String? { home.map { $0 + "/.postgresql/root.crt" }.flatMap(readable) }

        /// That of the environment, else of the system.
        fileprivate var systems: String? { named ?? Files.ofSystems.lazy.compactMap(readable).first }

        private func readable(_ path: String) -> String? { isReadable(path) ? path : nil }
    }

    /// What wins over the keywords of the connection text, by the names of libpq.
    package let parameters: [String: String]
    /// Whether a connection to another machine proves less than whose it is.
    package let isInsecure: Bool
    /// Whether the certificate of the server is checked.
    private let isVerified: Bool
    /// The file that it is checked by; nil if there is none.
    private let authorities: String?

    /// Decides.
    ///
    /// - Parameters:
    ///   - keywords: those that are effective for libpq: of the text, the environment and a service file.
    ///   - isModeNamed: whether the text itself has a `sslmode`. `prefer` from elsewhere cannot be told from libpq's default,
    ///     and counts as such.
    ///   - allowsInsecure: whether less than `verify-full` is allowed to another machine.
    ///   - files: where authorities are looked for.
    /// - Throws: `BackendError` with `.configuration` where less is said and not allowed.
    package init(
        _ keywords: [String: String], isModeNamed: Bool, allowsInsecure: Bool, files: Files
    ) throws(BackendError) {
        let said = keywords["sslmode"] ?? "prefer"
        let isNamed = isModeNamed || said != "prefer"
        var parameters: [String: String] = [:]
        var mode = said
        var isInsecure = false
        if DatabaseTLS.names(keywords).contains(where: { !DatabaseTLS.isThisMachine($0) }) {
            if !isNamed || said == "verify-full" {
                mode = "verify-full"
                parameters["sslmode"] = mode
            } else if allowsInsecure {
                isInsecure = true
            } else {
                throw .setting(
                    "DATABASE_URI",
                    "leads to another machine with sslmode=\(said), which is no proof of whose that is: say verify-full, "
                        + "or nothing, and sslrootcert=FILE for an authority of your own; DATABASE_TLS_INSECURE=true "
                        + "allows it all the same")
            }
        }
        isVerified = mode.hasPrefix("verify")
        // With a file of authorities a lower mode would check, too (libpq, "Client Verification of Server Certificates").
        let named = keywords["sslrootcert"].flatMap { $0.isEmpty ? nil : $0 } ?? files.own
        if isVerified, named == nil, let systems = files.systems { parameters["sslrootcert"] = systems }
        authorities = named ?? parameters["sslrootcert"]
        self.parameters = parameters
        self.isInsecure = isInsecure
    }

    /// The names and addresses of the places where the server is said to be: of each the host, or the address where there is
    /// one and no host but this machine; empty for libpq's default.
    private static func names(_ keywords: [String: String]) -> [String] {
        func list(_ keyword: String) -> [String] {
            (keywords[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses) = (list("host"), list("hostaddr"))
        if addresses == [""] { return hosts }
        // libpq refuses so many of the one and so many of the other; none of them is to be overlooked.
        guard hosts == [""] || hosts.count == addresses.count else { return hosts + addresses }
        return addresses.enumerated().map { index, address in
            let host = hosts == [""] ? "" : hosts[index]
            // With an address what names this machine is only a name: the folder of a socket, and `localhost`.
            return isThisMachine(host) && !address.isEmpty ? address : host
        }
    }

    private static func isSocket(_ name: String) -> Bool {
        name.isEmpty || name.hasPrefix("/") || name.hasPrefix("@")
    }

    /// Whether nobody else's machine can stand behind a name (RFC 6761 6.3).
    private static func isThisMachine(_ name: String) -> Bool {
        if isSocket(name) { return true }
        if let address = IPAddress(name) { return address.isLoopback }
        let name = name.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// Returns what an operator can do about a server that TLS refuses; nil where an error is about something else.
    ///
    /// - Parameter error: of connecting.
    /// - Returns: a sentence without its end.
    func advice(for error: PostgresError) -> String? {
        guard isVerified, error.code == .unavailable, error.sqlstate == nil else { return nil }
        // Words of libpq and OpenSSL; that another failure has them, too, costs a needless sentence alone.
        let words = error.message.lowercased()
        guard ["ssl", "certificate", "tls"].contains(where: { words.contains($0) }) else { return nil }
        return
            "the server is checked by \(authorities ?? "no authority, none was found"): for an authority of your own "
            + "put sslrootcert=FILE into DATABASE_URI; a lower sslmode, which proves nothing, wants "
            + "DATABASE_TLS_INSECURE=true"
    }
}
