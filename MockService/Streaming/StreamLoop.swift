import PowerSyncSystem
import PowerSyncWire

/// What one stream has sent.
final class StreamTotals: Sendable {
    private let counts = Lock((operations: 0, bytes: 0))

    /// The numbers so far.
    var current: (operations: Int, bytes: Int) { counts.withLock { $0 } }

    /// Notes a line that was sent.
    func add(operations: Int, bytes: Int) {
        counts.withLock { counts in
            counts.operations += operations
            counts.bytes += bytes
        }
    }
}

/// Serves one sync stream: reads what its session asks for and sends what it says.
struct StreamLoop {
    /// The token had expired before the client took a line that was under way.
    struct TokenHasExpired: Error {}

    let store: ServiceStore
    let hub: CheckpointHub
    let clock: ServiceClock
    let slot: ConnectionSlots.Slot
    let metrics: ServiceMetrics
    let lines: LineBudget
    let stream: StreamNumber
    let buckets: [ResolvedBucket]
    let writeCheckpointKey: String
    let totals = StreamTotals()
    /// When the token expires, in seconds since 1970.
    let expiry: Double

    /// What a line may hold of data (service 3.4).
    private static let lineLimit = 1 << 20
    /// The seconds that a line which is under way may take behind the end of the token: as long the token is accepted
    /// (service 2.2).
    private static let tolerance = 60.0

    /// The checkpoint as this stream sees it.
    func view(_ published: PublishedCheckpoint) async throws -> CheckpointView {
        let states = try await store.states(
            of: buckets.map(\.name), stream: stream, at: published.checkpoint.operation)
        return CheckpointView(
            operation: published.checkpoint.operation,
            writeCheckpoint: try await store.writeCheckpoint(
                key: writeCheckpointKey, at: published.checkpoint.lsn),
            buckets: buckets.map {
                CheckpointView.Bucket(bucket: $0, state: states[ExactText($0.name)] ?? .empty)
            })
    }

    /// Sends until the token expires, the configuration changes, the client goes or the service stops.
    ///
    /// - Parameters:
    ///   - session: A session that was offered nothing yet.
    ///   - first: The first checkpoint.
    ///   - firstView: What the stream sees of it.
    ///   - encoder: Makes bytes of lines.
    ///   - sink: Takes the lines; suspends while the client does not read.
    /// - Throws: What the sink or the storage throws, and `CancellationError`.
    func run(
        _ session: StreamSession, _ first: PublishedCheckpoint, _ firstView: CheckpointView,
        _ encoder: LineEncoder, _ sink: any LineSink
    ) async throws {
        var session = session
        var keepalive = KeepaliveSchedule(expiry: expiry, at: clock.moment, random: clock.random())
        // Room for the next line of data, from when it is asked for.
        var room: LineBudget.Room?
        func send(_ line: SyncLine) async throws { try await write(encoder.encode(line), sink) }
        func say(_ seconds: Int) async throws { try await send(.tokenExpiresIn(seconds)) }
        // All readers of the state may be busy for long.
        func offer(_ newer: PublishedCheckpoint) async throws -> Bool {
            let view = try await keepalive.wait(clock, for: { try await self.view(newer) }, saying: say)
            if let view, let line = session.offer(view) { try await send(line) }
            return view != nil
        }
        var published = first
        // Verification tolerates a token that expired a moment ago; the stream does not (service 2.2).
        if !keepalive.isExpired(at: clock.moment), let line = session.offer(firstView) {
            try await send(line)
        }
        serving: while hub.current?.stream == stream {
            let now = clock.moment
            if let seconds = keepalive.due(at: now, random: clock.random()) {
                try await send(.tokenExpiresIn(seconds))
                if keepalive.isExpired(at: now) { break serving }
            }
            switch session.next() {
            case .send(let line): try await send(line)
            case .read(let read):
                let place = room ?? lines.queue(Self.lineLimit)
                room = place
                guard try await isGiven(place, until: keepalive.next(at: clock.moment)) else { continue }
                let chunk = try await keepalive.wait(
                    clock, for: { try await self.chunk(for: read) }, saying: say)
                // Data of a replaced stream is being deleted: what was read may have holes.
                guard let chunk, hub.current?.stream == stream else { break serving }
                if let line = session.received(chunk, for: read) {
                    try await write(encoder.encode(line), sink, in: place)
                }
                room = nil
                if session.mayBeInterrupted, let newer = hub.current, newer.sequence > published.sequence {
                    published = newer
                    guard newer.stream == stream else { break serving }
                    guard try await offer(newer) else { break serving }
                }
            case .wait:
                slot.reached(published.sequence)
                let time = keepalive.next(at: clock.moment)
                guard let newer = try await next(after: published.sequence, until: time) else { continue }
                published = newer
                guard newer.stream == stream else { break serving }
                guard try await offer(newer) else { break serving }
            }
        }
        if let end = encoder.finish() { try await sink.send([end]) }
    }

    // MARK: Lines

    private func chunk(for read: StreamSession.BucketRead) async throws -> BucketChunk {
        try await store.chunk(
            bucket: read.bucket, after: read.after, upTo: read.last, rows: read.rows, bytes: Self.lineLimit)
    }

    private func write(
        _ line: EncodedLine, _ sink: any LineSink, in room: LineBudget.Room? = nil
    ) async throws {
        // What a slow client has taken of the line makes room for others.
        line.charge(to: room ?? lines.take(line.count))
        // Nothing can be said of the token in the midst of a line, which a slow client may take hours for (service 3.9).
        let now = clock.moment
        let end = now.monotonic + max(0, expiry - now.wall) + Self.tolerance
        let isTaken: Bool? = try await clock.first(until: end) {
            try await sink.send([line])
            return true
        }
        guard isTaken != nil else { throw TokenHasExpired() }
        metrics.count { counters in
            counters.syncedBytes += line.plainBytes
            counters.sentBytes += line.count
            counters.syncedOperations += line.operations
        }
        totals.add(operations: line.operations, bytes: line.plainBytes)
    }

    // MARK: Waiting

    /// Whether there is room for a line before the time has come.
    private func isGiven(_ room: LineBudget.Room, until time: Double) async throws -> Bool {
        if room.isGiven { return true }
        return try await clock.first(until: time) { try await room.wait() } != nil
    }

    /// The next checkpoint, nil if the time has come first.
    private func next(after sequence: UInt64, until time: Double) async throws -> PublishedCheckpoint? {
        try await clock.first(until: time) { try await hub.next(after: sequence) }
    }
}
