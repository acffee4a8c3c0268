import CPowerSyncSystem
import PowerSyncHTTP
import PowerSyncSystem
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the acceptor, the connections and whoever stops the server share.
final class ServerState: Sendable {
    /// Connections that may be leaving at a time: those that are told that there is no room for them, and those
    /// that make room.
    private static let mostLeaving = 32
    private struct State {
        var connections: [UInt64: Connection] = [:]
        var lastID: UInt64 = 0
        /// Those that have no place among the connections, or have it no longer.
        var leaving: [UInt64: Connection] = [:]
        var stopDeadline: ContinuousClock.Instant?
        var whenEmpty: Resumption<Void, Never>?

        /// The connection that has waited longest for a request.
        var longestResting: UInt64? {
            let resting = connections.lazy.compactMap { id, connection in
                connection.restingSince.map { (id: id, since: $0) }
            }
            return resting.min { $0.since < $1.since }?.id
        }
    }

    /// What is to be done with a connection that has arrived.
    enum Admission {
        case serve(UInt64)
        case refuse(UInt64)
        case drop
    }

    let configuration: HTTPServerConfiguration
    let poller: Poller
    private let mostConnections: Int
    private let state = Lock(State())
    private let hasStopped = Atomic(false)
    private let lastDate = Lock((second: 0, text: ""))
    let bodyRoom: BodyRoom

    init(_ configuration: HTTPServerConfiguration, poller: Poller) {
        self.configuration = configuration
        self.poller = poller
        bodyRoom = BodyRoom(configuration.maxHeldBodyBytes, poller: poller)
        let available =
            Int(powersync_raise_descriptor_limit()) - configuration.reservedDescriptors - Self.mostLeaving
        mostConnections = max(1, min(configuration.maxConnections, available))
    }

    /// Whether no further request is taken; asked twice a request, therefore without the lock.
    var isStopping: Bool { hasStopped.load(ordering: .sequentiallyConsistent) }

    /// The number of connections being served.
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// When the connections that are left are cut; nil while the server does not stop.
    var stopDeadline: ContinuousClock.Instant? { state.withLock { $0.stopDeadline } }

    /// Starts to stop; says whether it is the first time.
    func stop(grace: Duration) -> Bool {
        let deadline = ContinuousClock.now + grace
        let (isFirst, connections) = state.withLock { state in
            let isFirst = state.stopDeadline == nil
            if isFirst { state.stopDeadline = deadline }
            hasStopped.store(true, ordering: .sequentiallyConsistent)
            return (isFirst, Array(state.connections.values))
        }
        if isFirst { for connection in connections { connection.beginToStop() } }
        if grace <= .zero { cutAll() }
        return isFirst
    }

    /// Cancels what every connection is doing.
    func cutAll() {
        for connection in state.withLock({ Array($0.connections.values) + $0.leaving.values }) {
            connection.cut()
        }
    }

    /// The number of connections that wait for a request.
    var restingCount: Int {
        state.withLock { $0.connections.values.count(where: { $0.restingSince != nil }) }
    }

    /// Finds out whether there is room for a connection and takes the room.
    ///
    /// When there is none the connection that has waited longest for a request makes room. It is looked for among
    /// all, which only a full server has to do.
    func admit(_ connection: Connection) -> Admission {
        state.withLock { state in
            state.lastID += 1
            if state.connections.count >= mostConnections {
                if state.leaving.count >= Self.mostLeaving { return .drop }
                guard let id = state.longestResting, let resting = state.connections[id], resting.makeRoom()
                else {
                    state.leaving[state.lastID] = connection
                    return .refuse(state.lastID)
                }
                state.connections[id] = nil
                state.leaving[id] = resting
            }
            state.connections[state.lastID] = connection
            return .serve(state.lastID)
        }
    }

    /// Gives the room of a connection back.
    func leave(_ id: UInt64) {
        state.withLock { state in
            state.connections[id] = nil
            state.leaving[id] = nil
            guard state.connections.isEmpty else { return nil as Resumption<Void, Never>? }
            defer { state.whenEmpty = nil }
            return state.whenEmpty
        }?.resume()
    }

    /// Returns when no connection is left, or when the task is cancelled.
    func untilEmpty() async {
        await withTaskCancellationHandler {
            await withResumption { continuation in
                let isOver = state.withLock { state in
                    // The cancellation handler may have run already.
                    if state.connections.isEmpty || Task.isCancelled { return true }
                    state.whenEmpty = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state in
                defer { state.whenEmpty = nil }
                return state.whenEmpty
            }?.resume()
        }
    }

    /// Returns the date for an answer, written at most once a second.
    func date() -> String {
        let now = Int(time(nil))
        return lastDate.withLock { last in
            if last.second != now { last = (now, HTTPDate.text(now)) }
            return last.text
        }
    }
}
