import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

/// Stores groups of evaluated batches of one replication stream, and publishes what becomes visible with them
/// (DESIGN.md, 3).
package struct GroupWriter: Sendable {
    /// The state.
    let store: ServiceStore
    /// Whose rows these are.
    let context: EvaluationContext
    private let publisher: Publisher?
    private let frames: FrameStore?
    private let maySwitch: Bool

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - store: The state.
    ///   - context: Whose rows are written.
    ///   - publisher: Gets what becomes visible; nil if nobody is told, and nobody's view stands still.
    ///   - frames: Gets the operations that streams are going to send; nil if they read all of them.
    ///   - maySwitch: Whether clients may be served from this stream from now on, if they are from another.
    package init(
        _ store: ServiceStore, _ context: EvaluationContext, publisher: Publisher? = nil,
        frames: FrameStore? = nil, maySwitch: Bool = true
    ) {
        self.store = store
        self.context = context
        self.publisher = publisher
        self.frames = frames
        self.maySwitch = maySwitch
    }

    /// Stores a group, durable when this returns, and publishes its last checkpoint.
    ///
    /// That is one SQLite transaction, unless a table is emptied, or rows come to much, as those do that leave many places:
    /// a bounded number of rows and operations goes in each, and others write in between. Should the service end there,
    /// what was told in front is stored with its progress, and a table that is emptied once more loses the rest.
    ///
    /// - Parameter batches: The group, in the order of the log.
    /// - Returns: What became of it.
    /// - Throws: `SQLiteError`, `StoreError`; then what was written ends where the source can go on.
    package func write(_ batches: [EvaluatedBatch]) async throws -> WriteOutcome {
        var outcome = WriteOutcome()
        var place = GroupPlace()
        while place.batch < batches.count {
            if place != GroupPlace() { context.progress() }
            let piece = try await store.pool.write { [place] connection in
                try write(batches, from: place, connection)
            }
            outcome.add(piece.outcome)
            place = piece.place
        }
        for batch in batches {
            let changes = batch.rows.count { $0.kind != .snapshot && $0.kind != .readAgain }
            let commits = batch.marks.contains { if case .committed = $0.mark { true } else { false } }
            outcome.batches += commits || changes > 0 ? 1 : 0
            outcome.changes += changes
        }
        return outcome
    }

    /// Publishes a position with which nothing is to be stored, before it is stored itself: a commit of others must not
    /// cost a sync.
    ///
    /// - Parameter position: The end of a transaction; everything before it is on the disk.
    /// - Returns: Whether it was; if not, it has to be stored as any other commit.
    /// - Throws: `SQLiteError`, `StoreError`.
    func tell(_ position: LSN) async throws -> Bool {
        guard let publisher else { return false }
        return try await store.pool.write { connection in
            let stream = try ServiceStore.writable(context.stream, connection)
            var rule = CommitRule(stream)
            guard rule.isPublished,
                let checkpoint = rule.commits(position, written: 0, mayShow: { _ in true })
            else { return false }
            return publisher.advance(to: checkpoint, context.served)
        }
    }

    /// Whether clients may be served a checkpoint.
    func mayShow(_ checkpoint: StoredCheckpoint) -> Bool {
        publisher?.mayShow(checkpoint, of: context.stream, maySwitch: maySwitch) ?? true
    }

    /// Whether what is written to a bucket, of a whole name, is going to be sent.
    func isHeld(_ bucket: ExactText) -> Bool {
        guard let publisher, frames != nil else { return false }
        return publisher.isHeld(bucket)
    }

    /// Whether clients are served from another stream, or from none.
    var isSwitching: Bool { publisher.map { $0.current?.stream != context.stream } ?? false }

    /// Stores a piece of a group, and publishes what becomes visible with it.
    private func write(
        _ batches: [EvaluatedBatch], from place: GroupPlace, _ connection: SQLiteConnection
    ) throws -> (outcome: WriteOutcome, place: GroupPlace) {
        do {
            let stored = try connection.transaction {
                var transaction = try GroupTransaction(self, from: place, connection)
                try transaction.write(batches)
                try transaction.finish()
                return (
                    outcome: transaction.outcome, place: transaction.place, before: transaction.before,
                    written: transaction.written
                )
            }
            var outcome = stored.outcome
            let changes = store.unpublished.note(
                stored.written, of: stored.before, isCheckpoint: outcome.checkpoint != nil)
            outcome.changed = changes.buckets
            if outcome.hasSwitched {
                store.unpublished.forgetAll(but: context.stream)
                frames?.forgetPublished()
            }
            if let checkpoint = outcome.checkpoint { publish(checkpoint, changes, connection) }
            return (outcome, stored.place)
        } catch {
            store.unpublished.lose(context.stream)
            throw error
        }
    }

    private func publish(
        _ checkpoint: StoredCheckpoint, _ changes: CheckpointChanges, _ connection: SQLiteConnection
    ) {
        guard let publisher else { return }
        if let current = publisher.current, current.stream == context.stream,
            current.checkpoint.operation == checkpoint.operation, current.checkpoint.lsn >= checkpoint.lsn,
            changes.buckets.isEmpty, changes.lookups.isEmpty, changes.writeCheckpoints.isEmpty
        {
            // It was told before it was stored; or a later one was, and the link ended before that could be stored.
            return
        }
        // Before anybody is told, so that who looks for them finds them.
        frames?.publish(made(of: changes, publisher, connection))
        publisher.publish(
            DurableCommit(
                served: context.served, checkpoint: checkpoint, changed: changes.buckets,
                lookups: changes.lookups, writeCheckpoints: changes.writeCheckpoints),
            maySwitch: maySwitch)
    }

    /// Makes frames of what was written to buckets that a stream holds.
    private func made(
        of changes: CheckpointChanges, _ publisher: Publisher, _ connection: SQLiteConnection
    ) -> [Frame] {
        guard let totals = changes.buckets.known else { return [] }
        return changes.operations.flatMap { name, kept -> [Frame] in
            guard let last = totals[name]?.lastOperation, publisher.isHeld(name) else { return [] }
            do {
                return try kept.frames(upTo: last, connection)
            } catch {
                // The checkpoint stands. Who needs these operations reads them, and meets what is wrong there.
                return []
            }
        }
    }
}

/// Where the writing of a group stands between two of its pieces.
struct GroupPlace: Sendable, Equatable {
    /// The batch that is next.
    var batch = 0
    /// The row of the batch that is next.
    var row = 0
    /// The mark of the batch that is next.
    var mark = 0
    /// How many of the batch's waiting rows have had their turn.
    var waiting = 0
    /// Up to where rows may be stored that are newer than what the batch says; nil if it has not begun.
    var aheadUntil: LSN?
    /// Where the transaction is committed that tells of the rows; nil if they are read from the source.
    var toldAt: LSN?
}
