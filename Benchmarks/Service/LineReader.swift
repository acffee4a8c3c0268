import CPowerSyncSystem
import PowerSyncSystem

/// Reads any number of sync streams on one thread, and notes when what came of each.
///
/// It is the same reader for the service and for its limits: it parses each line as a client does. So a rate is that of
/// a server that shares the machine with one, and a time ends when the bytes were read, whoever asks for it when.
final class LineReader: Sendable {
    private struct Orders {
        var opening: [ReadStream] = []
        var closing: [ReadStream] = []
        var isStopped = false
    }

    /// How many streams are opened at a time: the next one begins when one of these has its first complete line.
    static let openings = 50
    /// How many bytes of a stream are read at a time.
    private static let readSize = 256 << 10

    private let orders = Lock(Orders())
    private let queue: powersync_poller

    /// Starts the thread.
    ///
    /// - Throws: `SystemError`.
    init() throws {
        var queue = powersync_poller()
        let status = powersync_poller_open(&queue)
        guard status >= 0 else {
            throw SystemError(.poller, "cannot make a readiness queue", errno: -status)
        }
        self.queue = queue
        try DetachedThread.start { [self] in run() }
    }

    deinit { withUnsafePointer(to: queue) { powersync_poller_close($0) } }

    /// Opens streams, so many at a time as `openings` says.
    ///
    /// - Parameter requests: what to ask for.
    /// - Returns: the streams in the same order.
    func open(_ requests: [StreamRequest]) -> [ReadStream] {
        let streams = requests.map { ReadStream($0) }
        order { $0.opening += streams }
        return streams
    }

    /// Opens one stream.
    func open(_ request: StreamRequest) -> ReadStream {
        let stream = ReadStream(request)
        order { $0.opening.append(stream) }
        return stream
    }

    /// Closes the connections of streams, soon.
    func close(_ streams: [ReadStream]) { order { $0.closing += streams } }

    /// Closes all connections and ends the thread, soon.
    func stop() { order { $0.isStopped = true } }

    private func order(_ change: (inout Orders) -> Void) {
        orders.withLock { change(&$0) }
        withUnsafePointer(to: queue) { powersync_poller_wake($0) }
    }

    // MARK: The thread

    /// What the thread alone knows.
    private struct Work {
        var connections: [UInt64: StreamConnection] = [:]
        var ids: [ObjectIdentifier: UInt64] = [:]
        var lastID: UInt64 = 0
        /// Streams that wait for their turn to be opened, the first first.
        var pending: ArraySlice<ReadStream> = []
        /// Connections whose first sync has not come to its end.
        var opening: Set<UInt64> = []
        /// Connections that may have more to read.
        var ready: Set<UInt64> = []

        mutating func forget(_ id: UInt64) {
            if let connection = connections.removeValue(forKey: id) {
                ids[ObjectIdentifier(connection.stream)] = nil
            }
            opening.remove(id)
            ready.remove(id)
        }
    }

    private func run() {
        var work = Work()
        var events = [powersync_event](repeating: powersync_event(), count: 256)
        var buffer = [UInt8](repeating: 0, count: Self.readSize)
        while true {
            let orders = self.orders.withLock { orders in
                defer { orders = Orders(isStopped: orders.isStopped) }
                return orders
            }
            if orders.isStopped { return }
            for stream in orders.closing {
                if let id = work.ids[ObjectIdentifier(stream)] { work.forget(id) }
                work.pending.removeAll { $0 === stream }
            }
            work.pending += orders.opening
            connect(&work)
            // A stream that brings more than is read at a time holds up no other.
            for id in work.ready { advance(id, &work, &buffer) }
            // What has just become free is used before anything is waited for.
            let mayGoOn =
                !work.ready.isEmpty || (!work.pending.isEmpty && work.opening.count < Self.openings)
            let count = events.withUnsafeMutableBufferPointer { events in
                withUnsafePointer(to: queue) {
                    powersync_poller_wait($0, events.baseAddress, Int32(events.count), mayGoOn ? 0 : -1)
                }
            }
            // The queue is ours and open, so waiting on it cannot fail.
            precondition(count >= 0, "waiting for readiness failed: \(SystemError.text(of: -count))")
            for event in events[..<Int(count)] where work.connections[event.token] != nil {
                work.ready.insert(event.token)
            }
        }
    }

    /// Opens what waits, as far as there is room.
    private func connect(_ work: inout Work) {
        while work.opening.count < Self.openings, let stream = work.pending.popFirst() {
            do {
                let connection = try StreamConnection(stream)
                work.lastID += 1
                let id = work.lastID
                let status = withUnsafePointer(to: queue) {
                    powersync_poller_add($0, connection.descriptor, id)
                }
                guard status >= 0 else {
                    throw SystemError(.poller, "cannot watch a connection", errno: -status)
                }
                work.connections[id] = connection
                work.ids[ObjectIdentifier(stream)] = id
                work.opening.insert(id)
            } catch {
                stream.fail("\(error)")
            }
        }
    }

    private func advance(_ id: UInt64, _ work: inout Work, _ buffer: inout [UInt8]) {
        guard let connection = work.connections[id] else { return }
        switch connection.advance(&buffer) {
        case .wait: work.ready.remove(id)
        case .goOn: break
        // Closing the descriptor, as its end does, takes it out of the queue.
        case .end: return work.forget(id)
        }
        if work.opening.contains(id), connection.stream.progress.complete != nil { work.opening.remove(id) }
    }
}
