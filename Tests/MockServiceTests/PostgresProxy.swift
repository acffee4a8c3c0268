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
        /// The ports that connections lead to, in turn.
        var targets: [Int]
        var open: Set<Int32> = []
        var accepted = 0
    }

    let port: Int
    private let listener: Int32
    private let state: Lock<State>

    init(to targets: Int...) throws {
        state = Lock(State(targets: targets))
        (listener, port) = try TCPSocket.listen()
        try DetachedThread.start { [listener, state] in
            var request = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            while poll(&request, 1, -1) > 0, let client = try? TCPSocket.accept(listener) {
                let target = state.withLock { $0.targets[$0.accepted % $0.targets.count] }
                guard let server = try? TCPSocket.connect(port: target) else {
                    close(client)
                    continue
                }
                state.withLock {
                    $0.open.formUnion([client, server])
                    $0.accepted += 1
                }
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

    /// How many connections were made.
    var accepted: Int { state.withLock { $0.accepted } }

    /// From now on new connections lead to this port.
    func lead(to target: Int) { state.withLock { $0.targets = [target] } }

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
