import PowerSyncSystem
import PowerSyncTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP proxy to Postgres that can become a black hole: connections stay open, and nothing passes in either direction.
final class PostgresProxy: Sendable {
    private struct State {
        var isHole = false
        var open: Set<Int32> = []
    }

    let port: Int
    private let listener: Int32
    private let state = Lock(State())

    init(to target: Int) throws {
        (listener, port) = try TCPSocket.listen()
        try DetachedThread.start { [listener, state] in
            var request = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            while poll(&request, 1, -1) > 0, let client = try? TCPSocket.accept(listener) {
                guard let server = try? TCPSocket.connect(port: target) else {
                    close(client)
                    continue
                }
                state.withLock { $0.open.formUnion([client, server]) }
                for (from, to) in [(client, server), (server, client)] {
                    try? DetachedThread.start { Self.copy(from, to, state) }
                }
            }
            close(listener)
        }
    }

    deinit {
        heal()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// From now on nothing passes, also on connections to come.
    func becomeHole() { state.withLock { $0.isHole = true } }

    /// Lets everything pass on new connections; those of before are over.
    func heal() {
        state.withLock { state in
            state.isHole = false
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private static func copy(_ from: Int32, _ to: Int32, _ state: Lock<State>) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var request = pollfd(fd: from, events: Int16(POLLIN), revents: 0)
        while poll(&request, 1, -1) > 0 {
            let count = recv(from, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { break }
            // What a hole has swallowed never comes out again.
            if state.withLock({ $0.isHole }) { continue }
            var sent = 0
            while sent < count {
                let result = buffer[sent..<count].withUnsafeBytes { send(to, $0.baseAddress, $0.count, 0) }
                if result > 0 {
                    sent += result
                } else {
                    var room = pollfd(fd: to, events: Int16(POLLOUT), revents: 0)
                    guard errno == EAGAIN, poll(&room, 1, -1) > 0 else { break }
                }
            }
            if sent < count { break }
        }
        // Closed by whoever comes last, so that no number is somebody else's while the other thread uses it.
        shutdown(to, Int32(SHUT_RDWR))
        state.withLock { state in
            if state.open.remove(from) == nil { return }
            close(from)
        }
    }
}
