import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncSystem

/// Keeps the state of one configuration equal to the source: slot, snapshot, stream, and again from where it was after
/// every failure.
struct Replicator {
    let source: SourceDatabase
    let store: ServiceStore
    let publisher: Publisher
    let frames: FrameStore
    let servers: LinkedServers
    let poller: Poller
    let log: Log
    let metrics: ServiceMetrics
    let plan: SyncPlan
    let configText: String
    let configHash: String
    /// The stream that clients are served from until the one of another configuration is built, if this is a former
    /// configuration: nothing is built anew for it, and it ends with the switch.
    let formerStream: StreamNumber?
    let slotPrefix: String
    let heartbeat: Duration
    let times: LinkTimes
    let health: ServiceHealth.Link
    let random: @Sendable () -> Double
    let warnings: RowWarningLog

    private var isFormer: Bool { formerStream != nil }

    /// Whether clients are served from another stream by now.
    var isReplaced: Bool {
        guard let formerStream, let current = publisher.current else { return false }
        return current.stream != formerStream
    }

    /// Runs until the task is cancelled, or a former configuration replaced.
    ///
    /// - Throws: `CancellationError`, or `ReplicationError` of `.otherSource`: then the state is no more to be served.
    func run() async throws {
        var delay = RetryDelay()
        var failures = RepeatedFailures()
        let links = LinkMemory(times)
        defer {
            health.end()
            metrics.count { $0.isUpToDate(configHash) }
        }
        while !isReplaced {
            do {
                links.note { $0.hasCommitted = false }
                try await replicate(links)
                if isFormer, !isReplaced { try await standStill() }
                return
            } catch let error as ReplicationError where error.code == .otherSource {
                throw error
            } catch {
                // A wait that the end of the service broke off throws what the connection made of it.
                try Task.checkCancellation()
                // The end of a former configuration is no failure.
                if isReplaced { return }
                if !isFormer { publisher.abandonSwitch() }
                health.isDown(because: "\(error)")
                if (error as? ReplicationError)?.code == .silent { links.note { $0.stream.wasSilent() } }
                if links.now.hasCommitted { delay.reset() }
                if failures.isNew("\(error)", at: .now) {
                    log.warning("replication failed and will be tried again", ["error": "\(error)"])
                }
                try await pause(delay.next(after: error, jitter: random()))
            }
        }
    }

    /// What is served stands still, because nothing more can be replicated for it, until another stream takes its place.
    private func standStill() async throws {
        health.isDown()
        health.step(before: .seconds(1 << 31))
        var sequence: UInt64 = 0
        while !isReplaced { sequence = try await publisher.next(after: sequence).sequence }
    }

    /// Waits, and lets the probes know that this is on purpose.
    private func pause(_ duration: Duration) async throws {
        health.step(before: duration)
        try await poller.sleep(until: .now + duration)
    }

    private func connecting(
        _ connect: () async throws -> PostgresConnection
    ) async throws -> PostgresConnection {
        health.step(before: source.connectTimeout)
        let connection = try await connect()
        await connection.setPatience(times.statement)
        await connection.setWatcher { [health] in health.step(before: $0) }
        return connection
    }

