import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncSystem

@testable import PowerSyncServiceEngine

/// Replicates a scripted source for one configuration, in the order of effects in which it is done from Postgres: the
/// snapshot along the key, the log from where the slot stands, and rows that are missing read again.
struct ScriptedReplicator: Sendable {
    /// How many changes are told at once of a transaction.
    private static let piece = 6
    /// Behind so many transactions the source has another layout, so that nobody knows large values any more.
    private static let layouts = 16

    let source: ScriptedSource
    let store: ServiceStore
    let publisher: Publisher
    let frames: FrameStore
    let journal: StoreJournal
    let moments: StoreMoments
    let poller: Poller
    /// What the stream is called in the configuration, which is also its hash.
    let name: String
    /// Whether another configuration is to take its place.
    let isFormer: Bool

    /// Goes on until the task is cancelled; the former configuration until it is replaced.
    func run() async throws {
        do {
            let stream = try await prepared()
            let context = EvaluationContext(
                stream: stream.number,
                plan: try SyncPlan.compiled(StoreScript.config(named: name)))
            let writer = GroupWriter(
                store, context, publisher: publisher, frames: frames, maySwitch: !isFormer)
            try await Intake.with(
                writer, delay: { [poller] in try await poller.sleep(until: .now + .milliseconds(5)) },
                note: { [journal] outcome in
                    guard let checkpoint = outcome.checkpoint else { return }
                    journal.published(checkpoint, of: stream.number)
                }
            ) { intake in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    defer { group.cancelAll() }
                    group.addTask { try await acknowledge(intake, stream.number) }
                    group.addTask { try await replicate(intake, context) }
                    if isFormer { group.addTask { try await waitForAnother(stream.number) } }
                    // They end by throwing alone.
                    for try await _ in group {}
                }
            }
        } catch let error as StoreError where isFormer && error == .noStream {
            // Another stream is served by now, and what this one has is being removed.
        }
    }

    /// Throws once clients are served from another stream.
    private func waitForAnother(_ stream: StreamNumber) async throws {
        var sequence: UInt64 = 0
        while true {
            let publication = try await publisher.next(after: sequence)
            guard publication.stream == stream else { throw StoreError.noStream }
            sequence = publication.sequence
        }
    }

    /// The stream of the configuration, with a slot.
    private func prepared() async throws -> StreamRecord {
        let known = try await store.stream(configHash: name)
        if let known, known.reportedLSN > .zero { return known }
        let stream: StreamRecord =
            if let known { known } else {
                try await store.addStream(
                    config: StoreScript.config(named: name), configHash: name, publication: 1
                ) { "slot_\($0)" }
            }
        // The slot is made before anything is read.
        return try await store.noteSlot(of: stream, at: source.now.position, publication: 1)
    }

    /// Tells the source of what is on the disk, which it does not tell again.
    private func acknowledge(_ intake: Intake, _ stream: StreamNumber) async throws {
        while true {
            guard let durable = try await intake.nextOutcome().durable else { continue }
            journal.stored(durable, of: stream)
        }
    }

    private func replicate(_ intake: Intake, _ context: EvaluationContext) async throws {
        let stream = try await store.stream(context.stream)
        if !stream.isSnapshotDone { try await readInitially(intake, context) }
        let record = try await store.stream(context.stream)
        if record.isAhead { try await holdUntilNow(context) }
        for missing in try await store.incompleteTables(context) {
            try await read(try await table(context, anew: missing.isAnew), intake, context)
            try await holdUntilNow(context)
        }
        try await follow(from: record, intake, context)
    }

    /// The record of the script's table.
    private func table(_ context: EvaluationContext, anew: Bool = false) async throws -> SourceTable {
        try await store.resolve(StoreScript.table, types: TypeCatalog(), context, anew: anew)
    }

    // MARK: Reading

    private func readInitially(_ intake: Intake, _ context: EvaluationContext) async throws {
        let table = try await table(context)
        if !table.isSnapshotDone { try await read(table, intake, context) }
        try await intake.submit(
            ChangeBatch(.hold(until: source.now.position, isAhead: false, isSnapshotDone: true)))
        _ = try await intake.drain()
        try moments.note(.read)
    }

    /// Reads a table from where that has come to, piece by piece along its key.
    private func read(_ table: SourceTable, _ intake: Intake, _ context: EvaluationContext) async throws {
        let plan = try await store.plan(table, context)
        var last = table.snapshotKey
        while true {
            let sight = source.now
            let ids = sight.rows.keys.sorted().filter { id in last.map { id > $0 } ?? true }
            let piece = ids.prefix(store.limits.pieceRows)
            var builder = BatchBuilder([plan])
            for id in piece {
                if let row = sight.rows[id] { builder.add(.snapshot, new: row.tuple) }
            }
            if let key = piece.last {
                builder.add(.readUpTo(0, key: key))
                last = key
            }
            var batch = builder.batch
            batch.isAhead = true
            try await intake.submit(batch)
            try await intake.submit(
                ChangeBatch(.hold(until: sight.position, isAhead: true, isSnapshotDone: false)))
            try moments.note(.piece)
            guard piece.count == store.limits.pieceRows else { break }
        }
        var done = table
        done.isSnapshotDone = true
        done.snapshotKey = nil
        try await intake.submit(ChangeBatch(.readWhole(0), tables: [TablePlan(done)]))
        _ = try await intake.drain()
    }

    /// What was just read is newer than the log, so nothing is published before the log is as new.
    private func holdUntilNow(_ context: EvaluationContext) async throws {
        try await store.holdCheckpoint(context.stream, until: source.now.position)
    }

    /// Reads rows again of which values are not known.
    private func readAgain(
        _ rows: [IncompleteRow], _ intake: Intake, _ context: EvaluationContext
    ) async throws {
        try moments.note(.again)
        let now = source.now.rows
        for row in rows {
            guard let id = row.values.first ?? nil, let found = now[id] else { continue }
            let plan = try await store.plan(row.table, context)
            try await intake.submit(ChangeBatch(.readAgain, of: plan, [found.id, found.owner, found.text]))
        }
        _ = try await intake.drain()
        try await holdUntilNow(context)
        try await store.noteComplete(rows.map(\.table))
    }

    // MARK: The log

    /// Takes transactions from where the state or the slot stands, whichever is further.
    private func follow(
        from record: StreamRecord, _ intake: Intake, _ context: EvaluationContext
    ) async throws {
        var partial = record.partial
        guard var last = StoreScript.number(at: record.storedLSN) else {
            throw StoreSession.Failure(description: "\(record.storedLSN) is no commit of the script")
        }
        var plan = try await newPlan(last, intake, context)
        while true {
            let number = last + 1
            let changes = try await source.transaction(number)
            if number.isMultiple(of: Self.layouts) { plan = try await newPlan(number, intake, context) }
            let position = StoreScript.position(of: number)
            let told = partial.finalLSN == position ? partial.changes : 0
            partial = TransactionProgress()
            try await submit(changes, behind: told, at: position, plan, intake, context)
            last = number
            try moments.note(.commit)
        }
    }

    /// The table as the source has it now, whose rows lie elsewhere than before.
    private func newPlan(
        _ number: Int, _ intake: Intake, _ context: EvaluationContext
    ) async throws -> TablePlan {
        _ = try await intake.drain()
        let layout = TableLayout(text: "layout \(number)", seenAt: source.now.position)
        let table = try await store.note(layout, of: try await table(context))
        return try await store.plan(table.read, context)
    }

    /// Submits a transaction in pieces.
    ///
    /// - Parameters:
    ///   - changes: What it tells.
    ///   - told: How many of these are stored already.
    ///   - position: Where it is committed.
    ///   - plan: The table.
    ///   - intake: The way to the disk.
    ///   - context: The stream.
    /// - Throws: As the intake.
    private func submit(
        _ changes: [StoreScript.Change], behind told: Int, at position: LSN, _ plan: TablePlan,
        _ intake: Intake, _ context: EvaluationContext
    ) async throws {
        var rest = changes.dropFirst(told)
        while true {
            let piece = rest.prefix(Self.piece)
            rest = rest.dropFirst(piece.count)
            var builder = BatchBuilder(piece.isEmpty ? [] : [plan])
            builder.add(.begun(position))
            for change in piece { change.add(to: &builder) }
            if rest.isEmpty {
                builder.add(.committed(position))
            } else {
                let progress = TransactionProgress(
                    finalLSN: position, position: position, changes: changes.count - rest.count)
                builder.add(.told(progress))
            }
            var batch = builder.batch
            batch.mayBeIncomplete = batch.cells.contains(.unchanged)
            // Until clients are served from here each commit may be the one that makes them so.
            let isAwaited = batch.mayBeIncomplete || publisher.current?.stream != context.stream
            try await intake.submit(batch)
            if isAwaited {
                let outcome = try await intake.drain()
                if outcome.hasSwitched { try moments.note(.switched) }
                if !outcome.incomplete.isEmpty {
                    try await readAgain(outcome.incomplete, intake, context)
                }
            }
            if rest.isEmpty { return }
        }
    }
}
