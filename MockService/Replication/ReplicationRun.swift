import PowerSyncPostgres
import PowerSyncSystem

/// One connection's worth of streaming changes (service 7.4).
struct ReplicationRun {
    let replicator: Replicator
    let connection: PostgresConnection
    let replication: PostgresConnection
    let context: EvaluationContext
    let slot: String
    /// The publication that the slot was made for.
    let publication: Int64
    let links: LinkMemory

    private var store: ServiceStore { replicator.store }
    private var lookup: TableLookup {
        TableLookup(replicator: replicator, connection: connection, context: context, links: links)
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
            group.addTask {
                while true {
                    try await replicator.poller.sleep(until: .now + replicator.times.status)
                    try await reporter.report(requestsReply: true)
                    replicator.warnings.tellDue()
                }
            }
            group.addTask {
                var sequence: UInt64 = 0
                while replicator.publisher.current?.stream != context.stream {
                    sequence = try await replicator.publisher.next(after: sequence).sequence
                }
                try await store.removeStoppedData()
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

    private func readChanges(_ record: StreamRecord, _ reporter: StandbyReporter) async throws {
        var assembler = ChangeAssembler(appliedLSN: record.appliedLSN, partial: record.partial)
        try await lookup.readMissing()
        var unseen = UnseenTransactions()
        var nextHeartbeat = ContinuousClock.now + replicator.heartbeat
        var nextLook = ContinuousClock.now + replicator.times.status
        // Only time in which we wait counts: what takes long here is no silence of the source.
        var silence = Duration.zero
        var isHeard = false
        // Up to where the log has nothing more for us, and when that is told at the latest.
        var passed: (lsn: LSN, due: ContinuousClock.Instant)?
        let patience = links.now.stream.current
        while true {
            let isComplete = !assembler.events.isEmpty && !assembler.isInTransaction
            let begun = ContinuousClock.now
            // With a complete batch in hand only what has already arrived is added to it.
            let due = min(nextHeartbeat, nextLook, passed?.due ?? nextLook, begun + (patience - silence))
            let deadline = isComplete ? begun : due
            replicator.health.step(before: max(.zero, deadline - begun))
            let kept = unseen.takeKept()
            let next =
                if let kept { kept } else {
                    try await replication.nextReplicationMessage(until: deadline)
                }
            replicator.health.step()
            if next == nil {
                silence += ContinuousClock.now - begun
                guard silence < patience else {
                    throw ReplicationError(.silent, "The source has said nothing for \(patience).")
                }
            } else {
                silence = .zero
                if !isHeard {
                    replicator.health.isHeard()
                    // From its first word on the source knows what this link is to those who commit.
                    try await standbyState()
                }
                isHeard = true
            }
            switch next {
            case .xlog(let position, _, let payload)?:
                let message = try PgOutputMessage.decode(payload)
                unseen.note(message)
                replicator.metrics.count { $0.note(message, bytes: payload.count, of: replicator.configHash) }
                while case .table(let relation)? = assembler.handle(message, at: position) {
                    try await write(&assembler, &unseen, reporter)
                    try await wait(for: &unseen, reporter)
                    let table = try await lookup.table(
                        relation, in: assembler.transactionID, committedAt: assembler.finalLSN)
                    assembler.set(table, for: relation.oid)
                }
            case .keepalive(let end, let replyRequested)?:
                // Everything before `end` has been sent and, with nothing in hand, written.
                if assembler.events.isEmpty, !assembler.isInTransaction {
                    // A commit of which nothing is sent may wait for it, too.
                    passed = (end, replyRequested ? begun : passed?.due ?? ContinuousClock.now + Self.moment)
                    replicator.metrics.count { $0.isUpToDate(replicator.configHash) }
                } else if replyRequested {
                    try await reporter.report()
                }
            case nil:
                if isComplete { try await write(&assembler, &unseen, reporter) }
            }
            if let told = passed, ContinuousClock.now >= told.due {
                passed = nil
                try await tell(told.lsn, reporter)
                try await reporter.report()
            }
            if assembler.isFull { try await write(&assembler, &unseen, reporter) }
            if assembler.events.isEmpty, !assembler.isInTransaction { unseen.clear() }
            if ContinuousClock.now >= nextLook {
                if try await !lookup.tablesWithoutWriters().isEmpty {
                    // If that ends a transaction, it reads them as well.
                    try await write(&assembler, &unseen, reporter)
                    let tables = try await tablesWithoutWriters(&unseen, reporter)
                    try await readWritten(tables, &assembler)
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

    /// Writes what was collected; what the state has safely, Postgres may forget.
    private func write(
        _ assembler: inout ChangeAssembler, _ unseen: inout UnseenTransactions, _ reporter: StandbyReporter
    ) async throws {
        var events = assembler.takeEvents()
        guard !events.isEmpty else { return }
        replicator.health.step(before: replicator.times.statement)
        if events.contains(where: { $0.table?.hasComposites == true }) {
            try await wait(for: &unseen, reporter)
            events = try await lookup.withFields(events)
        }
        var committed: LSN?
        for case .committed(let lsn) in events { committed = lsn }
        // What a transaction wrote to a table before that was published is in no stream, and is not left out of its
        // checkpoint (service 4.6).
        var written: [UInt32] = []
        if committed != nil { written = try await tablesWithoutWriters(&unseen, reporter) }
        let result = try await store.apply(events, context, isAhead: !written.isEmpty)
        replicator.metrics.count { $0.note(events, of: replicator.configHash) }
        replicator.warnings.take(result.warnings)
        if !result.incomplete.isEmpty || !result.over.isEmpty {
            try await wait(for: &unseen, reporter)
            try await readAgain(result, &assembler)
        }
        try await readWritten(written, &assembler)
        if committed != nil {
            links.note { known in
                known.stream.arrived()
                known.hasCommitted = true
            }
        }
        if let checkpoint = result.checkpoint {
            try await replicator.publish(
                checkpoint, changing: result.changed, context.stream, connection)
        }
        if let committed {
            await reporter.advance(to: committed)
            try await reporter.report()
        }
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
    private func readWritten(_ tables: [UInt32], _ assembler: inout ChangeAssembler) async throws {
        for oid in tables {
            let table = try await lookup.readAnew(oid: oid, told: assembler.description(of: oid))
            assembler.replace(table, for: oid)
            try await store.forgetWriters(oid: oid, context)
        }
    }

    private func readAgain(_ result: ApplyResult, _ assembler: inout ChangeAssembler) async throws {
        let reselection = RowReselection(
            connection: connection, types: try await SourceCatalog(connection).types())
        var anew: Set<UInt32> = []
        func readAnew(_ table: SourceTable) async throws {
            let description = table.description
            guard anew.insert(description.oid).inserted else { return }
            let table = try await lookup.readAnew(oid: description.oid, told: description)
            assembler.replace(table, for: description.oid)
        }
        for table in result.over { try await readAnew(table) }
        for row in result.incomplete where !anew.contains(row.table.description.oid) {
            switch try await reselection.read(row) {
            case .gone: continue
            case .row(var table, let tuple):
                table.toldAt = nil
                let result = try await store.apply(
                    [.change(table, .readAgain(tuple))], context, isAhead: true)
                replicator.warnings.take(result.warnings)
            case .otherIdentity: try await readAnew(row.table)
            }
        }
        // Until then the source may crash and never have had what was read.
        try await lookup.holdUntilNow()
        try await store.noteComplete(result.incomplete.map(\.table))
    }
}
