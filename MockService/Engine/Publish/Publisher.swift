import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire

/// Hands each checkpoint to the streams that it concerns, and wakes nobody else (DESIGN.md, 7).
///
/// Publishing, attaching and expecting happen one at a time, so that nothing falls between them:
/// - A stream attaches, and then reads what it begins with, of the newest checkpoint on the disk. What is published
///   behind that is in its mailbox, perhaps beside some that it has read already.
/// - A write checkpoint is stored, and then expected. A stream of its key that attaches before that is told; one
///   that attaches later finds it on the disk. If its head was published meanwhile, it is told at once.
/// - What stands still for its successor keeps the totals of its changed buckets, should it go on.
/// - At a switch, a retraction and the end everybody's mailbox says so before anything else happens. So whoever has read
///   something, and finds that the end has not come, has read it from data that was not being deleted.
package final class Publisher: Sendable {
    private typealias Waiter = CheckedContinuation<Publication, any Error>

    private struct State {
        var current: Publication?
        /// When what is current was replicated.
        var time: ContinuousClock.Instant?
        /// The stream that is about to take the place of the current one, which stands still meanwhile.
        var successor: StreamNumber?
        /// What the current one has changed while it stands still.
        var heldBack = ChangedBuckets()
        /// What finds something else meanwhile.
        var heldBackLookups = ChangedLookups()
        /// What rows have set meanwhile.
        var heldBackWriteCheckpoints = SetWriteCheckpoints()
        var sequence: UInt64 = 0
        var index = SubscriptionIndex()
        var heads = PendingHeads()
        var wakeups = 0
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
        var isClosed = false

        /// Makes a publication of a commit.
        mutating func publish(_ commit: DurableCommit) -> (publication: Publication, woken: [Mailbox.Waiter])
        {
            var woken: [Mailbox.Waiter] = []
            if let current, current.stream != commit.stream {
                woken = finish(.replaced)
                forgetHeldBack()
            }
            holdBack(commit)
            let whole = DurableCommit(
                served: commit.served, checkpoint: commit.checkpoint, changed: heldBack,
                lookups: heldBackLookups, writeCheckpoints: heldBackWriteCheckpoints)
            forgetHeldBack()
            successor = nil
            sequence += 1
            time = commit.time
            let published = post(whole)
            current = published.publication
            return (published.publication, woken + published.woken)
        }

        /// Keeps what a commit changes for the next publication.
        mutating func holdBack(_ commit: DurableCommit) {
            heldBack.formUnion(commit.changed)
            heldBackLookups.formUnion(commit.lookups)
            heldBackWriteCheckpoints.formUnion(commit.writeCheckpoints)
        }

        /// Forgets what was kept.
        mutating func forgetHeldBack() {
            heldBack = ChangedBuckets()
            heldBackLookups = ChangedLookups()
            heldBackWriteCheckpoints = SetWriteCheckpoints()
        }

        /// Tells of the write checkpoints that the newest checkpoint has reached already.
        mutating func tellReached() -> [Mailbox.Waiter] {
            guard let current, heads.isReached(at: current.checkpoint.lsn) else { return [] }
            return post(
                DurableCommit(
                    served: current.served, checkpoint: current.checkpoint, changed: ChangedBuckets(),
                    lookups: ChangedLookups())
            ).woken
        }

        private mutating func post(
            _ commit: DurableCommit
        ) -> (publication: Publication, woken: [Mailbox.Waiter]) {
            var reached = heads.take(upTo: commit.checkpoint.lsn)
            let set = commit.writeCheckpoints.known
            for (key, id) in set ?? [:] where index.isAwaited(key) { reached[key] = id }
            // Where it is not known which were set, everybody looks.
            let changed = set == nil ? ChangedBuckets.any : commit.changed
            let concerned = index.concerned(by: changed, lookups: commit.lookups, reached.keys)
            let publication = Publication(
                sequence: sequence, served: commit.served, checkpoint: commit.checkpoint,
                changed: concerned.buckets, lookups: concerned.lookups, writeCheckpoints: reached)
            var woken: [Mailbox.Waiter] = []
            for mailbox in concerned.mailboxes {
                let (wasEmpty, waiter) = mailbox.post(publication)
                // One that finds out what it holds looks at it anyway.
                if wasEmpty, !index.isOpen(mailbox) { wakeups += 1 }
                if let waiter { woken.append(waiter) }
            }
            return (publication, woken)
        }

        /// Ends all streams; nobody is attached any more.
        mutating func finish(_ end: Mailbox.End) -> [Mailbox.Waiter] {
            let woken = index.mailboxes.compactMap { $0.finish(end) }
            index = SubscriptionIndex()
            heads = PendingHeads()
            return woken
        }

        mutating func takeWaiters() -> [Waiter] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let state = Lock(State())

    /// Makes a publisher without a checkpoint.
    package init() {}

    /// The newest publication, nil before the first.
    package var current: Publication? { state.withLock { $0.current } }

    /// When the newest checkpoint was replicated; nil before the first of this process.
    package var lastReplicated: ContinuousClock.Instant? {
        state.withLock { $0.current == nil ? nil : $0.time }
    }

    /// Whether the service ends.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// How often a stream that had nothing to look at got something.
    package var sessionWakeups: Int { state.withLock { $0.wakeups } }

    /// How many streams have something to look at or to send.
    package var sessionsBehind: Int {
        state.withLock { state in state.index.mailboxes.count { !$0.isAtRest } }
    }

    /// How many write checkpoints wait for the log.
    package var pendingHeads: Int { state.withLock { $0.heads.count } }

    // MARK: Streams

    /// Attaches a stream: from now on its mailbox gets what concerns it.
    ///
    /// - Parameters:
    ///   - mailbox: The mailbox.
    ///   - stream: The replication stream that its buckets are of.
    ///   - isOpen: Whether the stream has yet to find out what it holds, as `open` says.
    /// - Returns: What it begins with; nil if clients are served from another replication stream.
    /// - Throws: `CancellationError` if the service ends.
    package func attach(
        _ mailbox: Mailbox, to stream: StreamNumber, isOpen: Bool = false
    ) throws(CancellationError) -> Attachment? {
        let publication = try state.withLock { state throws(CancellationError) -> Publication? in
            if state.isClosed { throw CancellationError() }
            guard let current = state.current, current.stream == stream else { return nil }
            state.index.add(mailbox)
            if isOpen { state.index.open(mailbox) }
            return current
        }
        return publication.map { Attachment(mailbox, $0, self) }
    }

    /// Lets a stream find out what it holds: until `update` its mailbox gets everything, for nobody knows what concerns it.
    ///
    /// - Parameter mailbox: The mailbox, which is attached.
    package func open(_ mailbox: Mailbox) { state.withLock { $0.index.open(mailbox) } }

    /// Takes note of what a stream holds from now on.
    ///
    /// What was published since the stream opened its mailbox is in there, whatever of it concerns the stream.
    ///
    /// - Parameters:
    ///   - mailbox: The mailbox.
    ///   - buckets: Its buckets, by whole name.
    ///   - lookups: The keys of lookups that its buckets come of.
    package func update(_ mailbox: Mailbox, buckets: Set<ExactText>, lookups: Set<LookupKey>) {
        state.withLock { $0.index.update(mailbox, buckets: buckets, lookups: lookups) }
    }

    /// Whether a stream holds a bucket, by whole name: then what is written to it is going to be sent.
    package func isHeld(_ bucket: ExactText) -> Bool { state.withLock { $0.index.isHeld(bucket) } }

    fileprivate func detach(_ mailbox: Mailbox) {
        state.withLock { state in
            state.index.remove(mailbox)
            if !state.index.isAwaited(mailbox.key) { state.heads.remove(mailbox.key) }
        }
    }

    /// Waits for a write checkpoint that was stored, if a stream could be told of it; not where rows set these.
    ///
    /// - Parameters:
    ///   - id: Its id.
    ///   - key: Whose it is.
    ///   - head: The position that the log has to reach, as it was stored with the id.
    package func expect(_ id: Int64, of key: ExactText, at head: LSN) {
        let woken = state.withLock { state -> [Mailbox.Waiter] in
            guard state.index.isAwaited(key),
                state.current?.served.plan.hasCustomWriteCheckpoints != true
            else { return [] }
            state.heads.add(id, of: key, at: head)
            return state.tellReached()
        }
        for waiter in woken { waiter.resume() }
    }

    /// Lowers heads behind the end of the log, as `ServiceStore.lowerHeads` does for those on the disk.
    ///
    /// - Parameters:
    ///   - furthest: The furthest of them.
    ///   - end: Where the log ended.
    package func lowerHeads(upTo furthest: LSN, to end: LSN) {
        let woken = state.withLock { state in
            state.heads.lower(upTo: furthest, to: end)
            return state.tellReached()
        }
        for waiter in woken { waiter.resume() }
    }

    // MARK: Checkpoints

    /// Finds out whether clients may be served from another stream from a checkpoint on: what they have must not go
    /// back.
    ///
    /// If it is older than what is served, then that stands still until it is not, so that nobody runs ahead for ever.
    ///
    /// - Parameters:
    ///   - stream: The other stream.
    ///   - checkpoint: A checkpoint of it.
    /// - Returns: Whether it may be published.
    package func mayServe(_ stream: StreamNumber, from checkpoint: StoredCheckpoint) -> Bool {
        state.withLock { state in
            guard let current = state.current, current.stream != stream else { return true }
            state.successor = stream
            return checkpoint.lsn >= current.checkpoint.lsn
        }
    }

    /// Finds out whether a checkpoint may become visible: of the stream that is served unless that stands still for its
    /// successor, of another one if `mayServe` says so.
    ///
    /// - Parameters:
    ///   - checkpoint: The checkpoint.
    ///   - stream: Its stream.
    ///   - maySwitch: Whether clients may be served from that stream from now on, if they are from another.
    /// - Returns: Whether it may be stored as visible, and published then.
    package func mayShow(
        _ checkpoint: StoredCheckpoint, of stream: StreamNumber, maySwitch: Bool
    ) -> Bool {
        let isServed: Bool? = state.withLock { state in
            guard state.current?.stream == stream else { return nil }
            return state.successor == nil
        }
        return isServed ?? (maySwitch && mayServe(stream, from: checkpoint))
    }

    /// Lets what is served go on: the stream that was to take its place has been lost.
    package func abandonSwitch() { state.withLock { $0.successor = nil } }

    /// Publishes a checkpoint.
    ///
    /// - Parameters:
    ///   - commit: The checkpoint, behind all of its stream that were handed over before.
    ///   - maySwitch: Whether clients may be served from its stream from now on, if they are from another.
    package func publish(_ commit: DurableCommit, maySwitch: Bool = true) {
        publish(commit) { state in
            state.current?.stream == commit.stream ? state.successor == nil : maySwitch
        }
    }

    /// Publishes a position that has no operations of its own, before it is stored.
    ///
    /// - Parameters:
    ///   - checkpoint: The operations of the checkpoint that is on the disk, and the position.
    ///   - served: Its stream, and the plan of that.
    /// - Returns: False if clients are served something else, or stand still: then it has to be stored first.
    package func advance(to checkpoint: StoredCheckpoint, _ served: ServedPlan) -> Bool {
        publish(
            DurableCommit(
                served: served, checkpoint: checkpoint, changed: ChangedBuckets(), lookups: ChangedLookups())
        ) { state in
            guard let current = state.current, current.stream == served.stream else { return false }
            return state.successor == nil && state.heldBack.isEmpty && state.heldBackLookups.isEmpty
                && state.heldBackWriteCheckpoints.isEmpty
                && current.checkpoint.operation == checkpoint.operation
                && current.checkpoint.lsn <= checkpoint.lsn
        }
    }

    /// Publishes a checkpoint unless clients are served from one already.
    ///
    /// - Parameter commit: The checkpoint.
    package func publishFirst(_ commit: DurableCommit) { publish(commit) { $0.current == nil } }

    @discardableResult
    private func publish(_ commit: DurableCommit, if mayPublish: (State) -> Bool) -> Bool {
        let (publication, woken, waiters) = state.withLock {
            state -> (Publication?, [Mailbox.Waiter], [Waiter]) in
            guard mayPublish(state) else {
                if state.current?.stream == commit.stream { state.holdBack(commit) }
                return (nil, [], [])
            }
            let (publication, woken) = state.publish(commit)
            return (publication, woken, state.takeWaiters())
        }
        for waiter in woken { waiter.resume() }
        guard let publication else { return false }
        for waiter in waiters { waiter.resume(returning: publication) }
        return true
    }

    /// Takes back what was published: it is not of this source.
    ///
    /// Streams end, and nobody gets one before the next checkpoint.
    package func retract() {
        let woken = state.withLock { state in
            state.current = nil
            state.successor = nil
            state.forgetHeldBack()
            return state.finish(.replaced)
        }
        for waiter in woken { waiter.resume() }
    }

    /// Returns a checkpoint published behind `sequence`, at once if there is one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled or the publisher closed.
    package func next(after sequence: UInt64) async throws -> Publication {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let answer: Result<Publication, any Error>? = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return .failure(CancellationError()) }
                    if let current = state.current, current.sequence > sequence { return .success(current) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends all streams, and wakes everybody else who waits with `CancellationError`.
    package func close() {
        let (woken, waiters) = state.withLock { state in
            state.isClosed = true
            return (state.finish(.closed), state.takeWaiters())
        }
        for waiter in woken { waiter.resume() }
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
    }
}

/// A stream that is told what concerns it, until the last reference goes, however the stream ends.
package final class Attachment: Sendable {
    /// Gets everything that is published behind `checkpoint`.
    package let mailbox: Mailbox
    /// The replication stream that its buckets are of.
    package let stream: StreamNumber
    /// The newest checkpoint when the stream was attached.
    package let checkpoint: StoredCheckpoint
    /// Whether rows set the write checkpoints that it is told of.
    let hasCustomWriteCheckpoints: Bool
    private let publisher: Publisher

    fileprivate init(_ mailbox: Mailbox, _ publication: Publication, _ publisher: Publisher) {
        self.mailbox = mailbox
        stream = publication.stream
        checkpoint = publication.checkpoint
        hasCustomWriteCheckpoints = publication.served.plan.hasCustomWriteCheckpoints
        self.publisher = publisher
    }

    deinit { publisher.detach(mailbox) }

    /// Waits for a write checkpoint of the stream's key that was found on the disk.
    ///
    /// - Parameters:
    ///   - id: Its id.
    ///   - head: The position that the log has to reach.
    package func expect(_ id: Int64, at head: LSN) { publisher.expect(id, of: mailbox.key, at: head) }

    /// Lets the stream find out what it holds, as `Publisher.open` says.
    package func open() { publisher.open(mailbox) }

    /// Takes note of what the stream holds from now on, as `Publisher.update` says.
    ///
    /// - Parameters:
    ///   - buckets: Its buckets, by whole name.
    ///   - lookups: The keys of lookups that its buckets come of.
    package func update(buckets: Set<ExactText>, lookups: Set<LookupKey>) {
        publisher.update(mailbox, buckets: buckets, lookups: lookups)
    }
}
