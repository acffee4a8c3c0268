import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSystem

/// One connection's worth of streaming changes (service 7.4).
struct ReplicationRun {
    let replicator: Replicator
    let connection: PostgresConnection
    let replication: PostgresConnection
    let context: EvaluationContext
    /// The way to the disk, in which nothing is under way when this begins.
    let intake: Intake
    let slot: String
    /// The publication that the slot was made for.
    let publication: Int64
    let links: LinkMemory

    private var store: ServiceStore { replicator.store }
    private var lookup: TableLookup {
        TableLookup(
            replicator: replicator, connection: connection, context: context, intake: intake, links: links)
    }

    /// Streams until something fails; a status goes to Postgres every few seconds, whatever else takes long.
    func stream(from record: StreamRecord) async throws {
        let messages = await replication.serverVersion >= 140_000
        try await replication.startReplication(
            slot: slot, publication: SourceDatabase.publication, from: .zero, messages: messages)
        // From now on nobody else moves the slot.
        guard case .usable(let confirmed) = try await ReplicationSlots.state(of: slot, connection),
            confirmed <= record.storedLSN
        else {
            throw ReplicationError(.slotLost, "Replication slot \(slot) is used by somebody else, too.")
        }
        // What was read when the service ended has no position yet; the one of now lies behind it.
        if record.isAhead { try await lookup.holdUntilNow() }
        let reporter = StandbyReporter(replication, position: max(record.appliedLSN, confirmed))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await readChanges(record, reporter) }
            group.addTask { try await acknowledge(reporter) }
            group.addTask {
                while true {
                    try await replicator.poller.sleep(until: .now + replicator.times.status)
                    try await reporter.report(requestsReply: true)
                    replicator.warnings.tellDue()
                }
            }
            if replicator.formerStream != nil {
                group.addTask {
                    var sequence: UInt64 = 0
                    while !replicator.isReplaced {
                        sequence = try await replicator.publisher.next(after: sequence).sequence
                    }
                    throw ReplicationError(.replaced, "Clients are served from another configuration by now.")
                }
            }
            // Nobody ends the stream but by throwing, and then the others are cancelled.
            defer { group.cancelAll() }
            for try await _ in group {}
        }
    }

    /// Tells the source of what is on the disk, which it may forget.
    private func acknowledge(_ reporter: StandbyReporter) async throws {
        while true {
            let outcome = try await intake.nextOutcome()
            if outcome.committed != nil {
                links.note { known in
                    known.stream.arrived()
                    known.hasCommitted = true
                }
            }
            guard let durable = outcome.durable else { continue }
            await reporter.advance(to: durable)
            try await reporter.report()
        }
    }

    private func readChanges(_ record: StreamRecord, _ reporter: StandbyReporter) async throws {
        var decoder = StreamDecoder(
            appliedLSN: record.appliedLSN, partial: record.partial, limits: store.limits)
        try await lookup.readMissing()
        var unseen = UnseenTransactions(limit: store.limits.aheadBytes)
        var nextHeartbeat = ContinuousClock.now + replicator.heartbeat
        var nextLook = ContinuousClock.now + replicator.times.status
        // Only time in which we wait counts: what takes long here is no silence of the source.
        var silence = Duration.zero
        var isHeard = false
        let patience = links.now.stream.current
        while true {
            let begun = ContinuousClock.now
            let deadline = min(nextHeartbeat, nextLook, begun + (patience - silence))
            replicator.health.step(before: max(.zero, deadline - begun))
            var frames = unseen.takeKept()
            if frames == nil {
                frames = try await replication.nextReplicationFrames(until: deadline, limits: decoder.room)
            }
            replicator.health.step()
            if var arrived = frames {
                frames = nil
                silence = .zero
                if !isHeard {
                    replicator.health.isHeard()
                    // From its first word on the source knows what this link is to those who commit.
                    try await standbyState()
                }
                isHeard = true
                decoder.append(&arrived)
                try await read(&decoder, &unseen, reporter)
            } else {
                silence += ContinuousClock.now - begun
                guard silence < patience else {
                    throw ReplicationError(.silent, "The source has said nothing for \(patience).")
                }
            }
            if decoder.isEmpty, !decoder.isInTransaction { unseen.clear() }
            if ContinuousClock.now >= nextLook {
                if try await !lookup.tablesWithoutWriters().isEmpty {
                    // If that ends a transaction, it reads them as well.
                    try await submit(&decoder, &unseen, reporter)
                    let tables = try await tablesWithoutWriters(&unseen, reporter)
                    if !tables.isEmpty { try await drain(&decoder, &unseen, reporter) }
                    try await readWritten(tables, &decoder)
                }
                // One of a former configuration was in use when clients were served from this one.
                if replicator.formerStream == nil { try await replicator.dropStoppedSlots(connection) }
                nextLook = .now + replicator.times.status
            }
            if ContinuousClock.now >= nextHeartbeat {
                // From version 18 on Postgres only warns where a publication is missing, and leaves out what was changed. Up
                // to 17 it cannot go on behind such a change.
                guard try await SourceCatalog(connection).checkPublication() == publication else {
                    throw ReplicationError(.publication, "The publication was altered or made again.")
                }
                try await standbyState()
                try await SourceCatalog.ping(connection)
                nextHeartbeat = .now + replicator.heartbeat
            }
        }
    }

    /// Reads what has arrived, and submits it at the end of a transaction, or if it is a batch.
    private func read(
        _ decoder: inout StreamDecoder, _ unseen: inout UnseenTransactions, _ reporter: StandbyReporter
    ) async throws {
        while true {
            let step = try decoder.step()
            if let notes = decoder.takeNotes() {
                unseen.note(notes.begun)
                replicator.metrics.count { $0.note(notes, of: replicator.configHash) }
            }
            switch step {
            case .table(let relation)?:
                try await submit(&decoder, &unseen, reporter)
                try await drain(&decoder, &unseen, reporter)
                try await wait(for: &unseen, reporter)
                let table = try await lookup.table(
                    relation, in: decoder.transactionID, committedAt: decoder.finalLSN)
                decoder.set(try await plan(table), for: relation.oid)
            case .keepalive(let end, let replyRequested)?:
                if !decoder.isInTransaction { try await submit(&decoder, &unseen, reporter) }
                try await keepAlive(
                    end, replyRequested: replyRequested, isInTransaction: decoder.isInTransaction, reporter)
            case .full?: try await submit(&decoder, &unseen, reporter)
            case nil:
                if decoder.isFull || !decoder.isInTransaction {
                    try await submit(&decoder, &unseen, reporter)
                }
                return
            }
        }
    }

    /// Handles a sign of life: everything before its position has been sent.
    private func keepAlive(
        _ end: LSN, replyRequested: Bool, isInTransaction: Bool, _ reporter: StandbyReporter
    ) async throws {
        if !isInTransaction, intake.isAtRest {
            replicator.metrics.count { $0.isUpToDate(replicator.configHash) }
        }
        let isStored = await reporter.isStored(end)
        if !isInTransaction, !isStored {
            // A commit of which nothing is sent may wait for it, too.
            intake.passed(end, isUrgent: replyRequested)
        } else if replyRequested {
            try await reporter.report()
        }
    }

    private func plan(_ table: SourceTable?) async throws -> TablePlan? {
        guard let table else { return nil }
        return try await store.plan(table, context)
    }

    /// Submits what was collected, and waits for it if something has to be done about it here.
    private func submit(
        _ decoder: inout StreamDecoder, _ unseen: inout UnseenTransactions, _ reporter: StandbyReporter
    ) async throws {
        guard var batch = decoder.take() else { return }
        replicator.health.step(before: replicator.times.statement)
        if batch.tables.contains(where: { $0.table.hasComposites }) {
            try await wait(for: &unseen, reporter)
            try await lookup.renewFields(of: &batch)
        }
        // What a transaction wrote to a table before that was published is in no stream, and is not left out of its
        // checkpoint (service 4.6).
        let isCommitted = batch.lastCommit != nil
        var written: [UInt32] = []
        if isCommitted { written = try await tablesWithoutWriters(&unseen, reporter) }
        batch.isAhead = !written.isEmpty
        // Until clients are served from here each commit may be the one that makes them so.
        let isAwaited =
            batch.mayBeIncomplete || !written.isEmpty
            || (isCommitted && replicator.publisher.current?.stream != context.stream)
        // A position that commits wait for is stored at once.
        let isUrgent = batch.isOfPositions && links.now.hasToldOfStandby
        try await intake.submit(consume batch, isUrgent: isUrgent)
        guard isAwaited else { return }
        try await drain(&decoder, &unseen, reporter)
        try await readWritten(written, &decoder)
    }

    /// Returns when everything that was submitted is on the disk, and what was missing of it has been read.
    private func drain(
        _ decoder: inout StreamDecoder, _ unseen: inout UnseenTransactions, _ reporter: StandbyReporter
    ) async throws {
        let outcome = try await intake.drain()
        if outcome.hasSwitched { try await replicator.noteSwitch(to: context.stream, connection) }
        guard !outcome.incomplete.isEmpty || !outcome.over.isEmpty else { return }
        try await wait(for: &unseen, reporter)
        try await readAgain(outcome, &decoder)
    }

    /// The tables whose former writers have all ended, the transactions that were told among them.
    private func tablesWithoutWriters(
        _ unseen: inout UnseenTransactions, _ reporter: StandbyReporter
    ) async throws -> [UInt32] {
        guard try await !store.tablesWithWriters(context).isEmpty else { return [] }
        try await wait(for: &unseen, reporter)
        return try await lookup.tablesWithoutWriters()
    }

    /// Reads tables behind the end of their former writers.
    private func readWritten(_ tables: [UInt32], _ decoder: inout StreamDecoder) async throws {
        for oid in tables {
            let table = try await lookup.readAnew(oid: oid, told: decoder.description(of: oid))
            decoder.replace(try await plan(table), for: oid)
            try await store.forgetWriters(oid: oid, context)
        }
    }

    private func readAgain(_ outcome: WriteOutcome, _ decoder: inout StreamDecoder) async throws {
        var reselection = RowReselection(
            connection: connection, types: try await SourceCatalog(connection).types())
        var anew: Set<UInt32> = []
        func readAnew(_ table: SourceTable) async throws {
            let description = table.description
            guard anew.insert(description.oid).inserted else { return }
            let table = try await lookup.readAnew(oid: description.oid, told: description)
            decoder.replace(try await plan(table), for: description.oid)
        }
        for table in outcome.over { try await readAnew(table) }
        for row in outcome.incomplete where !anew.contains(row.table.description.oid) {
            switch try await reselection.read(row) {
            case .gone:
                // What is known of it is of before this change, and must not stay: of a table that is gone, or a row that
                // Postgres hides, the stream tells nothing more.
                guard row.values.count == row.table.description.columns.count else { continue }
                let plan = try await store.plan(row.table, context)
                try await intake.submit(ChangeBatch(.delete, of: plan, row.values))
            case .row(let table, let values):
                let plan = try await store.plan(table, context)
                try await intake.submit(ChangeBatch(.readAgain, of: plan, values))
            case .otherIdentity:
                // Rows that were read again so far come first.
                _ = try await intake.drain()
                try await readAnew(row.table)
            }
        }
        _ = try await intake.drain()
        for table in try await reselection.altered() { try await readAnew(table) }
        // Until then the source may crash and never have had what was read.
        try await lookup.holdUntilNow()
        try await store.noteComplete(outcome.incomplete.map(\.table))
    }
}
