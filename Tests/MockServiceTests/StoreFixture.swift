import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A store on a file with one stream whose snapshot is complete, and its table.
struct StoreFixture {
    /// A bucket for each owner.
    static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
        """

    let path: String
    let store: ServiceStore
    let stream: StreamRecord
    let context: EvaluationContext
    let table: SourceTable

    /// Opens the file, or makes it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - text: The configuration of the stream.
    ///   - identity: The columns that identify a row.
    ///   - readers: How many connections read.
    ///   - limits: How much is written at once.
    ///   - progress: Is called between the pieces of a batch.
    /// - Throws: What the store throws.
    init(
        path: String, _ text: String = Self.config, identity: Set<String> = ["id"], readers: Int = 4,
        limits: StoreLimits = StoreLimits(), progress: @escaping @Sendable () -> Void = {}
    ) async throws {
        self.path = path
        store = try await ServiceStore.open(path: path, readers: readers, limits: limits)
        let plan = try SyncPlan.compiled(text)
        if let known = try await store.stream(configHash: "hash") {
            stream = known
        } else {
            stream = try await store.addStream(config: "", configHash: "hash", publication: 1) {
                "slot_\($0)"
            }
            try await store.holdCheckpoint(stream.number, until: .zero, isSnapshotDone: true)
        }
        context = EvaluationContext(
            try await store.serving(plan, by: stream.number), progress: progress)
        table = try await store.resolve(
            TableDescription(
                oid: 7, schema: "public", name: "t",
                columns: ["id", "owner", "big"].map {
                    SourceColumn(name: $0, typeOID: 25, isIdentity: identity.contains($0))
                }), types: TypeCatalog(), context)
    }

    /// Calls a body with the path of a file in a folder of its own.
    static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "store-")
        defer { folder.remove() }
        try await body("\(folder.path)/state.db")
    }

    /// A row of the table.
    static func row(_ id: String, _ owner: String, _ big: PgOutputValue = .text("x")) -> PgOutputTuple {
        [.text(id), .text(owner), big]
    }

    /// The name of an owner's bucket.
    func bucket(_ owner: String) -> String { "\(stream.number)#s|0[\"\(owner)\"]" }

    func apply(_ changes: [RowChange], commit lsn: UInt64?) async throws -> WriteOutcome {
        var events = changes.map { ReplicationEvent.change(table, $0) }
        if let lsn { events.append(.committed(LSN(rawValue: lsn))) }
        return try await store.apply(events, context)
    }

    /// `op id data` of the operations of a bucket up to a checkpoint.
    func operations(_ owner: String, upTo last: Int64 = .max) async throws -> [String] {
        try await operations(of: bucket(owner), upTo: last).map {
            "\($0.kind.rawValue) \($0.objectID ?? "") \($0.data ?? "-")"
        }
    }

    /// The operations of a bucket up to a checkpoint.
    func operations(of name: String, upTo last: Int64 = .max) async throws -> [Operation] {
        let states = try await store.states(of: [name], stream: stream.number, at: last)
        guard let state = states[ExactText(name)], let id = state.id else { return [] }
        let chunk = try await store.chunk(bucket: id, after: 0, upTo: last, rows: 5000, bytes: 16 << 20)
        let sum = chunk.operations.reduce(Checksum.zero) { $0 + $1.checksum }
        #expect(sum == state.checksum)
        #expect(Int64(chunk.operations.count) == state.count)
        #expect(chunk.operations.last?.id ?? 0 == state.lastOperation)
        return chunk.operations
    }

    /// How many rows one of the state's tables has.
    func count(_ table: String) async throws -> Int64? {
        try await store.pool.write { connection in
            try connection.one("SELECT count(*) FROM \(table)") { $0.int64(0) }
        }
    }

    /// Closes the store, whose file must be in order.
    func close(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        await store.close()
        let problems = try StoreCheck(path: path).problems
        #expect(problems == [], sourceLocation: sourceLocation)
    }
}
