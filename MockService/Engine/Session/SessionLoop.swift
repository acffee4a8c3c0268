import PowerSyncPostgresValues
import PowerSyncSystem
import PowerSyncWire

/// What one stream has sent.
package final class StreamTotals: Sendable {
    private let counts = Lock((operations: 0, bytes: 0))

    /// The numbers so far.
    package var current: (operations: Int, bytes: Int) { counts.withLock { $0 } }

    /// Notes a line that was sent.
    func add(operations: Int, bytes: Int) {
        counts.withLock { counts in
            counts.operations += operations
            counts.bytes += bytes
        }
    }
}

/// Serves one sync stream: finds what its session asks for and sends what it says.
///
/// It looks at what its mailbox has when everything is sent, or where a checkpoint may be interrupted, and waits for
/// that and for the next time of the token without a task of its own. At the head it reads no disk: publications have the
/// totals, and the frames of what was published are in memory.
package struct SessionLoop {
    let store: ServiceStore
    let frames: FrameStore
    let attachment: Attachment
    let alarm: Alarm
    let slot: ConnectionSlots.Slot
    let metrics: ServiceMetrics
    let lines: LineBudget
    /// The buckets of a request that no lookup changes.
    package let buckets: [ResolvedBucket]
    /// When the token expires, in seconds since 1970.
    package let expiry: Double
    /// Finds the buckets of any other request; its mailbox is attached as an open one.
    var lookups: SessionLookups?
    /// What was sent so far.
    package let totals = StreamTotals()

    /// Makes the loop of a stream that is attached.
    package init(
        store: ServiceStore, frames: FrameStore, attachment: Attachment, alarm: Alarm,
        slot: ConnectionSlots.Slot, metrics: ServiceMetrics, lines: LineBudget, buckets: [ResolvedBucket],
        expiry: Double, lookups: SessionLookups? = nil
    ) {
        self.store = store
        self.frames = frames
        self.attachment = attachment
        self.alarm = alarm
        self.slot = slot
        self.metrics = metrics
        self.lines = lines
        self.buckets = buckets
        self.expiry = expiry
        self.lookups = lookups
    }

    private var clock: ServiceClock { alarm.clock }
    private var mailbox: Mailbox { attachment.mailbox }

    // MARK: Views

    /// What a stream sees of a checkpoint, and how it finds out what it sees of another.
    package struct Sight: Sendable {
        /// The checkpoint as the stream sees it.
        var view: CheckpointView
        /// What the first line says of the request's streams, if lookups were evaluated for it.
        package let streams: [StreamDescription]
        /// Finds the buckets again; nil if no lookup changes them.
        let lookups: SessionLookups?
    }

    /// What was read of one moment.
    private struct Reading: Sendable {
        let stored: StoredView
        let found: SessionBuckets
        let lookups: SessionLookups?
    }

    /// Reads what the stream begins with, of the newest checkpoint on the disk; what is published behind that is in its
    /// mailbox.
    ///
    /// - Returns: The checkpoint as the stream sees it.
    /// - Throws: `RequestError` if the request is over a limit; `SQLiteError`, `StoreError`, `CancellationError`.
    package func firstView() async throws -> Sight {
        let reading = try await read(lookups, changed: nil, at: nil)
        let position = max(reading.stored.checkpoint.lsn, attachment.checkpoint.lsn)
        // Its request may have been answered by a service that was ended since.
        if let asked = reading.stored.writeCheckpoint, asked.head > position {
            attachment.expect(asked.id, at: asked.head)
        }
        return sight(of: reading, at: position)
    }

    /// Reads everything anew.
    ///
    /// - Parameters:
    ///   - news: What has made that necessary.
    ///   - lookups: What the stream had found out last.
    /// - Returns: The newest checkpoint on the disk as the stream sees it.
    /// - Throws: As `firstView`.
    private func sight(behind news: Mailbox.News, _ lookups: SessionLookups?) async throws -> Sight {
        let reading = try await read(lookups, changed: news.lookups, at: news.checkpoint.operation)
        var sight = self.sight(of: reading, at: max(reading.stored.checkpoint.lsn, news.checkpoint.lsn))
        sight.view.writeCheckpoint = [sight.view.writeCheckpoint, news.writeCheckpoint].compactMap { $0 }
            .max()
        return sight
    }

    /// Reads what the stream sees; of lookups it is told from now on what it has used.
    private func read(
        _ lookups: SessionLookups?, changed: Set<LookupKey>?, at operation: OperationID?
    ) async throws -> Reading {
        guard let lookups else {
            let stored = try await store.view(
                of: buckets.map(\.name), stream: attachment.stream, key: mailbox.key.text,
                isCustom: attachment.hasCustomWriteCheckpoints)
            return Reading(
                stored: stored, found: SessionBuckets(buckets: buckets, streams: []), lookups: nil)
        }
        // What is published from here on is looked at when it is known what concerns the stream.
        attachment.open()
        let found = try await store.view(
            of: lookups, changed: changed, at: operation, key: mailbox.key.text)
        attachment.update(buckets: found.found.names, lookups: found.lookups.keys)
        return Reading(stored: found.view, found: found.found, lookups: found.lookups)
    }

    /// What the stream sees of what was read.
    ///
    /// - Parameters:
    ///   - reading: What was read.
    ///   - position: The later one of its position and of that which had been published before: a position that is
    ///     published may not be on the disk yet, and has no operations of its own.
    /// - Returns: The checkpoint.
    private func sight(of reading: Reading, at position: LSN) -> Sight {
        let stored = reading.stored
        let view = CheckpointView(
            operation: stored.checkpoint.operation,
            writeCheckpoint: stored.writeCheckpoint?.reached(at: position),
            buckets: reading.found.buckets.map {
                CheckpointView.Bucket(bucket: $0, state: stored.buckets[ExactText($0.name)] ?? .empty)
            })
        return Sight(view: view, streams: reading.found.streams, lookups: reading.lookups)
    }

    // MARK: Serving

    /// Operations that are read and encoded while a line before them is sent; one owner, not shared.
    private final class Ahead {
        private var frame: Task<Frame?, any Error>?

        deinit { end() }

        func begin(_ read: @escaping @Sendable () async throws -> Frame?) {
            frame = Task { try await read() }
        }

        /// Lets go of them.
        func end() {
            frame?.cancel()
            frame = nil
        }
    }

    /// What became of looking for operations.
    private enum Finding: Sendable {
        /// They are there; nil if there are none.
        case frame(Frame?)
        /// There is no room for them yet.
        case notYet
        /// The stream ends.
        case end
    }

    /// Sends until the token expires, the configuration changes, the client goes or the service stops.
    ///
    /// - Parameters:
    ///   - session: A session that was offered nothing yet.
    ///   - beginning: What `firstView` has read.
    ///   - encoder: Makes bytes of lines.
    ///   - sink: Takes the lines; suspends while the client does not read.
    /// - Throws: What the sink or the storage throws; `RequestError` if the request comes to more than it may by now; and
    ///   `CancellationError`, also when the service stops.
    package func run(
        _ session: StreamSession, _ beginning: Sight, _ encoder: LineEncoder, _ sink: any LineSink
    ) async throws {
        let clock = self.clock
        let mailbox = self.mailbox
        let outbox = LineOutbox(sink, counting: lines, alarm, expiry: expiry) { noteSent($0) }
        var session = session
        var first: CheckpointView? = beginning.view
        // What is published up to there is known.
        var known = beginning.view.operation
        var lookups = beginning.lookups
        var keepalive = KeepaliveSchedule(expiry: expiry, at: clock.moment, random: clock.random())
        let bell = alarm.timer { mailbox.ring() }
        // Room for operations that are read, from when they are asked for.
        var room: LineBudget.Room?
        let ahead = Ahead()
        func send(_ line: SyncLine) async throws { try await outbox.add(encoder.encode(line)) }
        func say(_ seconds: Int) async throws {
            try await send(.tokenExpiresIn(seconds))
            try await outbox.flush()
        }
        /// Whether the stream goes on.
        func offer(_ news: Mailbox.News) async throws -> Bool {
            let line: SyncLine?
            if let changed = news.changed, news.lookups?.isEmpty == true {
                line = session.offer(
                    ViewChange(
                        operation: news.checkpoint.operation, writeCheckpoint: news.writeCheckpoint,
                        buckets: changed))
                known = max(known, news.checkpoint.operation)
            } else {
                try await outbox.flush()
                // All readers of the state may be busy for long.
                let sight = try await keepalive.wait(
                    clock, for: { [lookups] in try await self.sight(behind: news, lookups) }, saying: say)
                // Data of a replaced stream is being deleted: what was read may have holes.
                guard let sight, mailbox.end == nil else { return false }
                line = session.offer(sight.view)
                known = max(known, sight.view.operation)
                lookups = sight.lookups
            }
            if let line { try await send(line) }
            return true
        }
        func find(_ request: FrameRequest) async throws -> Finding {
            if let frame = try frames.frame(inMemory: request) {
                room = nil
                // As below: somebody may have read it just now.
                return mailbox.end == nil ? .frame(frame) : .end
            }
            // What there is leaves before anything is waited for.
            try await outbox.flush()
            let place = frames.isBeingRead(request) ? lines.take(0) : room ?? lines.queue(request.bytes)
            room = place
            guard try await isGiven(place, until: keepalive.next(at: clock.moment)) else { return .notYet }
            let found = try await keepalive.wait(
                clock, for: { Finding.frame(try await self.frames.frame(request, place)) }, saying: say)
            // If the frame is counted with it, that holds it.
            room = nil
            guard let found, mailbox.end == nil else { return .end }
            return found
        }
        serving: while mailbox.end == nil {
            // Verification tolerates a token that expired a moment ago; the stream does not (service 2.2).
            let now = clock.moment
            if let seconds = keepalive.due(at: now, random: clock.random()) {
                try await say(seconds)
                if keepalive.isExpired(at: now) { break serving }
            }
            if let view = first {
                first = nil
                if let line = session.offer(view) { try await send(line) }
            }
            switch session.next() {
            case .send(let line): try await send(line)
            case .read(let read):
                let line: EncodedLine?
                switch try await find(read.request) {
                case .notYet: continue serving
                case .end: break serving
                case .frame(let frame): line = try take(frame, for: read, &session, encoder)
                }
                // From here on the line alone holds the frame, and lets go of it when others have no use for it.
                ahead.end()
                if let line {
                    if line.count >= LineOutbox.most { begin(ahead, of: session, encoder) }
                    try await outbox.add(line)
                }
                if session.mayBeInterrupted, let news = mailbox.take(behind: known) {
                    guard try await offer(news) else { break serving }
                }
            case .wait:
                // Nothing that is new keeps what is there from leaving.
                try await outbox.flush()
                if let news = mailbox.take(behind: known) {
                    guard try await offer(news) else { break serving }
                } else {
                    bell.set(keepalive.next(at: clock.moment))
                    try await mailbox.wait()
                }
            }
        }
        // A stream that the service breaks off is not complete.
        if mailbox.end == .closed { throw CancellationError() }
        if let end = encoder.finish() { try await outbox.add(end) }
        try await outbox.flush()
    }

    /// Begins with the operations that come next, if they are on the disk and there is much room: a client that reads fast
    /// waits for none of both then.
    private func begin(_ ahead: Ahead, of session: StreamSession, _ encoder: LineEncoder) {
        var session = session
        guard case .read(let read) = session.next(), !frames.isAtHand(read.request),
            let room = lines.takeSpare(read.request.bytes)
        else { return }
        let (frames, encoding) = (frames, encoder.encoding)
        ahead.begin {
            let frame = try await frames.frame(read.request, room)
            if let frame { try encoding.prepare(frame) }
            return frame
        }
    }

    /// Whether there is room for a line before the time has come, or the end of the stream.
    private func isGiven(_ room: LineBudget.Room, until time: Double) async throws -> Bool {
        if room.isGiven { return true }
        let mailbox = self.mailbox
        _ = try await clock.first(until: time) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await room.wait() }
                group.addTask { try await mailbox.waitForEnd() }
                defer { group.cancelAll() }
                _ = try await group.next()
            }
        }
        return room.isGiven
    }

    // MARK: Lines

    /// Makes the line of operations that were found, and lets the session know; nil if there are none.
    private func take(
        _ frame: Frame?, for read: StreamSession.BucketRead, _ session: inout StreamSession,
        _ encoder: LineEncoder
    ) throws -> EncodedLine? {
        guard let frame else {
            session.received(nil, for: read)
            return nil
        }
        let hasMore = frame.hasMore(read.request)
        session.received(
            StreamSession.LinePart(last: frame.last, count: frame.count, hasMore: hasMore), for: read)
        return try encoder.encode(frame, of: read.name, after: read.after, hasMore: hasMore)
    }

    private func noteSent(_ line: EncodedLine) {
        metrics.count { counters in
            counters.syncedBytes += line.plainBytes
            counters.sentBytes += line.count
            counters.syncedOperations += line.operations
        }
        totals.add(operations: line.operations, bytes: line.plainBytes)
    }
}
