import Foundation
import PowerSyncSystem
import Testing

@testable import PowerSync

/// A backend that does what the test says, and counts.
final class TestConnector: PowerSyncBackendConnectorProtocol {
    private let counts = Lock((fetches: 0, uploads: 0))
    private let upload: @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void

    var fetches: Int { counts.withLock { $0.fetches } }
    var uploads: Int { counts.withLock { $0.uploads } }

    init(
        upload: @escaping @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void = { database in
            try await database.getNextCrudTransaction()?.complete()
        }
    ) {
        self.upload = upload
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        counts.withLock { $0.fetches += 1 }
        return PowerSyncCredentials(endpoint: "https://powersynctest.example.org", token: "test-token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        counts.withLock { $0.uploads += 1 }
        try await upload(database)
    }
}

/// A database whose service is a script.
struct ConnectedBench {
    let folder: TemporaryFolder
    let transport: ScriptedTransport
    let database: LocalDatabase
    let log: RecordingWriter

    init(folder: TemporaryFolder? = nil, transport: ScriptedTransport? = nil, name: String = "test.db") throws
    {
        let folder = try folder ?? TemporaryFolder()
        let answer = SyncHTTPResponse(status: 200, body: Array(#"{"data":{"write_checkpoint":"1"}}"#.utf8))
        let transport = transport ?? ScriptedTransport(answers: [answer])
        self.folder = folder
        log = RecordingWriter(keeping: folder)
        self.transport = transport
        database = LocalDatabase(
            schema: TestDatabase.schema,
            location: Result { () throws(PowerSyncError) in
                try DatabaseLocation(named: name == ":memory:" ? name : folder.file(name))
            },
            logger: DefaultLogger(writers: [log]), initialStatements: [], groups: .shared,
            makeTransport: { transport })
    }

    var status: any SyncStatus { database.currentStatus }

    func connect(_ connector: TestConnector = TestConnector(), options: ConnectOptions = ConnectOptions())
        async throws
    {
        try await database.connect(connector: connector, options: options)
    }

    /// Returns the stream of an attempt, once there is one and the client shows it.
    func stream(_ index: Int = 0) async throws -> ScriptedStream {
        try await waitUntil("stream \(index)") { transport.streams.count > index }
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
