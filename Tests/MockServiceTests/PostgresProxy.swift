import PowerSyncPostgresTestSupport
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
        var open: [ObjectIdentifier: RelayedConnection] = [:]
        var accepted = 0
    }

    let port: Int
    private let listener: Int32
    private let state: Lock<State>

    init(to targets: Int...) throws {
        state = Lock(State(targets: targets))
        (listener, port) = try TCPSocket.listen()
        try DetachedThread.start { [listener, state] in
            while RelayedConnection.wait(listener, POLLIN), let client = try? TCPSocket.accept(listener) {
                let target = state.withLock { $0.targets[$0.accepted % $0.targets.count] }
                guard let server = try? TCPSocket.connect(port: target) else {
                    close(client)
                    continue
                }
                let link = RelayedConnection(client: client, server: server)
                state.withLock {
                    $0.open[ObjectIdentifier(link)] = link
                    $0.accepted += 1
                }
                for (from, to) in [(client, server), (server, client)] {
                    do {
                        try DetachedThread.start { Self.copy(link, from, to, state) }
                    } catch {
                        link.cut()
                    }
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
        let links = state.withLock { state in
            state.isHole = false
            return Array(state.open.values)
        }
        for link in links { link.cut() }
    }

    private static func copy(
        _ link: RelayedConnection, _ from: Int32, _ to: Int32, _ state: Lock<State>
    ) {
        while let bytes = link.receive(from: from) {
            // What a hole has swallowed never comes out again.
            if !state.withLock({ $0.isHole }), !link.send(bytes, to: to) { break }
        }
        link.cut()
        state.withLock { $0.open[ObjectIdentifier(link)] = nil }
    }
}
