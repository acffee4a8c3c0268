import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConnectTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func aMalformedURIIsNotQuoted() async throws {
        for uri in ["postgres://user:secret@[host/db", "secret", "postgres://u:secret@h/db?sslmod=x", "a\0b"]
        {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await PostgresConnection.connect(uri, poller: poller)
            }
            #expect(error?.code == .invalidInput)
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func aServerThatSaysNothingTimesOut() async throws {
        let listener = try SilentListener()
        let error = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                "postgres://u@127.0.0.1:\(listener.port)/d", poller: poller, deadline: .milliseconds(100))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func connectingCanBeCancelled() async throws {
        let listener = try SilentListener()
        let task = Task {
            _ = try await PostgresConnection.connect(
                "postgres://u@127.0.0.1:\(listener.port)/d", poller: poller, deadline: .seconds(50))
        }
        try await eventually("it did not connect") { listener.hasVisitor }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(.enabled(if: TestEnvironment.hasDatabase))
    func saysWhatTheServerRefused() async throws {
        let server = try await TestServer.shared()
        let database = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(server.uri(database: "nowhere"), poller: poller)
        }
        #expect(database?.code == .unavailable)
        #expect(database?.sqlstate == "3D000")
        #expect(database?.isConnectionLost == false)
        #expect(database?.message.contains(#"database "nowhere" does not exist"#) == true)
        #expect(database?.message.contains("LOCATION") == false)
        let user = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                server.uri(), parameters: ["user": "nobody_here"], poller: poller)
        }
        #expect(user?.sqlstate == "28000")
        let option = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                server.uri(), parameters: ["no_such": "1"], poller: poller)
        }
        #expect(option?.code == .unavailable)
    }
}

/// Accepts connections into its backlog and never answers.
private final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | listen(descriptor, 8) | getsockname(descriptor, $0, &length)
            }
        }
        try #require(status == 0)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(descriptor)
    }

    var hasVisitor: Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) > 0
    }
}
