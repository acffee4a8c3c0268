import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync
@testable import PowerSyncSQLite

/// A coordinator on a database in memory, with a scripted service, a scripted app and a clock moved by hand.
final class SyncRig: Sendable {
    private struct State {
        var snapshots: [SyncStatusSnapshot] = []
        var log: [String] = []
        var fetches = 0
        var uploads = 0
        var active: [StreamKey] = []
        var running: Task<Void, Never>?
    }

    let clock = SteppedClock()
    let transport: ScriptedTransport
    let pool: SQLitePool
    let database: SyncDatabase
    let coordinator: SyncCoordinator
    private let state: Shared

    private final class Shared: Sendable {
        let state = Lock(State())
    }

    // `fetch` and `upload` get the number of the call, from 1. By default each call gives a token with its number,
    // and uploading empties the queue. `report` gets each status at the moment it is delivered. `batchPause` waits for
    // the moment after which a stream counts as quiet. `checkpointer` copies the log of a file. `reaching` makes the way
    // to the service. `postCheckpointRequest` takes the place of the service for these.
    init(
        schema: String = SyncBench.schema, transport: ScriptedTransport = ScriptedTransport(),
        options change: (inout SyncOptions) -> Void = { _ in },
        fetch: @escaping @Sendable (Int) async throws -> SyncCredentials? = {
            SyncCredentials(endpoint: "https://service.test/base//", token: "token-\($0)")
        },
        upload: (@Sendable (Int, SQLitePool) async throws -> Void)? = nil,
        postCheckpointRequest: SyncBackend.CheckpointRequestPost? = nil,
        path: String = ":memory:", readers: Int = 0,
        checkpointer: WALCheckpointer = WALCheckpointer(onFailure: { _ in }),
        batchPause: (@Sendable () async throws -> Void)? = nil,
        reaching: (ScriptedTransport) throws -> any SyncTransport = { $0 },
        report: @escaping @Sendable (SyncStatusSnapshot) -> Void = { _ in }
    ) async throws {
        let shared = Shared()
        state = shared
        var environment = clock.environment
        if let batchPause { environment.batchPause = batchPause }
        self.transport = transport
        let pool = try await SQLitePool(
            opening: path, readers: readers,
            setUp: { connection, isWriter in
                guard isWriter else {
                    try CoreExtension.install(on: connection)
                    return
                }
                if path != ":memory:" { try connection.execute("PRAGMA journal_mode = WAL") }
                try SyncBench.prepare(connection, schema: schema)
            }, onChange: { _ in }, checkpointer: checkpointer)
        self.pool = pool
        database = SyncDatabase(pool: pool, environment: environment)
        var options = SyncOptions()
        options.userAgent = "test"
        change(&options)
        let backend = SyncBackend(
            fetchCredentials: {
                try await fetch(
                    shared.state.withLock { state in
                        state.fetches += 1
                        return state.fetches
                    })
            },
            uploadData: {
                let number = shared.state.withLock { state in
                    state.uploads += 1
                    return state.uploads
                }
                if let upload { return try await upload(number, pool) }
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            }, postCheckpointRequest: postCheckpointRequest)
        let stored = try await database.write { try $0.offlineStatus() }
        let status = SharedStatus(SyncStatusSnapshot(iteration: stored))
        status.observe(includingCurrent: false) { snapshot in
            guard let snapshot else { return }
            shared.state.withLock { $0.snapshots.append(snapshot) }
            report(snapshot)
        }
        coordinator = SyncCoordinator(
            database: database, backend: backend, transport: try reaching(transport), options: options,
            status: SyncStatusHub(of: status),
            activeStreams: { shared.state.withLock { $0.active } }, environment: environment
        ) { severity, message in
            shared.state.withLock { $0.log.append("\(severity.stringValue) \(message)") }
        }
    }

    /// Runs a test and stops the coordinator whatever comes of it.
    static func run(_ rig: SyncRig, _ body: (SyncRig) async throws -> Void) async throws {
        rig.start()
        do {
            try await body(rig)
        } catch {
            await rig.stop()
            throw error
        }
        await rig.stop()
    }

    func start() {
        let coordinator = coordinator
        state.state.withLock { $0.running = Task { await coordinator.run() } }
    }

    /// Ends syncing and waits for its end, that of an upload included.
    func stop() async {
        let running = state.state.withLock { $0.running.take() }
        running?.cancel()
        await running?.value
    }

    var snapshots: [SyncStatusSnapshot] { state.state.withLock { $0.snapshots } }
    var log: [String] { state.state.withLock { $0.log } }
    var fetches: Int { state.state.withLock { $0.fetches } }
    var uploads: Int { state.state.withLock { $0.uploads } }
    var status: SyncStatusSnapshot { get async { coordinator.status.current } }

    /// Whether a complete line was handled, whatever came of it.
    var isSynced: Bool {
        log.contains { $0.contains("applied checkpoint") || $0.contains("due to local data") }
    }

    /// Waits for the end of the round that the opening of a stream started, and for its throttle.
    func restThrottle() async throws {
        try await wait(for: "the first round to end") { clock.waiting == [.seconds(1)] }
        clock.advance(by: .seconds(1))
    }

    /// Waits until the uploader has done all that it was asked for so far, the throttles after it included.
    func finishUploads(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        while true {
            try await wait(for: "the uploader to rest", sourceLocation: sourceLocation) {
                coordinator.uploads.isAwaited || clock.waiting.contains(.seconds(1))
            }
            if coordinator.uploads.isAwaited { return }
            clock.advance(by: .seconds(1))
        }
    }

    /// Whether the uploader was asked for something that it has not begun.
    var isUploadDue: Bool { coordinator.uploads.isRaised }

    /// Whether every checkpoint request that was sent is applied, and a new one waited for.
    var areCheckpointRequestsDone: Bool { coordinator.checkpointRequests.sent.isAwaited }

    func setActive(_ streams: [StreamKey]) { state.state.withLock { $0.active = streams } }

    func writeLocally(_ id: String = "local") async throws {
        try await pool.write(isCounted: true) { connection in
            try connection.transaction {
                try connection.run("INSERT INTO items(id, col) VALUES (?1, 'mine')", [.text(id)])
            }
        }
        coordinator.triggerUpload()
    }

    func rows(_ sql: String) async throws -> [[SQLiteValue]] {
        try await pool.write { connection in
            try connection.query(sql) { row in (0..<row.count).map { row[$0] } }
        }
    }

    func items() async throws -> [SQLiteValue] {
        try await rows("SELECT id FROM items ORDER BY id").map { $0[0] }
    }

    /// Waits for the connection with that number, from 0.
    func stream(_ index: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> ScriptedStream
    {
        try await wait(for: "connection \(index)", sourceLocation: sourceLocation) {
            transport.streams.count > index
        }
        return transport.streams[index]
    }

    /// Waits until the coordinator pauses, and returns for how long.
    func pause(sourceLocation: SourceLocation = #_sourceLocation) async throws -> Duration {
        try await wait(for: "a pause", sourceLocation: sourceLocation) { !clock.waiting.isEmpty }
        return clock.waiting[0]
    }
}
