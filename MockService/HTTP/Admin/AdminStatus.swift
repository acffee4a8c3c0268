import PowerSyncPostgresSource
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

/// What the admin routes tell of a configuration: the `SyncRulesStatus` of service 1.10.
struct AdminStatus {
    /// Where the replication of a configuration stands that is deployed.
    struct Replication {
        let slot: String
        let isSnapshotDone: Bool
        /// The position of the newest checkpoint; nil before the first.
        var position: LSN?
        /// When that was replicated, in seconds since 1970; nil if it was not in this process.
        var time: Double?
        /// What the slot costs; nil if that is not known.
        var usage: ReplicationSlots.Usage?
        /// What is wrong with it.
        var messages: [AdminMessage] = []
    }

    /// What the configuration calls its connection.
    let id: String
    /// And the connection's tag.
    let tag: String
    /// What was compiled.
    let config: CompiledConfig
    /// The tables that it reads.
    let tables: [SourceTables.Table]
    /// Its text, if that was asked for.
    var content: String?
    /// Where its replication stands; nil for one that is not deployed.
    var replication: Replication?
    /// Seconds since 1970.
    let now: Double

    /// The status as the routes spell it.
    var json: JSON {
        let own = AdminMessage.all(of: config, at: now)
        let ofTables = tables.flatMap { $0.messages }
        // One that cannot be used has no tables; one that is deployed all the same has a slot.
        let isConnected = config.plan != nil || replication != nil
        return .present([
            "content": Self.text(content),
            "connections": .array(isConnected ? [connection] : []),
            "errors": .array((ofTables + (replication?.messages ?? []) + own).map(\.json)),
        ])
    }

    private var connection: JSON {
        let time = Self.text(replication?.time.map { TimestampText.iso($0) })
        let usage = replication?.usage
        return .present([
            "id": .string(id), "tag": .string(tag), "slot_name": .string(replication?.slot ?? ""),
            "initial_replication_done": .bool(replication?.isSnapshotDone ?? false),
            "last_lsn": Self.text(replication?.position?.text),
            // What keeps the log moving makes a checkpoint, too.
            "last_keepalive_ts": time, "last_checkpoint_ts": time,
            "replication_lag_bytes": Self.number(usage?.lag), "wal_status": Self.text(usage?.status),
            "safe_wal_size": Self.number(usage?.safeSize),
            "max_slot_wal_keep_size": Self.number(usage?.limit),
            "tables": .array(tables.map { Self.table($0) }),
        ])
    }

    private static func text(_ text: String?) -> JSON? { text.map { .string($0) } }

    private static func number(_ number: Int64?) -> JSON? { number.map { .integer($0) } }

    private static func table(_ table: SourceTables.Table) -> JSON {
        .present([
            "schema": .string(table.schema), "name": .string(table.name),
            "pattern": text(table.pattern),
            "replication_id": .array(table.identity.map { JSON.string($0) }),
            "data_queries": .bool(table.isData), "parameter_queries": .bool(table.isLookup),
            "errors": .array(table.messages.map(\.json)),
        ])
    }
}
