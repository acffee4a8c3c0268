import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules

/// A state to which the transactions of a script are applied, from where its file left off.
struct StoreSession {
    /// Whose write checkpoints are asked for.
    static let writeCheckpointKey = "u0/c"
    /// How many changes are stored at once of a transaction.
    private static let piece = 6
    /// Tables have few rows here; they are read and go in pieces, groups come to much, batches are evaluated by others,
    /// operations are packed into several segments, these are merged, and the file is made shorter, all the same.
    static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.truncatedRows = 7
        limits.pieceRows = 7
        limits.submittedRows = 4
        limits.groupBytes = 64 << 10
        limits.groupOperations = 10
        limits.segmentBytes = 16 << 10
        limits.smallSegmentBytes = 4 << 10
        limits.smallSegments = 4
        limits.mergeBytes = 48 << 10
        limits.removedBytes = 8 << 10
        limits.freeBytes = 8 << 10
        limits.freeParts = 20
        limits.vacuumedPages = 4
        return limits
    }()

    let store: ServiceStore
    /// The stream as it was when the file was opened.
    let stream: StreamRecord
    private let script: StoreScript
    private let context: EvaluationContext
    private let table: SourceTable
    /// The last transaction that is stored.
    private(set) var last: Int

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Opens the file, or makes it with a stream whose snapshot is complete.
    init(path: String, script: StoreScript) async throws {
        let hash = "script"
        let store = try await ServiceStore.open(path: path, limits: Self.limits)
        // A former process may have ended while it left a stream.
        _ = try await store.deploy(configHash: hash)
        var known = try await store.stream(configHash: hash)
        if known == nil {
            known = try await store.addStream(
                config: StoreScript.config, configHash: hash, publication: 1
            ) { "slot_\($0)" }
        }
        guard let stream = known else { throw Failure(description: "there is no stream") }
        if !stream.isSnapshotDone {
            try await store.holdCheckpoint(stream.number, until: .zero, isSnapshotDone: true)
        }
        if !stream.isActive { try await store.activate(stream.number) }
        guard let last = StoreScript.number(at: stream.appliedLSN) else {
            throw Failure(description: "\(stream.appliedLSN) is no commit of the script")
        }
        let context = EvaluationContext(
            stream: stream.number, plan: try SyncPlan.compiled(StoreScript.config))
        self.store = store
        self.stream = stream
        self.script = script
        self.context = context
        self.last = last
        table = try await store.resolve(StoreScript.table, types: TypeCatalog(), context)
    }

    /// Stores the next transaction, one that is long in pieces, of which a former process may have stored the first.
    ///
    /// - Returns: The checkpoint that it is published with.
    /// - Throws: What the store throws; `Failure` if nothing is published.
    mutating func applyNext() async throws -> StoredCheckpoint {
        let number = last + 1
        let position = StoreScript.position(of: number)
        var events = script.changes(of: number).map { $0.event(of: table) }
        var told = stream.partial.finalLSN == position ? stream.partial.changes : 0
        events.removeFirst(told)
        while events.count > Self.piece {
            told += Self.piece
            let progress = TransactionProgress(finalLSN: position, position: position, changes: told)
            _ = try await store.apply(
                Array(events.prefix(Self.piece)) + [ReplicationEvent.told(progress)], context)
            events.removeFirst(Self.piece)
        }
        let result = try await store.apply(
            events + [ReplicationEvent.committed(position)], context)
        guard let checkpoint = result.checkpoint else {
            throw Failure(description: "transaction \(number) is not published")
        }
        last = number
        return checkpoint
    }

    /// Takes the next write checkpoint, which is reached with the last transaction.
    func takeWriteCheckpoint() async throws -> Int64 {
        let position = StoreScript.position(of: last)
        return try await store.nextWriteCheckpoint(
            key: Self.writeCheckpointKey, head: position, published: position
        ).id
    }
}
