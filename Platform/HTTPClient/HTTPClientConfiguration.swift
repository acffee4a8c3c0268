import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How a client gets to servers, whom it trusts, and who it is to them.
///
/// What is not said stays as libcurl has it: the proxies of the environment, the authorities of the system, and no
/// certificate of the client's own.
package struct HTTPClientConfiguration: Sendable {
    /// Certificates or a key as PEM (RFC 7468).
    package enum PEM: Sendable {
        /// A file, which is read when a connection is made.
        case file(String)
        /// The text itself.
        case text(String)

        /// Whether something is PEM and not the path of a file: a mistake that is easily made, with a key that is shown.
        package static func isText(_ path: String) -> Bool {
            path.utf8.contains { $0 == 0x0A || $0 == 0x0D } || path.contains(start)
        }

        /// How a certificate or a key begins.
        private static let start = "-----BEGIN"

        fileprivate func check() throws(HTTPClientError) {
            switch self {
            case .file(let path) where Self.isText(path):
                throw HTTPClientError(
                    .badConfiguration, "The text of a certificate or key was given for a file")
            case .file(let path):
                guard access(path, R_OK) != 0 else { return }
                throw HTTPClientError(.unreadableFile, "\(path): \(SystemError.text(of: errno))")
            case .text(let text):
                guard !text.contains(Self.start) else { return }
                throw HTTPClientError(
                    .badConfiguration, "The text of a certificate or key lacks \(Self.start)")
            }
        }
    }

    /// What the client shows to servers that ask for a certificate.
    package struct Identity: Sendable {
        /// The client's certificate, and behind it those that lead to its authority.
        package var certificate: PEM
        /// The key of the certificate; nil if it stands beside it.
        package var key: PEM?
        /// What the key is encrypted with; nil for a key that is not.
        package var password: String?

        /// Makes an identity of its parts.
        package init(certificate: PEM, key: PEM? = nil, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }

    /// The proxy of all requests, as `http://user:password@proxy.example:3128`; empty for none, nil for those of the
    /// environment.
    package var proxy: String?
    /// The hosts that are reached without a proxy, separated by commas, in the form of `no_proxy`; nil for those of the
    /// environment, or for none if there is a proxy that is not from there.
    package var noProxy: String?
    /// The only authorities that are trusted; nil for the system's.
    package var authorities: PEM?
    /// What the client shows to servers that ask for a certificate.
    package var identity: Identity?

    /// Makes a configuration that says nothing.
    package init() {}

    /// Looks for what could not be used, as far as that is seen without a server.
    ///
    /// - Throws: `HTTPClientError` with `badConfiguration` or `unreadableFile`.
    package func check() throws(HTTPClientError) {
        if let proxy, !proxy.isEmpty { try CurlTarget.check(proxy: proxy) }
        for pem in [authorities, identity?.certificate, identity?.key] { try pem?.check() }
    }
}

extension HTTPClientConfiguration: CustomStringConvertible, CustomReflectable {
    /// The name of the type: passwords and keys are below.
    package var description: String { "HTTPClientConfiguration" }

    /// Nothing, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
