import Foundation
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPClient

@Suite(
    .patient(), .enabled(if: TLSServer.isAvailable, "the program openssl plays the server"))
struct HTTPClientTLSTests {
    private func status(
        _ url: String, trusting certificates: String? = nil
    ) async throws -> Result<Int, HTTPClientError> {
        let client = try HTTPClient(driving: CurlLoop(certificates: certificates))
        defer { client.close() }
        do {
            return .success(try await client.send(HTTPClientRequest(url: url)).status)
        } catch let error as HTTPClientError {
            return .failure(error)
        }
    }

    @Test func aCertificateThatIsTrustedSecuresTheConnection() async throws {
        let server = try await TLSServer(for: "IP:127.0.0.1")
        #expect(try await status(server.url, trusting: server.certificate).get() == 200)
    }

    @Test func aCertificateThatNobodyTrustsIsRefusedAndSaidSo() async throws {
        let server = try await TLSServer(for: "IP:127.0.0.1")
        guard case .failure(let error) = try await status(server.url) else {
            Issue.record("the connection was made")
            return
        }
        #expect(error.code == .tls)
        #expect(error.message.lowercased().contains("certificate"), "\(error)")
    }

    @Test func aTrustedCertificateForAnotherNameIsRefused() async throws {
        let server = try await TLSServer(for: "DNS:example.org")
        guard case .failure(let error) = try await status(server.url, trusting: server.certificate) else {
            Issue.record("the connection was made")
            return
        }
        #expect(error.code == .tls)
        #expect(error.message.contains("127.0.0.1"), "\(error)")
    }

    /// In a process of its own, because the environment is one for all.
    @Test func theAnswerComesThroughAProxy() async {
        await #expect(processExitsWith: .success) {
            let server = try await TLSServer(for: "IP:192.0.2.1")
            let asked = Lock("")
            let proxy = try RawServer { connection in
                asked.withLock { $0 = connection.request() ?? "" }
                connection.send("HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n")
                connection.relay(to: server.port)
            }
            setenv("https_proxy", proxy.url(), 1)
            let client = try HTTPClient(driving: CurlLoop(certificates: server.certificate))
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
        guard case .failure(let error) = try await status("https://127.0.0.1:\(server.port)/") else {
            Issue.record("the connection was made")
            return
        }
        #expect(error.code == .tls)
    }
}
