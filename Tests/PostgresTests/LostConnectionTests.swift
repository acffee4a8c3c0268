import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// libpq closes its socket by itself when it reads the end, and somebody else may get the number.
@Suite(.timeLimit(.minutes(1)))
struct LostConnectionTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test(.enabled(if: TestEnvironment.hasDatabase))
    func whoeverGetsTheNumberOfALostSocketIsStillToldOfEvents() async throws {
        let server = try await TestServer.shared()
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        let killer = try await PostgresConnection.connect(server.uri(), poller: poller)
        try await killer.query(
            "SELECT pg_terminate_backend($1)", ["\(await connection.backendProcessID)"])
        try await eventually("the loss is noticed") { await !connection.isAlive }
        // One of so many gets the number that became free.
        let pairs = try (0..<64).map { _ in try SocketPair() }
        let channels = try pairs.map { try poller.channel($0.left) }
        defer { for channel in channels { channel.deregister() } }
        await connection.close()
        for pair in pairs { pair.closeRight() }
        try await eventually("every channel hears of its peer") { channels.allSatisfy { $0.isHungUp } }
        await killer.close()
    }

    @Test func whoWaitsForRoomIsToldOfTheLossThatTheReaderFound() async throws {
        let server = try DeafServer()
        let connection = try await PostgresConnection.connect(server.uri, poller: poller)
        try await connection.copyBoth("START")
        let sent = Lock(0)
        let told = Lock<(any Error)?>(nil)
        let writer = Task {
            let piece = [UInt8](repeating: 7, count: 64 << 10)
            do {
                while true {
                    try await connection.putCopyData(piece)
                    sent.withLock { $0 += 1 }
                }
            } catch {
                told.withLock { $0 = error }
            }
        }
        let reader = Task { while try await connection.nextCopyData() != nil {} }
        var (before, rounds) = (0, 0)
        try await eventually("the writer waits") {
            let now = sent.withLock { $0 }
            rounds = now > 0 && now == before ? rounds + 1 : 0
            before = now
            return rounds == 20
        }
        server.finishSending()
        let found = await #expect(throws: PostgresError.self) { try await reader.value }
        #expect(found?.isConnectionLost == true)
        try await eventually("the writer ends") { told.withLock { $0 != nil } }
        writer.cancel()
        await writer.value
        #expect(told.withLock { $0 as? PostgresError }?.isConnectionLost == true)
        await connection.close()
    }
}

/// Two connected sockets, closed with the last reference.
private final class SocketPair: Sendable {
    let left: Int32
    private let right: Lock<Int32?>

    init() throws {
        var ends: [Int32] = [0, 0]
        #if canImport(Glibc)
            let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        #else
            let status = socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
        #endif
        try #require(status == 0)
        left = ends[0]
        right = Lock(ends[1])
    }

    func closeRight() {
        right.withLock { end in
            if let open = end { close(open) }
            end = nil
        }
    }

    deinit {
        close(left)
        closeRight()
    }
}

/// Takes one connection, answers its first statement with a COPY in both directions and reads nothing after that.
private final class DeafServer: Sendable {
    let uri: String
    private let visitor = Lock<Int32?>(nil)

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) | listen(listener, 8) | getsockname(listener, $0, &length)
            }
        }
        try #require(status == 0)
        let port = UInt16(bigEndian: address.sin_port)
        uri = "postgres://user@127.0.0.1:\(port)/x?sslmode=disable&gssencmode=disable"
        try DetachedThread.start { [self] in
            let descriptor = accept(listener, nil, nil)
            close(listener)
            guard descriptor >= 0 else { return }
            visitor.withLock { $0 = descriptor }
            var buffer = [UInt8](repeating: 0, count: 4096)
            // AuthenticationOk and ReadyForQuery, then CopyBothResponse without columns.
            let answers: [[UInt8]] = [
                [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49], [0x57, 0, 0, 0, 7, 0, 0, 0],
            ]
            for answer in answers where read(descriptor, &buffer, buffer.count) > 0 {
                _ = write(descriptor, answer, answer.count)
            }
        }
    }

    /// Sends the end, and still takes nothing.
    func finishSending() {
        visitor.withLock { if let open = $0 { shutdown(open, Int32(SHUT_WR)) } }
    }

    deinit {
        visitor.withLock { if let open = $0 { close(open) } }
    }
}
