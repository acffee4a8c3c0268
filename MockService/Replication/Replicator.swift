import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Keeps the state of one configuration equal to the source: slot, snapshot, stream, and again from where it was after
/// every failure.
struct Replicator {
    let source: SourceDatabase
    let store: ServiceStore
    let hub: CheckpointHub
    let poller: Poller
    let log: Log
    let metrics: ServiceMetrics
    let config: CompiledSyncConfig
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

    private var isFormer: Bool { formerStream != nil }

    /// Whether clients are served from another stream by now.
    var isReplaced: Bool {
        guard let formerStream, let current = hub.current else { return false }
        return current.stream != formerStream
    }

    /// Runs until the task is cancelled, or a former configuration replaced.
    ///
    /// - Throws: `CancellationError`, or `ReplicationError` of `.otherSource`: then the state is no more to be served.
    func run() async throws {
        var delay = RetryDelay()
        var failures = RepeatedFailures()
        let links = LinkMemory(times)
        defer { health.end() }
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
                if isReplaced { return try await dropStoppedSlots() }
                if !isFormer { hub.abandonSwitch() }
                health.isDown()
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
        while !isReplaced { sequence = try await hub.next(after: sequence).sequence }
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
        // Few statements follow, each of which has this patience.
        health.step(before: times.statement)
        return connection
    }

    /// One attempt: connects, prepares slot and snapshot, and streams until something fails.
    private func replicate(_ links: LinkMemory) async throws {
        let connection = try await connecting { try await source.connect(poller) }
        do {
            try await withReplication { replication in
                guard try await SourceCheck(source: source, store: store).isOurs(replication) else {
                    throw ReplicationError(
                        .otherSource,
                        "The state was made from another database, or from one before it was restored.")
                }
                health.step(before: times.statement)
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
        if hub.current == nil, let active = try await store.activeStream(), active.configHash == configHash {
            hub.publish(stream: active.number, config: config, active.checkpoint)
        }
        let publication = try await catalog.checkPublication()
        try await dropStoppedSlots(connection)
        if !isFormer { try await nameStraySlots(connection) }
        guard let stream = try await preparedStream(connection, replication, publication) else { return }
        health.step(before: times.statement)
        let context = EvaluationContext(stream: stream.number, config: config) { [health] in health.step() }
        if !stream.isSnapshotDone { try await snapshot(connection, catalog, context, links) }
        try await SourceCatalog.ping(connection)
        health.step(before: times.statement)
        let run = ReplicationRun(
            replicator: self, connection: connection, replication: replication, context: context,
            types: try await catalog.types(), slot: stream.slot, publication: publication, links: links)
        try await ReplicationSlots.endSession(of: stream.slot, connection)
        health.step(before: times.statement)
        try await run.stream(from: try await store.stream(stream.number))
    }

    /// The stream of this configuration, with a slot that Postgres still has; nil if there is none and none is built.
    private func preparedStream(
        _ connection: PostgresConnection, _ replication: PostgresConnection, _ publication: Int64
    ) async throws -> StreamRecord? {
        if let known = try await store.stream(configHash: configHash) {
            let state = try await ReplicationSlots.state(of: known.slot, connection)
            if state == .missing || state == .unfinished, try await !store.hasTables(known.number), !isFormer
            {
                // The slot was never there, so nothing was read without it.
                return try await withSlot(known, connection, replication)
            }
            guard let reason = reason(toLeave: known, state, publication) else { return known }
            log.warning(
                "\(reason) \(isFormer ? "What is known is served until" : "Everything is replicated again; until then") "
                    + (isFormer ? "the new configuration is there." : "what is known is served."),
                ["replication.slot": known.slot])
            if isFormer { return nil }
            // An active stream goes on serving its last checkpoint until the new one has its first.
            if !known.isActive { try await store.stop(known.number) }
        }
        guard !isFormer else { return nil }
        let prefix = slotPrefix
        let stream = try await store.addStream(
            config: configText, configHash: configHash, publication: publication
        ) {
            ReplicationSlots.name(prefix: prefix, stream: $0)
        }
        return try await withSlot(stream, connection, replication)
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
        case .usable where stream.publication != publication:
            "The publication was dropped and made again, and what was changed in between is in no stream."
        case .usable: nil
        }
    }

    /// Makes the slot of a stream before anything is read, so that no change falls between snapshot and stream.
    ///
    /// Postgres makes it once every transaction has ended that is open now, however long that takes.
    private func withSlot(
        _ stream: StreamRecord, _ connection: PostgresConnection, _ replication: PostgresConnection
    ) async throws -> StreamRecord {
        try await ReplicationSlots.clear(stream.slot, connection, within: times.statement)
        await replication.setPatience(nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await replication.createReplicationSlot(stream.slot) }
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
            try await group.next()
        }
        await replication.setPatience(times.statement)
        log.info(
            "made a replication slot",
            ["replication.slot": stream.slot, "replication.stream": "\(stream.number)"])
        return stream
    }

