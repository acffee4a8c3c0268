import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// A backend that does what the test says, counts, and keeps what it was given.
final class TestConnector: PowerSyncBackendConnectorProtocol {
    private struct State {
        var fetches = 0
        var uploads = 0
        var entries: [CrudEntry] = []
    }

    private let state = Lock(State())
    private let credentials: PowerSyncCredentials?
    private let upload: (@Sendable (any PowerSyncDatabaseProtocol) async throws -> Void)?
    private let fetch: (@Sendable (Int) async throws -> Void)?

    /// How often credentials were fetched.
    var fetches: Int { state.withLock { $0.fetches } }
    /// How often an upload was asked for.
    var uploads: Int { state.withLock { $0.uploads } }
    /// What was uploaded, unless the test does that itself.
    var entries: [CrudEntry] { state.withLock { $0.entries } }

    /// - Parameters:
    ///   - endpoint: the service; nil for a user who is not signed in.
    ///   - upload: takes the place of uploading one transaction.
    ///   - fetch: runs before credentials are returned; gets the number of the call, from 1.
    init(
        endpoint: String? = "https://powersynctest.example.org",
        upload: (@Sendable (any PowerSyncDatabaseProtocol) async throws -> Void)? = nil,
        fetch: (@Sendable (Int) async throws -> Void)? = nil
    ) {
        credentials = endpoint.map { PowerSyncCredentials(endpoint: $0, token: "test-token") }
        self.fetch = fetch
        self.upload = upload
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let number = state.withLock { state in
            state.fetches += 1
            return state.fetches
        }
        try await fetch?(number)
        return credentials
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        state.withLock { $0.uploads += 1 }
        if let upload { return try await upload(database) }
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        state.withLock { $0.entries += transaction.crud }
        try await transaction.complete()
    }
}

/// A database whose service is a script.
struct ConnectedBench {
    let folder: TemporaryDirectory
    let transport: ScriptedTransport
    let database: LocalDatabase
    let log: RecordingWriter

    /// - Parameters:
    ///   - folder: where the file is, a new one if nil.
    ///   - transport: the service, one that answers every request for a write checkpoint with 1 if nil.
    ///   - name: the file's name.
    ///   - schema: the tables.
    ///   - groups: the databases of what is a process.
    ///   - environment: the clock.
    ///   - reaching: makes the way to the service.
    /// - Throws: when there is no place for a folder.
    init(
        folder: TemporaryDirectory? = nil, transport: ScriptedTransport? = nil, name: String = "test.db",
        schema: Schema = TestDatabase.schema, groups: DatabaseGroups = .shared,
        environment: SyncEnvironment = .system(),
        reaching: @escaping @Sendable (ScriptedTransport) throws -> any SyncTransport = { $0 }
    ) throws {
        let folder = try folder ?? TemporaryDirectory()
        let answer = SyncHTTPResponse(status: 200, body: Array(#"{"data":{"write_checkpoint":"1"}}"#.utf8))
        let transport = transport ?? ScriptedTransport(answers: [answer])
        self.folder = folder
        log = RecordingWriter(keeping: folder)
        self.transport = transport
        database = LocalDatabase(
            schema: schema,
            location: Result { () throws(PowerSyncError) in
                try DatabaseLocation(named: name == ":memory:" ? name : folder.file(name))
            },
            logger: DefaultLogger(writers: [log]), initialStatements: [], groups: groups,
            environment: environment, makeTransport: { try reaching(transport) })
    }

    var status: any SyncStatus { database.currentStatus }

    /// Where the life cycle of the file is, and how many wishes are not fulfilled.
    var lifecycle: (phase: LifecycleReducer.Phase, waiting: Int) {
        database.group.loop.withLock { ($0.reducer.phase, $0.reducer.waitingCount) }
    }

    /// The wish to connect that has brought what syncs; nil while nothing does.
    var connection: Int? {
        database.group.loop.withLock { $0.reducer.isSyncing ? $0.reducer.claim?.ticket : nil }
    }

    func connect(_ connector: TestConnector = TestConnector(), options: ConnectOptions = ConnectOptions())
        async throws
    {
        try await database.connect(connector: connector, options: options)
    }

    /// Returns the stream of an attempt, once there is one and the client shows it.
    func stream(_ index: Int = 0) async throws -> ScriptedStream {
        try await wait(for: "stream \(index)") { transport.streams.count > index }
        return transport.streams[index]
    }

    /// Completes a checkpoint without data.
    func completeEmptyCheckpoint(_ stream: ScriptedStream) {
        stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
    }

    /// Names of users, in order.
    func users() async throws -> [String] {
        try await database.getAll("SELECT name FROM users ORDER BY name") { try $0.getString(index: 0) }
    }
}
