import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Which address a request is said to come from.
@Suite(.patient())
struct PeerTests {
    /// Answers with it.
    private let whoAsks: HTTPHandler = { request, _ in .text(request.peer?.description ?? "nobody") }

    /// Connects to ::1.
    private func connectOverVersion6(_ fixture: ServerFixture) throws -> RawClient {
        #if os(Linux)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = UInt16(fixture.server.port).bigEndian
        let isRead = inet_pton(AF_INET6, "::1", &address.sin6_addr) == 1
        try #require(isRead)
        let descriptor = socket(AF_INET6, stream, 0)
        try #require(descriptor >= 0)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        let client = try RawClient(connected: descriptor, fixture.poller)
        try #require(status == 0)
        return client
    }

    @Test func theSocketSaysItForEachRequest() async throws {
        try await ServerFixture.with(.patient { $0.host = "127.0.0.1" }, whoAsks) { fixture in
            let client = try fixture.connect()
            for _ in 0..<2 { #expect(try await client.get("/").body == "127.0.0.1") }
        }
    }

    @Test func version6IsSpelledAsSuch() async throws {
        try await ServerFixture.with(.patient { $0.host = "::1" }, whoAsks) { fixture in
            let peer = try await connectOverVersion6(fixture).get("/").body
            #expect(peer == "::1")
        }
    }

    /// A listener for both versions gets addresses of version 4 as mapped ones.
    @Test func aListenerForBothVersionsTellsThemApart() async throws {
        try await ServerFixture.with(.patient { $0.host = "::" }, whoAsks) { fixture in
            let version4 = try await fixture.connect().get("/").body
            #expect(version4 == "127.0.0.1")
            let peer = try await connectOverVersion6(fixture).get("/").body
            #expect(peer == "::1")
        }
    }

    /// Anybody can write such a field: whose word counts is not the server's to decide.
    @Test func noFieldChangesIt() async throws {
        try await ServerFixture.with(whoAsks) { fixture in
            let fields = "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\n"
            let peer = try await fixture.connect().get("/", fields).body
            #expect(peer == "127.0.0.1")
        }
    }

    @Test func withoutASocketThereIsNone() {
        #expect(HTTPRequest(method: "GET", target: "/").peer == nil)
    }
}