    private func snapshot(
        _ connection: PostgresConnection, _ catalog: SourceCatalog, _ context: EvaluationContext,
        _ links: LinkMemory
    ) async throws {
        let types = try await catalog.types()
        let snapshot = self.snapshot(connection, context, links)
        for (schema, name) in context.evaluator.tables {
            guard let published = try await catalog.table(schema: schema, name: name) else {
                log.warning(
                    "a table of the configuration does not exist, is no ordinary table or is not published",
                    ["replication.table": "\(schema).\(name)"])
                continue
            }
            let table = try await store.resolve(published.description, types: types, context)
            if !table.isSnapshotDone { try await snapshot.read(published, as: table) }
        }
        try await store.holdCheckpoint(
            context.stream, until: try await catalog.currentPosition(), isSnapshotDone: true)
        log.info("the snapshot is complete", ["replication.stream": "\(context.stream)"])
    }

    func snapshot(
        _ connection: PostgresConnection, _ context: EvaluationContext, _ links: LinkMemory
    ) -> Snapshot {
        let log = log
        return Snapshot(
            connection: connection, store: store, context: context, health: health, links: links, times: times
        ) {
            log.warning($0)
        }
    }

    /// Publishes a checkpoint; the first of a stream that is as new as what clients have makes it the one that they are
    /// served from.
    func publish(
        _ checkpoint: StoredCheckpoint, _ stream: StreamNumber, _ connection: PostgresConnection
    ) async throws {
        let isSwitch = hub.current?.stream != stream
        if isSwitch {
            guard !isFormer, hub.mayServe(stream, from: checkpoint) else { return }
            try await store.activate(stream)
        }
        hub.publish(stream: stream, config: config, checkpoint, maySwitch: !isFormer)
        guard isSwitch else { return }
        log.info("clients are served from this stream", ["replication.stream": "\(stream)"])
        try await dropStoppedSlots(connection)
    }

    /// Tells of slots that look like ours and are not in our state: they may be anybody's, so nobody drops them.
    func nameStraySlots(_ connection: PostgresConnection) async throws {
        let strays = try await ReplicationSlots.strays(
            prefix: slotPrefix, except: try await store.slots(), connection)
        for stray in strays {
            log.warning(
                "a replication slot that nobody uses begins as those of this service; if it is of a former state, drop it, "
                    + "or Postgres keeps its log for ever: SELECT pg_drop_replication_slot('\(stray.name)')",
                ["replication.slot": stray.name, "replication.wal": stray.keeps])
        }
    }

    /// Drops the slots of stopped streams once the connections that use them have ended; what is left then is dropped at
    /// the next start.
    private func dropStoppedSlots() async throws {
        let connection = try await connecting { try await source.connect(poller) }
        let end = ContinuousClock.now + times.statement
        do {
            while try await !store.stoppedSlots().isEmpty, .now < end {
                try await dropStoppedSlots(connection)
                try await poller.sleep(until: .now + .milliseconds(50))
            }
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Slots of streams that are no longer wanted would make Postgres keep its log for ever.
    private func dropStoppedSlots(_ connection: PostgresConnection) async throws {
        for slot in try await store.stoppedSlots() {
            try await ReplicationSlots.drop(slot, connection)
            if try await ReplicationSlots.state(of: slot, connection) == .missing {
                try await store.forgetSlot(slot)
            }
        }
    }
}
