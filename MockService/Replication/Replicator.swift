import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Keeps the state equal to the source: slot, snapshot, stream, and again from where it was after every
/// failure.
struct Replicator {
    let source: SourceDatabase
    let store: ServiceStore
    let hub: CheckpointHub
    let poller: Poller
    let log: Log
    let metrics: ServiceMetrics
    let config: CompiledSyncConfig
    let configHash: String
    let slotPrefix: String
    let heartbeat: Duration
    let random: @Sendable () -> Double

    /// Runs until the task is cancelled.
    ///
    /// - Throws: `CancellationError`.
    func run() async throws {
        var delay = RetryDelay()
        while true {
            let before = hub.current?.sequence
            do {
                try await replicate()
            } catch {
                // A wait that the end of the service broke off throws what the connection made of it.
                try Task.checkCancellation()
                if hub.current?.sequence != before { delay.reset() }
                log.warning("replication failed and will be tried again", ["error": "\(error)"])
                try await poller.sleep(until: .now + delay.next(after: error, jitter: random()))
            }
        }
    }

    /// One attempt: connects, prepares slot and snapshot, and streams until something fails.
    private func replicate() async throws {
        let connection = try await source.connect(poller)
        do {
            try await withReplication { replication in
                try await work(connection, replication)
            }
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    private func withReplication(_ body: (PostgresConnection) async throws -> Void) async throws {
        let replication = try await source.connectForReplication(poller)
        do {
            try await body(replication)
            await replication.close()
        } catch {
            await replication.close()
            throw error
        }
    }

    private func work(_ connection: PostgresConnection, _ replication: PostgresConnection) async throws {
        let catalog = SourceCatalog(connection)
        try await catalog.checkPublication()
        try await dropStoppedSlots(connection)
        let stream = try await preparedStream(connection, replication)
        let context = EvaluationContext(stream: stream.number, config: config)
        if !stream.isSnapshotDone { try await snapshot(connection, catalog, context) }
        try await SourceCatalog.ping(connection)
        let run = ReplicationRun(
            replicator: self, connection: connection, replication: replication, context: context,
            types: try await catalog.types(), slot: stream.slot)
        try await run.stream(from: try await store.stream(stream.number))
    }

    /// The stream of this configuration, with a slot that Postgres still has.
    private func preparedStream(
        _ connection: PostgresConnection, _ replication: PostgresConnection
    ) async throws -> StreamRecord {
        if let known = try await store.stream(configHash: configHash) {
            switch try await ReplicationSlots.state(of: known.slot, connection) {
            case .usable: return known
            case .missing where try await !store.hasTables(known.number):
                // The slot was never made, so nothing was read without it.
                return try await withSlot(known, replication)
            case .missing, .lost:
                log.warning(
                    "the replication slot is gone, everything is replicated again",
                    ["replication.slot": known.slot])
                // An active stream goes on serving its last checkpoint until the new one has its first.
                if !known.isActive { try await store.stop(known.number) }
            }
        }
        let prefix = slotPrefix
        let stream = try await store.addStream(configHash: configHash) {
            ReplicationSlots.name(prefix: prefix, stream: $0)
        }
        return try await withSlot(stream, replication)
    }

    /// Makes the slot of a stream before anything is read, so that no change falls between snapshot and
    /// stream.
    private func withSlot(
        _ stream: StreamRecord, _ replication: PostgresConnection
    ) async throws -> StreamRecord {
        _ = try await replication.createReplicationSlot(stream.slot)
        log.info(
            "made a replication slot",
            ["replication.slot": stream.slot, "replication.stream": "\(stream.number)"])
        return stream
    }

    private func snapshot(
        _ connection: PostgresConnection, _ catalog: SourceCatalog, _ context: EvaluationContext
    ) async throws {
        let types = try await catalog.types()
        let snapshot = self.snapshot(connection, context)
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

    func snapshot(_ connection: PostgresConnection, _ context: EvaluationContext) -> Snapshot {
        let log = log
        return Snapshot(connection: connection, store: store, context: context) { log.warning($0) }
    }

    /// Publishes a checkpoint; the first of a stream makes it the one that clients are served from.
    func publish(
        _ checkpoint: StoredCheckpoint, _ stream: StreamNumber, _ connection: PostgresConnection
    ) async throws {
        let isSwitch = hub.current?.stream != stream
        if isSwitch { try await store.activate(stream) }
        hub.publish(stream: stream, config: config, checkpoint)
        guard isSwitch else { return }
        log.info("clients are served from this stream", ["replication.stream": "\(stream)"])
        try await dropStoppedSlots(connection)
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
