import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSync

/// The connection: what the service sends, how it is cut, how it ends.
extension Session {
    func connect() throws {
        note("connect")
        disconnect()
        var expected = model
        expected.start(active: active, now: now)
        let start = SyncStart(activeStreams: active.map(\.stream))
        let effects = try feedThroughLocks(.start(start))
        try commit(expected)
        var request: SyncStreamRequest?
        for effect in effects {
            if case .open(let opened, _) = effect { request = opened }
        }
        guard let request else { throw SessionFailure(message: "start opened no stream") }
        try require(
            request.buckets.map { "\($0.name) \($0.after)" } == model.buckets.map { "\($0.name) \($0.last)" },
            "the request carries \(request.buckets) instead of the stored positions")
        let subscriptions = (request.streams?.subscriptions ?? []).map {
            Subscription.Key(name: $0.stream, parameters: $0.parameters?.text)
        }
        try require(
            subscriptions == model.requested,
            "the request carries the subscriptions \(subscriptions) instead of \(model.requested)")
        stream = ServiceStream(
            positions: Dictionary(uniqueKeysWithValues: request.buckets.map { ($0.name, $0.after) }),
            subscriptions: subscriptions.compactMap(\.parameters))
        try feed(.connectionEstablished) { _ in .nothing }
    }

    /// Puts lines on the wire: the rest of a checkpoint, a new one, or something in between.
    func serve() {
        guard var stream else { return }
        defer { self.stream = stream }
        let isBehind = stream.isBehind(service, lastSentWriteCheckpoint)
        let supersedes = !isCalm && !stream.isIdle && random.once(in: 40)
        if supersedes { meet(.superseded) }
        if isBehind && stream.isIdle || supersedes || !isCalm && random.once(in: 30) {
            let line = stream.checkpoint(service, &random, isCalm: isCalm)
            switch line {
            case .checkpoint(_, let id, _, _, _), .diff(_, let id, _, _, _): lastSentWriteCheckpoint = id
            default: break
            }
            send(line)
        } else if let line = stream.next(&random, isCalm: isCalm) {
            send(line)
        }
        guard !isCalm else { return }
        if random.once(in: 15), let line = stream.repeated(&random) { send(line) }
        if random.once(in: 25) { send(.keepalive(random.pick([60, 20, 45]))) }
        if random.once(in: 200) { send(.keepalive(0)) }
        if random.once(in: 30) { send(.unknown) }
    }

    private func send(_ line: ServiceLine) {
        note("service: \(line.summary)")
        lines.append(line)
        wire += Array(line.text.utf8)
        // Blank lines mean nothing, and a CR belongs to the end of its line.
        wire += random.once(in: 10) ? [0x0D, 0x0A, 0x0A] : [0x0A]
    }

    /// Hands over bytes, cut anywhere.
    func receive() throws {
        guard !wire.isEmpty else { return }
        let size = random.once(in: 3) ? 1 + random.below(40) : 1 + random.below(2000)
        splitter.append(Array(wire.prefix(size)))
        wire.removeFirst(min(size, wire.count))
        while let bytes = try splitter.next() {
            try require(!lines.isEmpty, "a line that nobody sent")
            let line = lines.removeFirst()
            try handle(line, try SyncLine(parsing: bytes), size: bytes.count)
            if stream == nil { return }
        }
    }

    private func handle(_ line: ServiceLine, _ parsed: SyncLine, size: Int) throws {
        note("client: \(line.summary)")
        if case .data(let data) = parsed {
            waiting.append((line, try StorableLine(data, size: size)))
            if waiting.reduce(0, { $0 + $1.storable.size }) >= batchBytes { try flush() }
            return
        }
        try flush()
        let before = model
        try feed(.line(parsed, size: size)) { [active, now] in
            $0.receive(line, size: size, active: active, now: now)
        }
        if case .partial = line, model.synced != before.synced { meet(.partial) }
        if before.pending == nil, model.pending != nil { meet(.blocked) }
    }

    /// The network ends the stream, perhaps in the middle of a line.
    func cut() throws {
        note("cut with \(wire.count) bytes on their way")
        if random.once(in: 2) {
            try receive()
            guard stream != nil else { return }
        }
        if random.once(in: 2) { try flush() }
        try endIteration()
    }

    /// An orderly end, or the app disconnects.
    func stop() throws {
        note("stop")
        let event: SyncEvent = random.once(in: 2) ? .stop : .connectionEnded
        try feed(event) {
            $0.end()
            return .closed
        }
    }

    /// The process ends, or just its connection to the database: what waits may be lost, what is stored not.
    func restart() throws {
        note("restart")
        try endIteration()
        upload = nil
        awaited = nil
        try client.reopen()
        try commit(model)
    }

    /// Forgets the iteration with the lines that wait in it.
    private func endIteration() throws {
        try commit(model)
        if !waiting.isEmpty { meet(.waitingLinesLost) }
        waiting = []
        iteration = SyncState()
        var next = model
        next.end()
        try commit(next)
        disconnect()
    }
}

extension Subscription.Key {
    var stream: StreamKey { StreamKey(name: name, parameters: parameters) }
}
