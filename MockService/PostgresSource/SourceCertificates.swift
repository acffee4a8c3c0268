import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Certificates that a configuration holds as text (service 8).
package struct SourceCertificates: Sendable, Equatable {
    /// Those that the server's certificate may be signed by, in PEM.
    package var authorities: String?
    /// Our own certificate, in PEM.
    package var certificate: String?
    /// Its key, in PEM.
    package var key: String?

    /// Makes certificates of their texts.
    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
    }

    /// Why there are no files.
    private struct Unwritable: Error, CustomStringConvertible {
        let description: String
    }

    /// Certificates in files that are gone with this value, however the process ends.
    package final class Files: Sendable {
        /// The keywords of libpq that name the files.
        let parameters: [String: String]
        private let folder: TemporaryDirectory
        private let remover: ChildProcess

        fileprivate init(_ texts: [(keyword: String, text: String)]) throws {
            folder = try TemporaryDirectory(prefix: "powersync-certificates-")
            remover = try LifeLine.guardFolder(folder.path)
            var parameters: [String: String] = [:]
            for (keyword, text) in texts {
                let path = "\(folder.path)/\(keyword).pem"
                // The folder is ours alone; libpq wants that of a key's file, too.
                guard
                    FileManager.default.createFile(
                        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
                else { throw Unwritable(description: "the certificates cannot be written to \(folder.path)") }
                parameters[keyword] = path
            }
            self.parameters = parameters
        }
    }

    /// Writes the texts into files.
    package func inFiles() throws -> Files {
        try Files(
            [("sslrootcert", authorities), ("sslcert", certificate), ("sslkey", key)].compactMap {
                keyword, text in
                text.map { (keyword, $0) }
            })
    }

    /// The authorities that the system trusts: what `SSL_CERT_FILE` names, else where distributions keep them; nil if there
    /// are none.
    ///
    /// libpq looks for `~/.postgresql/root.crt` alone, and knows the system's only from version 16 on.
    package static func systemAuthorities(_ environment: [String: String], exists: (String) -> Bool)
        -> String?
    {
        if let named = environment["SSL_CERT_FILE"], !named.isEmpty { return named }
        return [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/ca-bundle.pem",
            "/etc/ssl/cert.pem",
        ].first(where: exists)
    }
}
