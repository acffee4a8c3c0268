import PowerSyncHTTPClient

/// How requests get to their server, whom they trust, and by which certificate the client is known.
///
/// What is not said is as the system has it. A proxy is then that of the environment: `http_proxy`, `https_proxy` or
/// `HTTPS_PROXY`, else `all_proxy` or `ALL_PROXY`, but for the hosts of `no_proxy` or `NO_PROXY` and for this machine.
/// `HTTP_PROXY` in capitals is not read, since web servers set it from a header of whoever asks them.
///
/// Options that cannot be used end in an error, which `connect` throws, and a ``BackendConnector`` with its first
/// request: ``PowerSyncError/Code/fileAccess`` for a file that cannot be read, else
/// ``PowerSyncError/Code/invalidArgument``.
///
/// Neither an error nor a log shows passwords and keys; the description of the options leaves them out.
public struct TransportOptions: Sendable {
    /// Certificates or a key as PEM.
    public enum PEM: Sendable {
        /// A file, which is read when a connection is made: what is renewed there is used from the next one on.
        ///
        /// Authorities may be kept for a day.
        case file(String)
        /// The text itself, from `-----BEGIN` on.
        case text(String)
    }

    /// What the client shows to servers that ask for a certificate.
    public struct ClientCertificate: Sendable {
        /// The certificate, and behind it those that lead to its authority.
        public var certificate: PEM
        /// The key of the certificate; nil if it stands beside it.
        public var key: PEM?
        /// What the key is encrypted with; nil for a key that is not.
        public var password: String?

        /// Makes it of its parts.
        ///
        /// - Parameters:
        ///   - certificate: the certificate, and behind it those that lead to its authority.
        ///   - key: the key of the certificate; nil if it stands beside it.
        ///   - password: what the key is encrypted with; nil for a key that is not.
        public init(certificate: PEM, key: PEM? = nil, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }

    /// The proxy of all requests; empty for none, nil for those of the environment.
    ///
    /// An address such as `http://user:password@proxy.example.com:3128`, of `http`, `https`, `socks5`, or of `socks5h`,
    /// by which the proxy looks names up. Name and password are percent-encoded. Without a port it is 1080, for `https`
    /// 443.
    public var proxy: String?
    /// The hosts that are reached without a proxy; nil for those of the environment, or for none where there is a
    /// ``proxy``.
    ///
    /// Names, with all below them, addresses, or ranges such as `10.0.0.0/8`.
    public var noProxy: [String]?
    /// The authorities that are trusted, in place of the system's; nil for those.
    ///
    /// They are trusted with the certificate of a proxy, too.
    public var certificateAuthorities: PEM?
    /// What the client shows to servers that ask for a certificate; nil for nothing.
    public var clientCertificate: ClientCertificate?

    /// Makes options of their parts.
    ///
    /// - Parameters:
    ///   - proxy: the proxy of all requests; empty for none, nil for those of the environment.
    ///   - noProxy: the hosts that are reached without a proxy; nil for those of the environment, or for none where a
    ///     proxy is given.
    ///   - certificateAuthorities: the authorities that are trusted, in place of the system's; nil for those.
    ///   - clientCertificate: what the client shows to servers that ask for a certificate; nil for nothing.
    public init(
        proxy: String? = nil, noProxy: [String]? = nil, certificateAuthorities: PEM? = nil,
        clientCertificate: ClientCertificate? = nil
    ) {
        self.proxy = proxy
        self.noProxy = noProxy
        self.certificateAuthorities = certificateAuthorities
        self.clientCertificate = clientCertificate
    }
}

// MARK: What is shown

extension TransportOptions: CustomStringConvertible, CustomReflectable {
    /// The options without passwords and keys.
    public var description: String {
        let parts = shown.map { "\($0.label): \($0.text)" }
        return "TransportOptions(\(parts.joined(separator: ", ")))"
    }

    /// The options as `dump` shows them, without passwords and keys.
    public var customMirror: Mirror {
        Mirror(self, children: shown.map { (label: $0.label, value: $0.text) as Mirror.Child })
    }

    private var shown: [(label: String, text: String)] {
        let all: [(label: String, text: String?)] = [
            ("proxy", proxy.map(ShownText.address)), ("noProxy", noProxy?.joined(separator: ",")),
            ("certificateAuthorities", certificateAuthorities?.description),
            ("clientCertificate", clientCertificate?.certificate.description),
        ]
        return all.compactMap { part in part.text.map { (label: part.label, text: $0) } }
    }
}

extension TransportOptions.ClientCertificate: CustomStringConvertible, CustomReflectable {
    /// Where the certificate is; never the key or its password.
    public var description: String { "ClientCertificate(\(certificate))" }

    /// Where the certificate is, as `dump` shows it; never the key or its password.
    public var customMirror: Mirror { Mirror(self, children: ["certificate": certificate.description]) }
}

extension TransportOptions.PEM: CustomStringConvertible, CustomReflectable {
    /// The path of the file; of a text only that it is one, also where it was given for a path.
    public var description: String {
        switch self {
        case .file(let path) where !HTTPClientConfiguration.PEM.isText(path): path
        case .file, .text: "(text)"
        }
    }

    /// The same as `dump` shows it.
    public var customMirror: Mirror { Mirror(self, children: ["pem": description]) }
}
