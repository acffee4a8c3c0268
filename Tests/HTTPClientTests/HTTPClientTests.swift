import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct HTTPClientTests {
    private static func answer(_ body: String, status: String = "200 OK") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// A server that answers every request of a connection with the request's own text.
    private static func echo() throws -> RawServer {
        try RawServer { connection in
            while let request = connection.request() { connection.send(answer(request)) }
        }
    }

    private func text(_ response: HTTPClientResponse) -> String {
        String(decoding: response.body, as: UTF8.self)
    }

    @Test func sendsMethodFieldsAndBodyAndNothingThatWasNotAskedFor() async throws {
        let server = try Self.echo()
        let client = try HTTPClient()
        defer { client.close() }
        let response = try await client.send(
            HTTPClientRequest(
                method: "POST", url: server.url("/sync/stream?a=1"),
                fields: ["Authorization": "Token t", "Content-Type": "application/json", "X-Empty": ""],
                body: Array(#"{"x":1}"#.utf8), connectTimeout: TestOptions.deadline,
                idleTimeout: TestOptions.deadline))
        let sent = text(response)
        #expect(sent.hasPrefix("POST /sync/stream?a=1 HTTP/1.1\r\n"))
        #expect(sent.contains("\r\nAuthorization: Token t\r\n"))
        #expect(sent.contains("\r\nContent-Type: application/json\r\n"))
        #expect(sent.contains("\r\nX-Empty:\r\n"))
        #expect(sent.contains("\r\nContent-Length: 7\r\n"))
        #expect(!sent.contains("Expect"))
        #expect(sent.hasSuffix("\r\n\r\n{\"x\":1}"))
    }

    @Test(arguments: ["PUT", "DELETE", "PATCH", "GET", "POST"])
    func methodsWithoutBodyCarryNoContentType(_ method: String) async throws {
        let server = try Self.echo()
        let client = try HTTPClient()
        defer { client.close() }
        let sent = text(try await client.send(HTTPClientRequest(method: method, url: server.url())))
        #expect(sent.hasPrefix("\(method) / HTTP/1.1\r\n"))
        #expect(!sent.lowercased().contains("content-type"))
    }

    @Test func largeBodyIsSentWithoutWaitingForAContinue() async throws {
        let server = try RawServer { connection in
            guard let request = connection.request(), let end = request.range(of: "\r\n\r\n") else { return }
            connection.send(
                Self.answer("\(request[end.upperBound...].utf8.count) \(request[..<end.lowerBound])"))
        }
        let client = try HTTPClient()
        defer { client.close() }
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 3_000_000)
        let response = try await client.send(
            HTTPClientRequest(
                method: "POST", url: server.url(), body: body, connectTimeout: TestOptions.deadline,
                idleTimeout: TestOptions.deadline))
        let sent = text(response)
        #expect(sent.hasPrefix("3000000 POST / HTTP/1.1\r\n"))
        // libcurl asks for the permission to send a body of this size, and sends it a second later without.
        #expect(!sent.lowercased().contains("expect"))
    }

    @Test func statusesOtherThan200AreAnswersWithTheirBody() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(
                "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nX-Twice: 1\r\nx-twice: 2\r\n"
                    + "Content-Length: 15\r\n\r\n{\"error\":\"no\"}\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let response = try await client.send(HTTPClientRequest(url: server.url()))
        #expect(response.status == 401)
        #expect(response.fields["content-type"] == "application/json")
        #expect(response.fields.values("X-Twice") == ["1", "2"])
        #expect(text(response) == "{\"error\":\"no\"}\n")
    }

    @Test func redirectsAreNotFollowed() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let response = try await client.send(HTTPClientRequest(url: server.url()))
        #expect(response.status == 302)
        #expect(server.connections == 1)
    }

    @Test func interimAnswersAreSkipped() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + Self.answer("done"))
        }
        let client = try HTTPClient()
        defer { client.close() }
        let response = try await client.send(HTTPClientRequest(url: server.url()))
        #expect(response.status == 200)
        #expect(response.fields["link"] == nil)
        #expect(text(response) == "done")
    }

    @Test func connectionIsUsedAgainAfterACompleteBody() async throws {
        let server = try Self.echo()
        let client = try HTTPClient()
        defer { client.close() }
        for _ in 0..<5 {
            let response = try await client.send(HTTPClientRequest(url: server.url()))
            #expect(response.status == 200)
        }
        #expect(server.connections == 1)
    }

    @Test func sixteenRequestsRunAtOnce() async throws {
        let all = BlockingGate()
        let server = try RawServer { connection in
            guard let request = connection.request() else { return }
            all.wait()
            connection.send(Self.answer(String(request.split(separator: " ")[1])))
        }
        let client = try HTTPClient()
        defer { client.close() }
        let bodies = try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<16 {
                group.addTask {
                    let response = try await client.send(HTTPClientRequest(url: server.url("/\(index)")))
                    return String(decoding: response.body, as: UTF8.self)
                }
            }
            // Nobody is answered before all sixteen are here.
            try await wait(for: "all requests", read: { all.arrivals }) { $0 == 16 }
            all.open()
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(bodies == Set((0..<16).map { "/\($0)" }))
    }

    @Test func bodyBeyondTheLimitIsRefused() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(Self.answer(String(repeating: "x", count: 1001)))
        }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url()), bodyLimit: 1000)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func refusedConnectionIsTold() async throws {
        let port = try RefusingPort()
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: "http://127.0.0.1:\(port.number)/"))
        }
        #expect(error?.code == .couldNotConnect)
    }

    @Test func connectionClosedWithoutAnAnswerIsCut() async throws {
        let server = try RawServer { connection in _ = connection.request() }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url()))
        }
        #expect(error?.code == .cut)
    }

    @Test func totalTimeoutEndsAnAnswerThatHasBegun() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead + "1\r\nx\r\n")
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url(), totalTimeout: .milliseconds(300)))
        }
        #expect(error?.code == .timedOut)
    }

    @Test(arguments: ["", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "nonsense"])
    func addressesOfOtherKindsAreRefused(_ url: String) async throws {
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: url))
        }
        #expect(error?.code == .badURL)
    }

    @Test func lineBreaksInFieldsAreRefused() async throws {
        let server = try Self.echo()
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(
                HTTPClientRequest(method: "GET\r\nX: y", url: server.url()))
        }
        #expect(error?.code == .badRequest)
        #expect(server.connections == 0)
    }

    // MARK: Rejected addresses

    private static func request(_ url: String, rejecting ranges: IPRanges) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        request.rejectedAddresses = ranges
        return request
    }

    @Test func rejectedAddressesAreNotConnectedTo() async throws {
        let server = try Self.echo()
        let client = try HTTPClient()
        defer { client.close() }
        // However they are written.
        for host in ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"] {
            let error = await #expect(throws: HTTPClientError.self) {
                try await client.send(
                    Self.request("http://\(host):\(server.port)/", rejecting: .local))
            }
            #expect(error?.code == .rejectedAddress, "\(host): \(error as Any)")
        }
        #expect(server.connections == 0)
        let others = IPRanges([try #require(IPRange("10.0.0.0/8"))])
        #expect(try await client.send(Self.request(server.url(), rejecting: others)).status == 200)
    }

    @Test func aKeptConnectionIsNoWayAroundThat() async throws {
        let server = try Self.echo()
        let client = try HTTPClient()
        defer { client.close() }
        for _ in 0..<2 { #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200) }
        #expect(server.connections == 1)
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(Self.request(server.url(), rejecting: .local))
        }
        #expect(error?.code == .rejectedAddress)
    }

    /// In a process of its own, because the environment is one for all.
    @Test func aProxyIsNoWayAroundThat() async {
        await #expect(processExitsWith: .success) {
            let proxy = try HTTPClientTests.echo()
            setenv("http_proxy", proxy.url(), 1)
            let client = try HTTPClient()
            let usual = try await client.send(HTTPClientRequest(url: "http://192.0.2.1/"))
            #expect(usual.status == 200 && proxy.connections == 1)
            let error = await #expect(throws: HTTPClientError.self) {
                try await client.send(HTTPClientTests.request("http://192.0.2.1/", rejecting: .local))
            }
            #expect(error?.code == .rejectedAddress && proxy.connections == 1)
        }
    }
}
