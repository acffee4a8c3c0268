import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(
    .patient(), .enabled(if: TLSServer.isAvailable, "the program openssl plays the server"))
struct HTTPClientTLSTests {
    private func status(
        _ url: String, _ configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) async throws -> Result<Int, HTTPClientError> {
        let client = try HTTPClient(configuration)
        defer { client.close() }
        do {
            return .success(try await client.send(HTTPClientRequest(url: url)).status)
        } catch let error as HTTPClientError {
            return .failure(error)
        }
    }

    private static func trusting(
        _ authorities: HTTPClientConfiguration.PEM, as identity: HTTPClientConfiguration.Identity? = nil
    ) -> HTTPClientConfiguration {
        var configuration = HTTPClientConfiguration()
        configuration.authorities = authorities
        configuration.identity = identity
        return configuration
    }

    private func failure(
        _ url: String, _ configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) async throws -> HTTPClientError {
        guard case .failure(let error) = try await status(url, configuration) else {
            throw NoFailure(url: url)
        }
        return error
    }

    private struct NoFailure: Error {
        let url: String
    }

    // MARK: Whom the client trusts

    @Test func aCertificateThatIsTrustedSecuresTheConnection() async throws {
        let server = try await TLSServer(for: "IP:127.0.0.1")
        #expect(try await status(server.url, Self.trusting(.file(server.authority))).get() == 200)
    }

    @Test func aCertificateThatNobodyTrustsIsRefusedAndSaidSo() async throws {
        let server = try await TLSServer(for: "IP:127.0.0.1")
        let error = try await failure(server.url)
        #expect(error.code == .untrustedAuthority)
        #expect(error.message.lowercased().contains("certificate"), "\(error)")
    }

    @Test func anAuthorityIsTrustedFromAFileAndAsAText() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(for: "IP:127.0.0.1", of: authority)
        let text = try String(contentsOfFile: authority.certificate, encoding: .utf8)
        for pem in [HTTPClientConfiguration.PEM.file(authority.certificate), .text(text)] {
            #expect(try await status(server.url, Self.trusting(pem)).get() == 200)
        }
        #expect(try await failure(server.url).code == .untrustedAuthority)
        let other = try await TestAuthority()
        let error = try await failure(server.url, Self.trusting(.file(other.certificate)))
        #expect(error.code == .untrustedAuthority)
    }

    @Test func whatIsNoCertificateTrustsNobody() async throws {
        let server = try await TLSServer(for: "IP:127.0.0.1")
        for pem in [HTTPClientConfiguration.PEM.text("-----BEGIN CERTIFICATE-----"), .file("/dev/null")] {
            #expect(try await failure(server.url, Self.trusting(pem)).code == .badConfiguration)
        }
    }

    @Test func aTrustedCertificateForAnotherNameIsRefused() async throws {
        let server = try await TLSServer(for: "DNS:example.org")
        let error = try await failure(server.url, Self.trusting(.file(server.authority)))
        #expect(error.code == .tls)
        #expect(error.message.contains("127.0.0.1"), "\(error)")
    }

    // MARK: Who the client is

    @Test func aServerThatWantsACertificateGetsIt() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(for: "IP:127.0.0.1", of: authority, wantsCertificates: true)
        let (plain, locked) = (
            try await authority.client("plain"), try await authority.client("locked", password: "secret")
        )
        let texts = try [plain.certificate, plain.key].map { try String(contentsOfFile: $0, encoding: .utf8) }
        for identity in [
            HTTPClientConfiguration.Identity(certificate: .file(plain.certificate), key: .file(plain.key)),
            .init(certificate: .text(texts[0]), key: .text(texts[1])),
            // Both in one.
            .init(certificate: .text(texts.joined())),
            .init(certificate: .file(locked.certificate), key: .file(locked.key), password: "secret"),
        ] {
            let configuration = Self.trusting(.file(authority.certificate), as: identity)
            #expect(try await status(server.url, configuration).get() == 200)
        }
        // OpenSSL tells of the lack as of anything that fails in this handshake.
        #expect(try await failure(server.url, Self.trusting(.file(authority.certificate))).code == .tls)
    }

    @Test func aCertificateThatTheServerDoesNotAcceptIsToldApart() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(for: "IP:127.0.0.1", of: authority, wantsCertificates: true)
        let stranger = try await TestAuthority()
        let foreign = try await stranger.client("foreign")
        let error = try await failure(
            server.url,
            Self.trusting(
                .file(authority.certificate),
                as: .init(certificate: .file(foreign.certificate), key: .file(foreign.key))))
        #expect(error.code == .identityRefused, "\(error)")
    }

    @Test(arguments: ["mistaken", nil]) func aKeyThatCannotBeReadIsSaidSo(_ password: String?) async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(for: "IP:127.0.0.1", of: authority)
        let locked = try await authority.client("locked", password: "secret")
        let key = try String(contentsOfFile: locked.key, encoding: .utf8)
        for pem in [HTTPClientConfiguration.PEM.file(locked.key), .text(key)] {
            let error = try await failure(
                server.url,
                Self.trusting(
                    .file(authority.certificate),
                    as: .init(certificate: .file(locked.certificate), key: pem, password: password)))
            #expect(error.code == .badConfiguration, "\(error)")
            #expect(!"\(error)".contains("secret") && !"\(error)".contains("mistaken"), "\(error)")
        }
    }

    // MARK: On the way

    /// In a process of its own, because the environment is one for all.
    @Test func theAnswerComesThroughAProxy() async {
        await #expect(processExitsWith: .success) {
            let server = try await TLSServer(for: "IP:192.0.2.1")
            defer { server.stop() }
            let asked = Lock("")
            let proxy = try RawServer { connection in
                asked.withLock { $0 = connection.request() ?? "" }
                connection.send("HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n")
                connection.relay(to: server.port)
            }
            for name in ["HTTPS_PROXY", "no_proxy", "NO_PROXY"] { unsetenv(name) }
            setenv("https_proxy", proxy.url(), 1)
            var configuration = HTTPClientConfiguration()
            configuration.authorities = .file(server.authority)
            let client = try HTTPClient(configuration)
            let answer = try await client.send(HTTPClientRequest(url: "https://192.0.2.1/"))
            #expect(asked.withLock { $0.hasPrefix("CONNECT 192.0.2.1:443 ") })
            #expect(answer.status == 200 && answer.fields["content-type"]?.hasPrefix("text/html") == true)
            #expect(answer.fields["via"] == nil)
        }
    }

    @Test func aServerWithoutTLSIsRefused() async throws {
        let server = try RawServer { connection in
            _ = connection.receive()
            connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        }
        #expect(try await failure("https://127.0.0.1:\(server.port)/").code == .tls)
    }
}
