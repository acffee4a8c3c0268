import PowerSyncPostgres
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
///
/// It looks at what its mailbox has when everything is sent, or where a checkpoint may be interrupted, and waits for
/// that and for the next time of the token without a task of its own.
struct SessionLoop {
    /// The token had expired before the client took a line that was under way.
    struct TokenHasExpired: Error {}

    let store: ServiceStore
    let attachment: Attachment
    let alarm: Alarm
    let slot: ConnectionSlots.Slot
    let metrics: ServiceMetrics
    let lines: LineBudget
    let buckets: [ResolvedBucket]
    /// When the token expires, in seconds since 1970.
    let expiry: Double
    let totals = StreamTotals()

    private var clock: ServiceClock { alarm.clock }
    private var mailbox: Mailbox { attachment.mailbox }

    /// What a line may hold of data (service 3.4).
    private static let lineLimit = 1 << 20
    /// The seconds that a line which is under way may take behind the end of the token: as long the token is accepted
    /// (service 2.2).
    private static let tolerance = 60.0

    // MARK: Views

    /// Reads what the stream begins with; what is published behind that is in its mailbox.
    ///
    /// - Returns: The checkpoint that was the newest when the stream was attached, as it sees it.
    /// - Throws: `SQLiteError`, `CancellationError`.
    func firstView() async throws -> CheckpointView {
        let checkpoint = attachment.publication.checkpoint
        let stored = try await store.writeCheckpoint(key: mailbox.key.text)
        // Its request may have been answered by a service that was ended since.
        if let stored, stored.head > checkpoint.lsn { attachment.expect(stored.id, at: stored.head) }
        return try await view(at: checkpoint, stored?.reached(at: checkpoint.lsn))
    }

    private func view(
        at checkpoint: StoredCheckpoint, _ writeCheckpoint: Int64?
    ) async throws -> CheckpointView {
        let states = try await states(of: buckets.map(\.name), at: checkpoint)
        return CheckpointView(
            operation: checkpoint.operation, writeCheckpoint: writeCheckpoint,
            buckets: buckets.map {
                CheckpointView.Bucket(bucket: $0, state: states[ExactText($0.name)] ?? .empty)
            })
    }

    private func states(
        of names: [String], at checkpoint: StoredCheckpoint
    ) async throws -> [ExactText: BucketState] {
        try await store.states(of: names, stream: attachment.publication.stream, at: checkpoint.operation)
    }

    /// What a stream finds out of what was published: everything, or what is new.
    private enum Finding: Sendable {
        case view(CheckpointView)
        case change(ViewChange)
    }

    private func finding(_ news: Mailbox.News) async throws -> Finding {
        guard let names = news.changed else {
            return .view(try await view(at: news.checkpoint, news.writeCheckpoint))
        }
        let states = try await states(of: names.map(\.text), at: news.checkpoint)
        return .change(
            ViewChange(
                operation: news.checkpoint.operation, writeCheckpoint: news.writeCheckpoint,
                buckets: states))
    }

    // MARK: Serving

    /// Sends until the token expires, the configuration changes, the client goes or the service stops.
    ///
    /// - Parameters:
    ///   - session: A session that was offered nothing yet.
    ///   - firstView: What `firstView` has read.
    ///   - encoder: Makes bytes of lines.
    ///   - sink: Takes the lines; suspends while the client does not read.
    /// - Throws: What the sink or the storage throws, and `CancellationError`, also when the service stops.
    func run(
        _ session: StreamSession, _ firstView: CheckpointView, _ encoder: LineEncoder, _ sink: any LineSink
    ) async throws {
        let clock = self.clock
        let mailbox = self.mailbox
        var session = session
        var first: CheckpointView? = firstView
        var keepalive = KeepaliveSchedule(expiry: expiry, at: clock.moment, random: clock.random())
        let bell = alarm.timer { mailbox.ring() }
        // Room for the next line of data, from when it is asked for.
        var room: LineBudget.Room?
        func send(_ line: SyncLine) async throws { try await write(encoder.encode(line), sink) }
        func say(_ seconds: Int) async throws { try await send(.tokenExpiresIn(seconds)) }
        /// Whether the stream goes on.
        func offer(_ news: Mailbox.News) async throws -> Bool {
            let found: Finding?
            if news.changed?.isEmpty == true {
                found = .change(
                    ViewChange(
                        operation: news.checkpoint.operation, writeCheckpoint: news.writeCheckpoint,
                        buckets: [:]))
            } else {
                // All readers of the state may be busy for long.
                found = try await keepalive.wait(clock, for: { try await finding(news) }, saying: say)
            }
            // Data of a replaced stream is being deleted: what was read may have holes.
            guard let found, mailbox.end == nil else { return false }
            let line =
                switch found {
                case .view(let view): session.offer(view)
                case .change(let change): session.offer(change)
                }
            if let line { try await send(line) }
            return true
        }
        serving: while mailbox.end == nil {
            // Verification tolerates a token that expired a moment ago; the stream does not (service 2.2).
            let now = clock.moment
            if let seconds = keepalive.due(at: now, random: clock.random()) {
                try await send(.tokenExpiresIn(seconds))
                if keepalive.isExpired(at: now) { break serving }
            }
            if let view = first {
                first = nil
                if let line = session.offer(view) { try await send(line) }
            }
            switch session.next() {
            case .send(let line): try await send(line)
            case .read(let read):
                let place = room ?? lines.queue(Self.lineLimit)
                room = place
                guard try await isGiven(place, until: keepalive.next(at: clock.moment)) else { continue }
                let chunk = try await keepalive.wait(
                    clock, for: { try await self.chunk(for: read) }, saying: say)
                guard let chunk, mailbox.end == nil else { break serving }
                if let line = session.received(chunk, for: read) {
                    try await write(encoder.encode(line), sink, in: place)
                }
                room = nil
                if session.mayBeInterrupted, let news = mailbox.take() {
                    guard try await offer(news) else { break serving }
                }
            case .wait:
                if let news = mailbox.take() {
                    guard try await offer(news) else { break serving }
                } else {
                    bell.set(keepalive.next(at: clock.moment))
                    try await mailbox.wait()
                }
            }
        }
        // A stream that the service breaks off is not complete.
        if mailbox.end == .closed { throw CancellationError() }
        if let end = encoder.finish() { try await sink.send([end]) }
    }

    /// Whether there is room for a line before the time has come.
    private func isGiven(_ room: LineBudget.Room, until time: Double) async throws -> Bool {
        if room.isGiven { return true }
        return try await clock.first(until: time) { try await room.wait() } != nil
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
}
