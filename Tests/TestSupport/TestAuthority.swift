import PowerSyncSystem
import Testing

/// A certificate authority of the tests' own, made by the program `openssl`; its files are gone with it.
package final class TestAuthority: Sendable {
    /// The file of its certificate.
    package let certificate: String
    private let key: String
    private let folder: TemporaryDirectory

    /// Makes an authority that signs itself.
    ///
    /// - Throws: When the program does not do what it is told, with its words.
    package init() async throws {
        let folder = try TemporaryDirectory(prefix: "authority-")
        let own = try await Self.make("authority", in: folder, ["-nodes"])
        self.folder = folder
        certificate = own.certificate
        key = own.key
    }

    /// Makes the certificate of a client.
    ///
    /// - Parameters:
    ///   - name: What it is called, and its files.
    ///   - password: What its key is encrypted with; nil for nothing.
    /// - Returns: The files of the certificate and of its key.
    /// - Throws: When the program does not do what it is told, with its words.
    package func client(
        _ name: String, password: String? = nil
    ) async throws -> (certificate: String, key: String) {
        try await Self.make(
            name, in: folder, (password.map { ["-passout", "pass:\($0)"] } ?? ["-nodes"]) + signature)
    }

    /// Makes the certificate of a server, whose files are gone with the authority's.
    ///
    /// - Parameter name: What it is for, as `DNS:db.test`.
    /// - Returns: The files of the certificate and of its key.
    /// - Throws: When the program does not do what it is told, with its words.
    package func server(_ name: String) async throws -> (certificate: String, key: String) {
        try await Self.certify(name, in: folder, by: self)
    }

    /// Makes the certificate of a server.
    ///
    /// - Parameters:
    ///   - name: What it is for, as `IP:127.0.0.1`.
    ///   - folder: Where its files are put.
    ///   - authority: Who signs it; nil for nobody but itself.
    /// - Returns: The files of the certificate and of its key.
    /// - Throws: When the program does not do what it is told, with its words.
    static func certify(
        _ name: String, in folder: TemporaryDirectory, by authority: TestAuthority?
    ) async throws -> (certificate: String, key: String) {
        let more = ["-nodes", "-addext", "subjectAltName=\(name)"]
        return try await make("server", in: folder, more + (authority?.signature ?? []))
    }

    private var signature: [String] { ["-CA", certificate, "-CAkey", key] }

    private static func make(
        _ name: String, in folder: TemporaryDirectory, _ more: [String]
    ) async throws -> (certificate: String, key: String) {
        let (certificate, key) = ("\(folder.path)/\(name).pem", "\(folder.path)/\(name).key")
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=\(name)",
            ] + more, timeout: TestOptions.deadline)
        try #require(made.status == .exited(0), "\(made.error)")
        return (certificate, key)
    }
}
