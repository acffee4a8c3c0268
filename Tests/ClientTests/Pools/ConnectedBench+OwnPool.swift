import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

extension ConnectedBench {
    /// A database on a pool of the app's own, whose service is a script.
    ///
    /// - Parameters:
    ///   - pool: the pool.
    ///   - folder: where its file is.
    ///   - transport: the service, one that answers every request for a write checkpoint with 1 if nil.
    ///   - schema: the tables.
    ///   - identifier: what databases have in common that belong together.
    ///   - groups: the databases of what is a process.
    ///   - environment: the clock.
    init(
        on pool: any SQLiteConnectionPoolProtocol, in folder: TemporaryDirectory,
        transport: ScriptedTransport? = nil, schema: any SchemaProtocol = TestDatabase.schema,
        identifier: String = "test", groups: DatabaseGroups = DatabaseGroups(),
        environment: SyncEnvironment = .system()
    ) {
        let answer = SyncHTTPResponse(status: 200, body: Array(#"{"data":{"write_checkpoint":"1"}}"#.utf8))
        let transport = transport ?? ScriptedTransport(answers: [answer])
        self.folder = folder
        log = RecordingWriter(keeping: folder)
        self.transport = transport
        database = LocalDatabase(
            schema: schema, location: .success(.pool(identifier: identifier)),
            logger: DefaultLogger(writers: [log]), initialStatements: [], groups: groups, appPool: pool,
            environment: environment, makeTransport: { transport })
    }

    /// Begins to take the names of users as a watch gives them.
    func watchedUsers() throws -> WatchedTexts {
        WatchedTexts(
            try database.watch(
                options: WatchOptions(sql: "SELECT name FROM users ORDER BY name", throttle: 0) {
                    try $0.getString(index: 0)
                }))
    }
}

/// What a watch has given so far.
final class WatchedTexts: Sendable {
    private let state: Lock<[[String]]>
    private let task: Task<Void, any Error>

    init(_ stream: AsyncThrowingStream<[String], any Error>) {
        let state = Lock<[[String]]>([])
        self.state = state
        task = Task { for try await texts in stream { state.withLock { $0.append(texts) } } }
    }

    deinit { task.cancel() }

    var results: [[String]] { state.withLock { $0 } }

    /// Waits until the newest result is this one.
    func wait(for texts: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await PowerSyncTestSupport.wait(
            for: "the result \(texts)", sourceLocation: sourceLocation, read: { results }
        ) { $0.last == texts }
    }

    /// Waits for the end of the watch.
    func waitForEnd() async throws { try await PowerSyncTestSupport.wait(forEndOf: task) }
}
