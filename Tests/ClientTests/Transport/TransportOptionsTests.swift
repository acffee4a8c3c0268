import Foundation
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Proxies and certificates as an app gives them (client-api 1.7), over real sockets.
@Suite(.patient()) struct TransportOptionsTests {
    /// A service and a backend in one; each answer ends its connection.
    private static func server(_ seen: Lock<[String]>) throws -> RawServer {
        try RawServer { connection in
            guard let request = connection.request() else { return }
            seen.withLock { $0.append(request) }
            let words = request.prefix { $0 != "?" }.split(separator: " ")
            let body: String
            switch words.prefix(2).joined(separator: " ") {
            case "POST /sync/stream":
                connection.send(String.chunkedHead)
                connection.chunk(SyncLines.tokenExpires(in: 3600) + "\n")
                return connection.waitForHangUp()
            case "GET /write-checkpoint2.json": body = #"{"data":{"write_checkpoint":"1"}}"#
            case "GET /api/auth/token": body = #"{"token":"test-token","powersync_url":"http://127.0.0.1:1"}"#
            default: body = #"{"results":[{"status":"success"}]}"#
            }
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(body)")
        }
    }

    /// The options of a connection that goes that way.
    private func options(
        _ transport: TransportOptions, logger: SyncRequestLoggerConfiguration? = nil
    ) -> ConnectOptions {
        ConnectOptions(
            crudThrottle: 0.001, retryDelay: 0.02,
            clientConfiguration: SyncClientConfiguration(requestLogger: logger, transport: transport))
    }

    private func downloadError(_ database: any PowerSyncDatabaseProtocol) async throws -> PowerSyncError {
        for await status in database.currentStatus.asFlow() {
            guard let error = status.downloadError else { continue }
            return try #require(error as? PowerSyncError)
        }
        throw ScriptError("the status ended without an error")
    }

    // MARK: Proxies

    @Test func everyRequestGoesThroughTheProxy() async throws {
        let seen = Lock<[String]>([])
        let (server, proxy) = (try Self.server(seen), try TestProxy(login: "user:secret"))
        let transport = TransportOptions(proxy: proxy.url(login: "user:secret"))
        let connector = BackendConnector(
            url: server.url(), user: "alice", endpoint: server.url(), transport: transport)
        let test = try TestDatabase()
        try await test.insertUser("A")
        try await test.database.connect(connector: connector, options: options(transport))
        let origin = "http://127.0.0.1:\(server.port)"
        let wanted = [
            "GET \(origin)/api/auth/token?user_id=alice ", "POST \(origin)/sync/stream ",
            "POST \(origin)/api/data ", "GET \(origin)/write-checkpoint2.json?client_id=",
        ]
        try await wait(for: "all requests", read: { proxy.lines }) { lines in
            wanted.allSatisfy { start in lines.contains { $0.hasPrefix(start) } }
        }
        try await test.database.close()
        // And none goes past it.
        #expect(seen.withLock { $0.allSatisfy { $0.contains("\r\nVia: 1.1 test\r\n") } })
    }

    @Test func aProxyThatRefusesIsToldApartAndNobodySeesItsPassword() async throws {
        let (server, proxy) = (try RawServer { _ in }, try TestProxy(login: "user:right"))
        let transport = TransportOptions(proxy: proxy.url(login: "user:secret"))
        let connector = BackendConnector(
            url: server.url(), user: "alice", endpoint: server.url(), transport: transport)
        let fetching = await #expect(throws: PowerSyncError.self) { try await connector.fetchCredentials() }
        #expect(fetching?.code == .proxyRefused)
        #expect(fetching?.httpStatus == 407)

        let logged = Lock<[String]>([])
        let logger = SyncRequestLoggerConfiguration(requestLevel: .all) { line in
            logged.withLock { $0.append(line) }
        }
        let test = try TestDatabase()
        let logging = options(transport, logger: logger)
        try await test.database.connect(
            connector: TestConnector(endpoint: server.url()), options: logging)
        let error = try await downloadError(test.database)
        try await test.database.close()
        #expect(error.code == .proxyRefused)
        #expect(error.httpStatus == 407)
        #expect(
            error.localizedDescription == """
                The proxy does not let requests to the service through: \
                POST http://127.0.0.1:\(server.port)/sync/stream failed with status code 407
                """)
        #expect(server.connections == 0)
        let shown = [
            shownTexts(of: error), shownTexts(of: fetching as Any), shownTexts(of: logging),
            shownTexts(of: connector),
        ]
        let lines = logged.withLock { $0 } + test.log.lines.map(\.message)
        #expect(lines.contains { $0.hasPrefix("Got response code 407 on ") })
        for text in shown + lines { #expect(!text.contains("secret"), "\(text)") }
    }

    // MARK: Certificates

    @Test(.enabled(if: TLSServer.isAvailable, "the program openssl plays the server"))
    func anAuthorityOfTheAppsOwnIsTrusted() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(for: "IP:127.0.0.1", of: authority)
        let trusting = TransportOptions(certificateAuthorities: .file(authority.certificate))
        let request = SyncHTTPRequest(method: "GET", url: server.url, headers: [])
        #expect(try await HTTPClientTransport(trusting).send(request).status == 200)
        // The backend is reached, and answers with a page.
        let connector = BackendConnector(url: server.url, transport: trusting)
        let page = await #expect(throws: PowerSyncError.self) { try await connector.fetchCredentials() }
        #expect(page?.code == .protocolViolation)

        let stranger = BackendConnector(url: server.url)
        let told = await #expect(throws: PowerSyncError.self) { try await stranger.fetchCredentials() }
        #expect(told?.code == .connectionInsecure)
        let test = try TestDatabase()
        try await test.database.connect(
            connector: TestConnector(endpoint: server.url), options: ConnectOptions(retryDelay: 0.02))
        let error = try await downloadError(test.database)
        try await test.database.close()
        #expect(error.code == .connectionInsecure)
        let text = error.localizedDescription
        let start = "The connection to the service cannot be secured: SSL certificate problem"
        #expect(text.hasPrefix(start), "\(text)")
        #expect(text.contains("certificateAuthorities of TransportOptions"), "\(text)")
    }

    @Test(.enabled(if: TLSServer.isAvailable, "the program openssl plays the server"))
    func aServerThatWantsACertificateGetsIt() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(for: "IP:127.0.0.1", of: authority, wantsCertificates: true)
        let own = try await authority.client("client", password: "secret")
        let key = try String(contentsOfFile: own.key, encoding: .utf8)
        var transport = TransportOptions(
            certificateAuthorities: .file(authority.certificate),
            clientCertificate: .init(
                certificate: .file(own.certificate), key: .text(key), password: "secret"))
        let request = SyncHTTPRequest(method: "GET", url: server.url, headers: [])
        #expect(try await HTTPClientTransport(transport).send(request).status == 200)

        let stranger = try await TestAuthority()
        let foreign = try await stranger.client("foreign")
        transport.clientCertificate = .init(
            certificate: .file(foreign.certificate), key: .file(foreign.key))
        let connector = BackendConnector(url: server.url, transport: transport)
        let refused = await #expect(throws: PowerSyncError.self) { try await connector.fetchCredentials() }
        #expect(refused?.code == .clientCertificateRefused)

        transport.clientCertificate = .init(certificate: .file(own.certificate), key: .text(key))
        let unread = BackendConnector(url: server.url, transport: transport)
        let error = await #expect(throws: PowerSyncError.self) { try await unread.fetchCredentials() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.localizedDescription.hasPrefix("The transport options cannot be used: ") == true)
    }

    // MARK: What cannot be used

    @Test func optionsThatCannotBeUsedAreSaidAtOnce() async throws {
        let folder = try TemporaryDirectory()
        let missing = TransportOptions(certificateAuthorities: .file(folder.file("missing.pem")))
        let wrong = TransportOptions(proxy: "ftp://user:secret@127.0.0.1")
        for (transport, code, text) in [
            (
                missing, PowerSyncError.Code.fileAccess,
                "A file of the transport options cannot be read: \(folder.file("missing.pem")): "
            ), (wrong, .invalidArgument, "The transport options cannot be used: The proxy is no address of "),
        ] {
            let test = try TestDatabase()
            let connecting = await #expect(throws: PowerSyncError.self) {
                try await test.database.connect(connector: TestConnector(), options: options(transport))
            }
            let connector = BackendConnector(url: "http://127.0.0.1:1", transport: transport)
            let fetching = await #expect(throws: PowerSyncError.self) {
                try await connector.fetchCredentials()
            }
            for error in [connecting, fetching] {
                #expect(error?.code == code)
                #expect(error?.localizedDescription.hasPrefix(text) == true, "\(error as Any)")
                #expect(!shownTexts(of: error as Any).contains("secret"))
            }
            try await test.database.close()
        }
    }

    @Test func optionsAreShownWithoutPasswordsAndKeys() {
        let transport = TransportOptions(
            proxy: "http://user:sec@ret/secret@proxy.example.com:3128", noProxy: ["localhost", "10.0.0.0/8"],
            certificateAuthorities: .text("authority"),
            clientCertificate: .init(
                certificate: .file("/etc/app/client.pem"), key: .text("secret"), password: "secret"))
        #expect(
            transport.description == """
                TransportOptions(proxy: http://proxy.example.com:3128, noProxy: localhost,10.0.0.0/8, \
                certificateAuthorities: (text), clientCertificate: /etc/app/client.pem)
                """)
        let values: [Any] = [
            transport, transport.clientCertificate as Any, transport.clientCertificate?.key as Any,
            SyncClientConfiguration(transport: transport),
            ConnectOptions(clientConfiguration: SyncClientConfiguration(transport: transport)),
            HTTPClientConfiguration(transport),
        ]
        for value in values {
            let text = shownTexts(of: value)
            #expect(!text.contains("secret") && !text.contains("ret/"), "\(text)")
        }
        #expect(TransportOptions().description == "TransportOptions()")
    }

    /// A mistake that is easily made.
    @Test(arguments: ["-----BEGIN PRIVATE KEY----- secret", "secret\n"])
    func aKeyThatIsGivenForAPathIsNotShown(_ text: String) async throws {
        let transport = TransportOptions(
            clientCertificate: .init(certificate: .file(text), key: .file(text)))
        let connector = BackendConnector(url: "http://127.0.0.1:1", transport: transport)
        let error = await #expect(throws: PowerSyncError.self) { try await connector.fetchCredentials() }
        #expect(error?.code == .invalidArgument)
        for value in [transport, transport.clientCertificate as Any, error as Any] as [Any] {
            #expect(!shownTexts(of: value).contains("secret"))
        }
    }

    @Test func nothingIsSaidUnlessTheAppSaysIt() {
        #expect(SyncClientConfiguration().transport == nil)
        #expect(SyncClientConfiguration(transport: TransportOptions()).acceptsCompression)
        let configuration = HTTPClientConfiguration(nil)
        #expect(configuration.proxy == nil && configuration.noProxy == nil)
        #expect(configuration.authorities == nil && configuration.identity == nil)
        #expect(HTTPClientConfiguration(TransportOptions(proxy: "", noProxy: [])).proxy == "")
        #expect(HTTPClientConfiguration(TransportOptions(noProxy: ["a", "b"])).noProxy == "a,b")
    }
}
