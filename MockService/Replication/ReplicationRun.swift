import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// One connection's worth of streaming changes (service 7.4).
struct ReplicationRun {
    let replicator: Replicator
    let connection: PostgresConnection
    let replication: PostgresConnection
    let context: EvaluationContext
    let types: TypeCatalog
    let slot: String
    /// The id of the publication that the slot was made for.
    let publication: Int64
    let links: LinkMemory

    private var store: ServiceStore { replicator.store }
    private var log: Log { replicator.log }

    /// Streams until something fails; a status goes to Postgres every few seconds, whatever else takes long.
    func stream(from record: StreamRecord) async throws {
        let messages = await replication.serverVersion >= 140_000
        try await replication.startReplication(
            slot: slot, publication: SourceDatabase.publication, from: .zero, messages: messages)
        // What was read when the service ended has no position yet; the one of now lies behind it.
        if record.isAhead { try await holdUntilNow() }
        let reporter = StandbyReporter(replication, position: record.appliedLSN)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await readChanges(record, reporter) }
            group.addTask {
                while true {
                    try await replicator.poller.sleep(until: .now + replicator.times.status)
                    try await reporter.report(requestsReply: true)
                }
            }
            group.addTask {
                var sequence: UInt64 = 0
                while replicator.hub.current?.stream != context.stream {
                    sequence = try await replicator.hub.next(after: sequence).sequence
                }
                try await store.removeStoppedData()
            }
            if replicator.formerStream != nil {
                group.addTask {
                    var sequence: UInt64 = 0
                    while !replicator.isReplaced {
                        sequence = try await replicator.hub.next(after: sequence).sequence
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
        var assembler = ChangeAssembler(appliedLSN: record.appliedLSN)
        var types = types
        var unseen = UnseenTransactions()
        var nextHeartbeat = ContinuousClock.now + replicator.heartbeat
        // Only time in which we wait counts: what takes long here is no silence of the source.
        var silence = Duration.zero
        var isHeard = false
        let patience = links.now.stream.current
        while true {
            let isComplete = !assembler.events.isEmpty && !assembler.isInTransaction
            let begun = ContinuousClock.now
            // With a complete batch in hand only what has already arrived is added to it.
            let deadline = isComplete ? begun : min(nextHeartbeat, begun + (patience - silence))
            replicator.health.step(before: max(.zero, deadline - begun))
            let next = try await replication.nextReplicationMessage(until: deadline)
            replicator.health.step()
            if next == nil {
                silence += ContinuousClock.now - begun
                guard silence < patience else {
                    throw ReplicationError(.silent, "The source has said nothing for \(patience).")
                }
            } else {
                silence = .zero
                if !isHeard { replicator.health.isHeard() }
                isHeard = true
            }
            switch next {
            case .xlog(_, _, let payload)?:
                let message = try PgOutputMessage.decode(payload)
                unseen.note(message)
                replicator.metrics.count { $0.note(message, bytes: payload.count) }
                while case .table(let relation)? = assembler.handle(message) {
                    // Each statement of a look-up has this patience; reading a table steps by itself.
                    replicator.health.step(before: replicator.times.statement)
                    try await write(&assembler, &unseen, reporter)
                    try await unseen.wait(connection, replicator)
                    assembler.set(try await table(relation, &types), for: relation.oid)
                }
            case .keepalive(let end, let replyRequested)?:
                // Everything before `end` has been sent and, with nothing in hand, written.
                if assembler.events.isEmpty, !assembler.isInTransaction {
                    await reporter.advance(to: end)
                    replicator.metrics.count { $0.replicatingSince = nil }
                }
                if replyRequested { try await reporter.report() }
            case nil:
                if isComplete { try await write(&assembler, &unseen, reporter) }
            }
            if assembler.isFull { try await write(&assembler, &unseen, reporter) }
            if assembler.events.isEmpty, !assembler.isInTransaction { unseen.clear() }
            if ContinuousClock.now >= nextHeartbeat {
                replicator.health.step(before: replicator.times.statement)
                // From version 18 on Postgres only warns where a publication is missing, and leaves out what was changed.
                guard try await SourceCatalog(connection).checkPublication() == publication else {
                    throw ReplicationError(.publication, "The publication was dropped and made again.")
                }
                replicator.health.step(before: replicator.times.statement)
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
            // The stream does not tell when fields are added, dropped or renamed.
            try await unseen.wait(connection, replicator)
            let types = try await SourceCatalog(connection).types()
            events = events.map { $0.with(types) }
        }
        let result = try await store.apply(events, context)
        replicator.metrics.count { $0.note(events) }
        for warning in result.warnings { log.warning(warning) }
        if !result.incomplete.isEmpty {
            try await unseen.wait(connection, replicator)
            try await readAgain(result.incomplete, &assembler)
        }
        var committed: LSN?
        for case .committed(let lsn) in events { committed = lsn }
        if committed != nil {
            links.note { known in
                known.stream.arrived()
                known.hasCommitted = true
            }
        }
        if let checkpoint = result.checkpoint {
            try await replicator.publish(checkpoint, context.stream, connection)
        }
        if let committed, result.incomplete.isEmpty {
            await reporter.advance(to: committed)
            try await reporter.report()
        }
    }

    /// Looks a table up when the first change behind its relation message comes; one that is new is read at once (service
    /// 7.3).
    ///
    /// - Parameters:
    ///   - relation: What the message says.
    ///   - types: Are read again if one is not known.
    /// - Returns: The table; nil if the changes that follow do not matter.
    /// - Throws: `PostgresError`, `SQLiteError`.
    private func table(_ relation: PgOutputRelation, _ types: inout TypeCatalog) async throws -> SourceTable?
    {
        guard context.evaluator.uses(schema: relation.namespace, table: relation.name) else {
            // A table that was renamed out of the configuration takes its rows along.
            try await store.forget(oid: relation.oid, context)
            return nil
        }
        let catalog = SourceCatalog(connection)
        if relation.columns.contains(where: { !types.knows($0.typeOID) }) {
            types = try await catalog.types()
        }
        let told = TableDescription(
            oid: relation.oid, schema: relation.namespace, name: relation.name,
            columns: relation.columns.map {
                SourceColumn(name: $0.name, typeOID: $0.typeOID, isIdentity: $0.isKey)
            })
        if let known = try await store.table(matching: told, types: types, context), known.isSnapshotDone {
            guard let layout = try await catalog.layout(oid: relation.oid) else { return known }
            return try await store.note(layout, of: known)
        }
        guard let published = try await catalog.table(oid: relation.oid),
            context.evaluator.uses(schema: published.description.schema, table: published.description.name)
        else {
            // It is gone by now, or about to be: what the stream still says of it is all there is.
            return try await store.resolve(told, types: types, context).read
        }
        // The table of now may have other columns than the message, and another name or identity. Those are what its rows
        // are read under, never those of the message (service 4.8).
        let isOfNow = published.description.isSameTable(as: told)
        // If such rows are known, from before the identity was changed to and fro, they miss what was changed meanwhile.
        let table = try await read(
            published,
            as: store.resolve(
                isOfNow ? told : published.description, types: types, context, anew: !isOfNow), types)
        // What the stream says under a name or an identity that is over was read with the rest.
        return isOfNow ? table : nil
    }

    /// Reads a table unless that has been done.
    private func read(
        _ published: SourceCatalog.PublishedTable, as table: SourceTable, _ types: TypeCatalog
    ) async throws -> SourceTable {
        guard !table.isSnapshotDone else { return table }
        var table = table
        let read = try await replicator.snapshot(connection, context, links).read(
            published, as: table.described(by: published.description, types))
        table.layout = read.layout
        try await holdUntilNow()
        return table.read
    }

    private func readAgain(_ rows: [IncompleteRow], _ assembler: inout ChangeAssembler) async throws {
        let reselection = RowReselection(
            connection: connection, types: try await SourceCatalog(connection).types())
        var anew: Set<UInt32> = []
        for row in rows {
            replicator.health.step(before: replicator.times.statement)
            let oid = row.table.description.oid
            guard !anew.contains(oid) else { continue }
            switch try await reselection.read(row) {
            case .gone: continue
            case .row(let table, let tuple):
                let result = try await store.apply([.change(table, .insert(tuple))], context, isAhead: true)
                for warning in result.warnings { log.warning(warning) }
            case .otherIdentity:
                anew.insert(oid)
                // What else the stream says under the identity of before is read with the rest.
                assembler.set(nil, for: oid)
                try await readAnew(oid, reselection.types)
            }
        }
        try await holdUntilNow()
    }

    /// Replaces a table by what it is now.
    private func readAnew(_ oid: UInt32, _ types: TypeCatalog) async throws {
        guard let published = try await SourceCatalog(connection).table(oid: oid),
            context.evaluator.uses(schema: published.description.schema, table: published.description.name)
        else { return try await store.forget(oid: oid, context) }
        _ = try await read(
            published,
            as: store.resolve(published.description, types: types, context, anew: true), types)
    }

    /// What was just read is newer than the stream, so nothing is published before the stream is as new.
    private func holdUntilNow() async throws {
        try await store.holdCheckpoint(context.stream, until: try await SourceCatalog.position(connection))
        try await SourceCatalog.ping(connection)
    }
}