    /// One attempt: connects, prepares slot and snapshot, and streams until something fails.
    private func replicate(_ links: LinkMemory) async throws {
        let connection = try await connecting { try await source.connect(poller) }
        do {
            try await SourceCheck.position(connection)
            try await withReplication { replication in
                try await servers.begin(configHash, connection, replication)
                defer { servers.end(configHash) }
                let check = SourceCheck(source: source, store: store, publisher: publisher)
                guard try await check.isOurs(replication) else {
                    throw ReplicationError(
                        .otherSource,
                        "The state was made from another database, or from one before it was restored.")
                }
                try await work(connection, replication, links)
            }
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    private func withReplication(_ body: (PostgresConnection) async throws -> Void) async throws {
        let replication = try await connecting { try await source.connectForReplication(poller) }
        do {
            try await body(replication)
            await replication.close()
        } catch {
            await replication.close()
            throw error
        }
    }

    private func work(
        _ connection: PostgresConnection, _ replication: PostgresConnection, _ links: LinkMemory
    ) async throws {
        let catalog = SourceCatalog(connection)
        // A state that was not sure to be of this source could not be served before.
        if publisher.current == nil, let active = try await store.activeStream(),
            active.configHash == configHash
        {
            // By now another configuration may have taken its place.
            publisher.publishFirst(
                DurableCommit(
                    served: try await store.serving(plan, by: active.number), checkpoint: active.checkpoint,
                    changed: .any, lookups: .any, time: nil))
        }
        try await catalog.checkEncoding()
        let publication = try await catalog.checkPublication()
        try await dropStoppedSlots(connection)
        if !isFormer { try await nameStraySlots(connection, links) }
        guard let stream = try await preparedStream(connection, replication, links, publication) else {
            return
        }
        let served = try await store.serving(plan, by: stream.number)
        let context = EvaluationContext(served) { [health] in health.goesOn() }
        try await withIntake(context) { intake in
            if !stream.isSnapshotDone { try await snapshot(connection, context, intake, links, stream.slot) }
            try await SourceCatalog.ping(connection)
            let run = ReplicationRun(
                replicator: self, connection: connection, replication: replication, context: context,
                intake: intake, slot: stream.slot, publication: publication, links: links)
            try await ReplicationSlots.endSession(of: stream.slot, connection)
            let session = await replication.backendProcessID
            links.note { $0.session = session }
            try await run.stream(from: try await store.stream(stream.number))
        }
    }

    /// Runs a body with the way to the disk of this link.
    private func withIntake(
        _ context: EvaluationContext, _ body: @escaping @Sendable (Intake) async throws -> Void
    ) async throws {
        let writer = GroupWriter(
            store, context, publisher: publisher, frames: frames, maySwitch: !isFormer)
        let wait = store.limits.positionDelay
        try await Intake.with(
            writer, delay: { [poller] in try await poller.sleep(until: .now + wait) },
            note: { [health, metrics, warnings, configHash] outcome in
                health.goesOn()
                warnings.take(outcome.warnings)
                metrics.count { $0.note(outcome, of: configHash) }
            }, body)
    }

    /// The stream of this configuration, with a slot that Postgres still has; nil if there is none and none is built.
    private func preparedStream(
        _ connection: PostgresConnection, _ replication: PostgresConnection, _ links: LinkMemory,
        _ publication: Int64
    ) async throws -> StreamRecord? {
        var former: StreamRecord?
        if let known = try await store.stream(configHash: configHash) {
            if known.reportedLSN == .zero, !isFormer {
                // The slot was never there, so nothing was read without it.
                let active = try await store.activeStream()
                return try await withSlot(
                    known, publication, connection, replication, links,
                    former: active?.configHash == configHash ? active : nil)
            }
            let state = try await ReplicationSlots.state(of: known.slot, connection)
            guard let reason = reason(toLeave: known, state, publication) else {
                guard known.publication == 0 else { return known }
                return try await store.noteSlot(
                    of: known, at: known.reportedLSN, publication: publication)
            }
            log.warning(
                "\(reason) \(isFormer ? "What is known is served until" : "Everything is replicated again; until then") "
                    + (isFormer ? "the new configuration is there." : "what is known is served."),
                ["replication.slot": known.slot])
            if isFormer { return nil }
            // An active stream goes on serving its last checkpoint until the new one has its first.
            if !known.isActive { try await store.stop(known.number) }
            former = known
        }
        guard !isFormer else { return nil }
        let prefix = slotPrefix
        let stream = try await store.addStream(
            config: configText, configHash: configHash, publication: publication
        ) {
            ReplicationSlots.name(prefix: prefix, stream: $0)
        }
        return try await withSlot(stream, publication, connection, replication, links, former: former)
    }

    /// Why a stream cannot go on; nil if it can.
    private func reason(
        toLeave stream: StreamRecord, _ slot: ReplicationSlots.State, _ publication: Int64
    ) -> String? {
        switch slot {
        case .missing, .unfinished: "Replication slot \(stream.slot) is gone."
        case .lost(let reason):
            "[PSYNC_S1146] Replication slot \(stream.slot) was invalidated (reason: \(reason)). "
                + "Increase max_slot_wal_keep_size or idle_replication_slot_timeout on the source database."
        case .usable where stream.publication != publication && stream.publication != 0:
            "The publication was altered or made again, and what was changed in between may be in no stream."
        case .usable(let confirmed) where confirmed > stream.storedLSN:
            "Replication slot \(stream.slot) goes on at \(confirmed), and the state ends at \(stream.storedLSN): the state was "
                + "restored or is used twice, the slot was advanced or made again, or the link ended while commits waited "
                + "for this service. What lies between is in no stream."
        case .usable: nil
        }
    }

    /// Makes the slot of a stream before anything is read, so that no change falls between snapshot and stream.
    ///
    /// Postgres makes it once every transaction has ended that is open now, however long that takes. A commit that waits for
    /// this service as for a standby would do so for ever; where there is a slot to go on with, nobody is waited for.
    private func withSlot(
        _ stream: StreamRecord, _ publication: Int64, _ connection: PostgresConnection,
        _ replication: PostgresConnection, _ links: LinkMemory, former: StreamRecord?
    ) async throws -> StreamRecord {
        try await ReplicationSlots.clear(stream.slot, connection, within: times.statement)
        let position: LSN
        if let former, former.publication == publication, await connection.serverVersion >= 120_000,
            case .usable = try await ReplicationSlots.state(of: former.slot, connection)
        {
            position = try await ReplicationSlots.copy(former.slot, as: stream.slot, connection)
        } else {
            position = try await madeSlot(stream, connection, replication)
        }
        log.info(
            "made a replication slot",
            ["replication.slot": stream.slot, "replication.stream": "\(stream.number)"])
        let others = try await slotOfOthers(former, connection, links)
        let made = try await store.noteSlot(of: stream, at: position, publication: publication)
        if let others {
            log.warning(
                "a replication slot is left to whoever uses it: the state is a copy of theirs",
                ["replication.slot": others])
            try await store.forgetSlot(others)
        }
        return made
    }

    /// The slot of a stream if somebody else goes on with it, so that it must not be dropped; nil if nobody does.
    ///
    /// The session of a service that has ended, or that of our own link that was lost, is given the time to end.
    private func slotOfOthers(
        _ stream: StreamRecord?, _ connection: PostgresConnection, _ links: LinkMemory
    ) async throws -> String? {
        guard let stream,
            case .usable(let confirmed) = try await ReplicationSlots.state(of: stream.slot, connection),
            confirmed > stream.storedLSN
        else { return nil }
        let end = ContinuousClock.now + times.statement
        while let session = try await ReplicationSlots.session(of: stream.slot, connection),
            session != links.now.session
        {
            if ContinuousClock.now >= end { return stream.slot }
            try await pause(.milliseconds(50))
        }
        return nil
    }

    private func madeSlot(
        _ stream: StreamRecord, _ connection: PostgresConnection, _ replication: PostgresConnection
    ) async throws -> LSN {
        await replication.setPatience(nil)
        let slot = try await withThrowingTaskGroup(of: ReplicationSlot?.self) { group in
            group.addTask { try await replication.createReplicationSlot(stream.slot) }
            group.addTask {
                while true {
                    try await pause(times.notice)
                    let cause = try await ReplicationSlots.oldestTransaction(connection)
                    log.info(
                        "the replication slot is made once the transactions have ended that are open now",
                        [
                            "replication.slot": stream.slot,
                            "replication.waits_for": cause ?? "nothing that is seen",
                        ])
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        await replication.setPatience(times.statement)
        // Only who makes the slot returns.
        return slot?.consistentPoint ?? .zero
    }

    /// Reads all tables of the configuration.
    ///
    /// They are read in order. A second connection begins with the next one as soon as one has brought a full piece, so
    /// that tables of a few rows are read one by one.
    private func snapshot(
        _ connection: PostgresConnection, _ context: EvaluationContext, _ intake: Intake,
        _ links: LinkMemory, _ slot: String
    ) async throws {
        let tables = SnapshotTables(try await SourceCatalog(connection).tables(of: context.plan.tables))
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                defer { tables.end() }
                try await read(tables, connection, context, intake, links, slot)
            }
            group.addTask {
                guard try await tables.needsHelp() else { return }
                try await withSecondConnection { second in
                    try await read(tables, second, context, intake, links, slot)
                }
            }
            for try await _ in group {}
        }
        let position = try await SourceCatalog(connection).safePosition()
        try await intake.submit(ChangeBatch(.hold(until: position, isAhead: false, isSnapshotDone: true)))
        _ = try await intake.drain()
        log.info("the snapshot is complete", ["replication.stream": "\(context.stream)"])
    }

    /// Runs a body with one more connection to the server of the link.
    private func withSecondConnection(_ body: (PostgresConnection) async throws -> Void) async throws {
        let connection = try await connecting { try await source.connect(poller) }
        do {
            // An address can lead to another server by now.
            _ = try await servers.position(connection)
            try await body(connection)
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Reads tables as long as there is one that nobody reads.
    private func read(
        _ tables: SnapshotTables, _ connection: PostgresConnection, _ context: EvaluationContext,
        _ intake: Intake, _ links: LinkMemory, _ slot: String
    ) async throws {
        let catalog = SourceCatalog(connection)
        var snapshot = self.snapshot(connection, context, intake, links)
        snapshot.hasFullPiece = { tables.askForHelp() }
        while let (schema, name) = tables.next() {
            guard let published = try await catalog.table(schema: schema, name: name) else {
                leaveOut(
                    "\(schema).\(name)",
                    "a table of the configuration does not exist, is no ordinary table or is not published",
                    links)
                continue
            }
            guard !published.lacksIdentity else {
                leaveOut(published, links)
                continue
            }
            let types = try await catalog.types()
            let table = try await store.resolve(
                published.description, types: types, context, membership: published.membership)
            guard !table.isSnapshotDone else { continue }
            // What these have changed since the slot was made and before the table was published is in no stream.
            if published.isListed, try await catalog.hasEntries(youngerThan: slot),
                let writers = try await catalog.writers(of: published.description.oid)
            {
                try await store.note(writers, of: table)
            }
            try await snapshot.read(published, as: table, types)
        }
    }

    /// Tells of a table whose rows cannot be told from each other.
    func leaveOut(_ table: SourceCatalog.PublishedTable, _ links: LinkMemory) {
        leaveOut(
            "\(table.description.schema).\(table.description.name)",
            "a table is left out because a column of its replica identity is not published; publish it, or let the table "
                + "have another identity", links)
    }

    private func leaveOut(_ table: String, _ reason: String, _ links: LinkMemory) {
        guard links.note({ $0.missing[table, default: RepeatedFailures()].isNew(reason, at: .now) }) else {
            return
        }
        log.warning(reason, ["replication.table": table])
    }

    func snapshot(
        _ connection: PostgresConnection, _ context: EvaluationContext, _ intake: Intake, _ links: LinkMemory
    ) -> Snapshot {
        let log = log
        return Snapshot(
            connection: connection, store: store, context: context, intake: intake, health: health,
            links: links, times: times, warnings: warnings, warn: { log.warning($0) })
    }

    /// Tells that clients are served from a stream by now, and drops what is of no use any more.
    func noteSwitch(to stream: StreamNumber, _ connection: PostgresConnection) async throws {
        log.info("clients are served from this stream", ["replication.stream": "\(stream)"])
        try await dropStoppedSlots(connection)
    }

    /// Tells of slots that look like ours and are not in our state: they may be anybody's, so nobody drops them.
    func nameStraySlots(_ connection: PostgresConnection, _ links: LinkMemory) async throws {
        let strays = try await ReplicationSlots.strays(
            prefix: slotPrefix, except: try await store.slots(), connection)
        let names = strays.map(\.name).joined(separator: " ")
        guard links.note({ $0.strays.isNew(names, at: .now) }) else { return }
        for stray in strays {
            log.warning(
                "a replication slot that nobody uses begins as those of this service; if it is of a former state, drop it, "
                    + "or Postgres keeps its log for ever: SELECT pg_drop_replication_slot('\(stray.name)')",
                ["replication.slot": stray.name, "replication.wal": stray.keeps])
        }
    }

    /// Slots of streams that are no longer wanted would make Postgres keep its log for ever.
    ///
    /// One that is in use is dropped later.
    func dropStoppedSlots(_ connection: PostgresConnection) async throws {
        for slot in try await store.stoppedSlots() {
            try await ReplicationSlots.drop(slot, connection)
            if try await ReplicationSlots.state(of: slot, connection) == .missing {
                try await store.forgetSlot(slot)
            }
        }
    }
}
