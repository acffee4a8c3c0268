import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Which way requests go, over real sockets.
@Suite(.patient())
struct ProxyTests {
    /// A server that gives every request the same answer.
    private static func server() throws -> RawServer {
        try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
    }

    private static func client(
        _ proxy: String?, except hosts: String? = nil, trusting authority: String? = nil
    ) throws -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.proxy = proxy
        configuration.noProxy = hosts
        configuration.authorities = authority.map { .file($0) }
        return try HTTPClient(configuration)
    }

    private func failure(
        _ client: HTTPClient, _ request: HTTPClientRequest, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPClientError {
        let error = await #expect(throws: HTTPClientError.self, sourceLocation: sourceLocation) {
            try await client.send(request)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }

    // MARK: Proxies of HTTP

    @Test func aRequestGoesThroughTheProxyThatIsGiven() async throws {
        let (server, proxy) = (try Self.server(), try TestProxy())
        // This machine, too: that is left out for proxies of the environment alone.
        let client = try Self.client(proxy.url())
        defer { client.close() }
        var request = HTTPClientRequest(method: "POST", url: server.url("/a?b=c"))
        request.body = Array("body".utf8)
        #expect(try await client.send(request).status == 200)
        #expect(proxy.lines == ["POST http://127.0.0.1:\(server.port)/a?b=c HTTP/1.1"])
        #expect(server.connections == 1)
    }

    @Test(.enabled(if: TLSServer.isAvailable, "the program openssl plays the server"))
    func aTunnelShowsTheProxyNoFieldOfTheRequest() async throws {
        let server = try await TLSServer(for: "IP:127.0.0.1")
        let proxy = try TestProxy(login: "user:proxy-secret")
        let client = try Self.client(
            proxy.url(login: "user:proxy-secret"), trusting: server.authority)
        defer { client.close() }
        var request = HTTPClientRequest(url: server.url)
        request.fields = ["Authorization": "Token token-secret"]
        #expect(try await client.send(request).status == 200)
        #expect(proxy.lines == ["CONNECT 127.0.0.1:\(server.port) HTTP/1.1"])
        #expect(proxy.requests.allSatisfy { !$0.contains("token-secret") })
    }

    @Test func nameAndPasswordAreDecoded() async throws {
        let (server, proxy) = (try Self.server(), try TestProxy(login: "al@ice:se:cret/"))
        let client = try Self.client(proxy.url(login: "al%40ice:se%3Acret%2F"))
        defer { client.close() }
        #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
        #expect(proxy.requests.count == 1 && server.connections == 1)
    }

    @Test func aProxyThatWantsAnotherPasswordIsSaidSo() async throws {
        let (server, proxy) = (try Self.server(), try TestProxy(login: "user:right"))
        let client = try Self.client(proxy.url(login: "user:secret"))
        defer { client.close() }
        let answer = try await client.send(HTTPClientRequest(url: server.url()))
        #expect(answer.status == 407)
        let error = try await failure(
            client, HTTPClientRequest(url: "https://127.0.0.1:\(server.port)/"))
        #expect(error.code == .proxyRefused)
        #expect(error.message.contains("407"))
        #expect(!"\(error)".contains("secret"))
        #expect(server.connections == 0 && proxy.requests.count == 2)
    }

    @Test func aProxyThatIsNotThereIsNamed() async throws {
        let (server, port) = (try Self.server(), try RefusingPort())
        let client = try Self.client("http://user:secret@127.0.0.1:\(port.number)")
        defer { client.close() }
        let error = try await failure(client, HTTPClientRequest(url: server.url()))
        #expect(error.code == .couldNotConnect)
        #expect(error.message.contains("\(port.number)"))
        #expect(!"\(error)".contains("secret"))
        #expect(server.connections == 0)
    }

    @Test(arguments: ["127.0.0.1", "example.com,127.0.0.0/8", "*"])
    func aHostThatNeedsNoProxyIsReachedWithout(_ hosts: String) async throws {
        let (server, proxy) = (try Self.server(), try TestProxy())
        let client = try Self.client(proxy.url(), except: hosts)
        defer { client.close() }
        #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
        #expect(proxy.requests.isEmpty && server.connections == 1)
    }

    @Test func aProxyIsNoWayToAddressesThatAreRejected() async throws {
        let (server, proxy) = (try Self.server(), try TestProxy())
        let client = try Self.client(proxy.url())
        defer { client.close() }
        var request = HTTPClientRequest(url: server.url())
        request.rejectedAddresses = .local
        #expect(try await failure(client, request).code == .rejectedAddress)
        #expect(proxy.requests.isEmpty && server.connections == 0)
    }

    // MARK: Other proxies

    /// The server plays a proxy that answers itself: what it is asked looks to it like any GET.
    @Test(.enabled(if: TLSServer.isAvailable, "the program openssl plays the proxy"))
    func theConnectionToAProxyMayBeSecuredByAnAuthorityOfOurOwn() async throws {
        let proxy = try await TLSServer(for: "IP:127.0.0.1")
        let request = HTTPClientRequest(url: "http://192.0.2.1/")
        let trusting = try Self.client(proxy.url, trusting: proxy.authority)
        defer { trusting.close() }
        #expect(try await trusting.send(request).status == 200)
        let client = try Self.client(proxy.url)
        defer { client.close() }
        #expect(try await failure(client, request).code == .untrustedAuthority)
    }

    /// A SOCKS proxy (RFC 1928) that asks for name and password if some are wanted (RFC 1929).
    private static func socks(_ login: (name: String, password: String)? = nil) throws -> RawServer {
        try RawServer { connection in
            var input: [UInt8] = []
            func take(_ count: Int) -> [UInt8]? {
                while input.count < count {
                    guard let more = connection.receive() else { return nil }
                    input += more
                }
                defer { input.removeFirst(count) }
                return Array(input.prefix(count))
            }
            guard let greeting = take(2), let methods = take(Int(greeting[1])) else { return }
            if let login {
                guard methods.contains(2) else { return }
                connection.send([5, 2])
                guard let head = take(2), let name = take(Int(head[1])), let length = take(1),
                    let password = take(Int(length[0]))
                else { return }
                let isRight = name == Array(login.name.utf8) && password == Array(login.password.utf8)
                connection.send([1, isRight ? 0 : 1])
                guard isRight else { return }
            } else {
                connection.send([5, 0])
            }
            // Connect to an IPv4 address.
            guard let head = take(4), head == [5, 1, 0, 1], take(4) == [127, 0, 0, 1], let port = take(2)
            else { return }
            connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            connection.relay(to: Int(port[0]) << 8 | Int(port[1]))
        }
    }

    @Test func aRequestGoesThroughASOCKSProxy() async throws {
        let (server, open, locked) = (
            try Self.server(), try Self.socks(), try Self.socks((name: "alice", password: "pass"))
        )
        for (proxy, login) in [(open, ""), (locked, "alice:pass@")] {
            let client = try Self.client("socks5://\(login)127.0.0.1:\(proxy.port)")
            defer { client.close() }
            #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
            #expect(proxy.connections == 1)
        }
        #expect(server.connections == 2)
        let client = try Self.client("socks5://alice:secret@127.0.0.1:\(locked.port)")
        defer { client.close() }
        let error = try await failure(client, HTTPClientRequest(url: server.url()))
        #expect(error.code == .proxyRefused)
        #expect(!"\(error)".contains("secret"))
        #expect(server.connections == 2)
    }

    // MARK: The environment

    /// In a process of its own, because the environment is one for all.
    ///
    /// The proxies answer themselves; without one, an address for documentation (RFC 5737) leads nowhere.
    @Test func theEnvironmentDecidesWhereNothingIsSaid() async {
        await #expect(processExitsWith: .success) {
            let (named, own) = (try ProxyTests.server(), try ProxyTests.server())
            let names = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]
            func environment(_ values: [String: String]) {
                for name in names {
                    unsetenv(name)
                    unsetenv(name.uppercased())
                }
                for (name, value) in values { setenv(name, value, 1) }
            }
            /// Sends a request; returns how many have come to each of the proxies.
            func counts(
                _ proxy: String?, except hosts: String? = nil, isAnswered: Bool = true
            ) async throws -> [Int] {
                let client = try ProxyTests.client(proxy, except: hosts)
                defer { client.close() }
                let request = HTTPClientRequest(
                    url: "http://192.0.2.1/",
                    connectTimeout: isAnswered ? TestOptions.deadline : .milliseconds(100),
                    idleTimeout: TestOptions.deadline)
                if isAnswered {
                    #expect(try await client.send(request).status == 200)
                } else {
                    // In which way nobody answers depends on the network.
                    _ = try? await client.send(request)
                }
                return [named.connections, own.connections]
            }

            environment(["http_proxy": named.url()])
            #expect(try await counts(nil) == [1, 0])
            #expect(try await counts(own.url()) == [1, 1])
            #expect(try await counts("", isAnswered: false) == [1, 1])
            #expect(try await counts(nil, except: "192.0.2.0/24", isAnswered: false) == [1, 1])

            environment(["http_proxy": named.url(), "no_proxy": "192.0.2.1"])
            #expect(try await counts(nil, isAnswered: false) == [1, 1])
            #expect(try await counts(own.url()) == [1, 2])
            #expect(try await counts(nil, except: "") == [2, 2])

            environment(["ALL_PROXY": named.url(), "NO_PROXY": "example.com"])
            #expect(try await counts(nil) == [3, 2])
            environment(["HTTP_PROXY": named.url()])
            #expect(try await counts(nil, isAnswered: false) == [3, 2])

            environment(["all_proxy": named.url(), "http_proxy": named.url()])
            let client = try HTTPClient()
            defer { client.close() }
            let server = try ProxyTests.server()
            #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
            #expect(server.connections == 1 && named.connections == 3)
        }
    }

    /// In a process of its own, because the environment is one for all.
    @Test func aProxyOfTheEnvironmentThatCannotBeUsedIsNotShownWithItsPassword() async {
        await #expect(processExitsWith: .success) {
            for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
            let client = try HTTPClient()
            defer { client.close() }
            for proxy in ["ftp://user:secret@127.0.0.1:1", "http://user:secret@127.0.0.1:1:1"] {
                setenv("http_proxy", proxy, 1)
                let error = await #expect(throws: HTTPClientError.self) {
                    try await client.send(HTTPClientRequest(url: "http://192.0.2.1/"))
                }
                #expect(error.map { !"\($0)".contains("secret") } == true)
            }
        }
    }
}
