import PowerSync
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The backend with `CHECKPOINT_MODE=custom`, and a service that reads what it stores (backend 5.2, service 7.9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct CustomCheckpointTests {
    private static let syncConfig =
        DemoSchema.syncConfig + """
            event_definitions:
              write_checkpoints:
                payloads: ["SELECT user_id, checkpoint, client_id FROM checkpoints"]

            """

    /// An answer that stores nothing.
    private struct NotStored: Error {
        let status: Int
    }

    /// The backend's routes of custom checkpoints, for one device.
    private struct Checkpoints: Sendable {
        let connector: BackendConnector
        let backend: String
        let http: HTTPClient

        /// Stores something, and returns the number that is stored now.
        func store(_ method: String, _ route: String, _ body: JSON, _ answer: String) async throws -> String {
            guard let credentials = try await connector.fetchCredentials() else {
                throw NotStored(status: 401)
            }
            let response = try await http.send(
                HTTPClientRequest(
                    method: method, url: "\(backend)/api/data/\(route)",
                    fields: [
                        "content-type": "application/json", "authorization": "Bearer \(credentials.token)",
                    ], body: body.utf8, totalTimeout: TestOptions.deadline))
            guard response.status == 200, let number = try JSON.parse(response.body)[answer]?.stringValue
            else { throw NotStored(status: response.status) }
            return number
        }
    }

    /// The connector of an app that names its checkpoints: the first is stored at once, others when the gate is open.
    private struct NamingConnector: CustomCheckpointRequestConnector {
        let checkpoints: Checkpoints
        let gate = Gate()
        let posted = Lock<[Int64]>([])

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            try await checkpoints.connector.fetchCredentials()
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            try await checkpoints.connector.uploadData(database: database)
        }

        func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64 {
            let isFirst = posted.withLock { posted in
                posted.append(checkpointRequestId)
                return posted.count == 1
            }
            if !isFirst { await gate.pass() }
            let body = JSON.object([
                JSONMember("client_id", .string(clientId)),
                JSONMember("checkpoint_request_id", .string(String(checkpointRequestId))),
            ])
            let stored = try await checkpoints.store(
                "POST", "checkpoint-request", body, "checkpoint_request_id")
            return try #require(Int64(stored))
        }
    }

    /// The connector of an app whose backend counts: what it uploads is written beside the backend, and then counted.
    private struct CountedConnector: PowerSyncBackendConnectorProtocol {
        let checkpoints: Checkpoints
        let write: @Sendable (CrudEntry) async throws -> Void

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            try await checkpoints.connector.fetchCredentials()
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            for entry in transaction.crud { try await write(entry) }
            let body = JSON.object([
                JSONMember("client_id", .string(try await CustomCheckpointTests.clientID(database)))
            ])
            let number = try await checkpoints.store("PUT", "checkpoint", body, "checkpoint")
            try await transaction.complete(writeCheckpoint: number)
        }
    }

    private static func clientID(_ database: any PowerSyncDatabaseProtocol) async throws -> String {
        try await database.get(sql: "SELECT powersync_client_id()", parameters: []) {
            try $0.getString(index: 0)
        }
    }

    /// The write checkpoint that a device has applied last, once it is the one that it waits for.
    private static func reached(_ device: DemoDevice) async throws -> Int {
        try await wait(for: "the write checkpoint to be applied") {
            try await device.count(
                """
                SELECT NOT EXISTS (SELECT 1 FROM ps_crud)
                    AND coalesce((SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id')
                        <= (SELECT value FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0)
                """) == 1
        }
        return try await device.count(
            "SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'")
    }

    private static func withWorld(
        _ body: @escaping @Sendable (DemoWorld, Checkpoints) async throws -> Void
    ) async throws {
        try await EndToEnd.withWorld(configure: { configuration in
            configuration.syncConfig = .text(syncConfig)
            configuration.backendEnvironment["CHECKPOINT_MODE"] = "custom"
        }) { world in
            let http = try HTTPClient()
            defer { http.close() }
            try await body(
                world,
                Checkpoints(
                    connector: world.a.connector, backend: try await world.stack.url(.backend), http: http))
        }
    }

    private static let insert = "INSERT INTO lists (id, owner_id, name) VALUES (?, ?, 'mine')"
    private static let ofOthers =
        "INSERT INTO lists (id, owner_id, name) VALUES (gen_random_uuid(), $1, 'of others')"

    private static func id(_ number: Int) -> String { "aaaaaaaa-0000-4000-8000-00000000000\(number)" }

    /// What a device has uploaded is waited for until its own request is reached; requests of others are not its own.
    @Test func theBackendsModeReachesTheClient() async throws {
        try await Self.withWorld { world, checkpoints in
            let (a, b) = (world.a, world.b)
            let connector = NamingConnector(checkpoints: checkpoints)
            try await a.database.connect(
                connector: connector,
                options: ConnectOptions(crudThrottle: 0.05, retryDelay: 0.3, checkpointMode: .requests()))
            try await b.connect()
            try await wait(for: "the request of the connection") {
                try await world.query("SELECT 1 FROM checkpoints").rowCount == 1
            }
            let client = try await Self.clientID(a.database)

            try await a.database.execute(sql: Self.insert, parameters: [Self.id(1), a.user])
            try await wait(for: "the row in Postgres, and its request on the way") {
                try await world.query("SELECT 1 FROM lists").rowCount == 1 && connector.gate.arrivals > 0
            }
            // Of another user with the same client, and of another device.
            _ = try await world.query(
                "INSERT INTO checkpoints (user_id, client_id, checkpoint) VALUES ('carol', $1, 900), ($2, 'd', 901)",
                [client, a.user])
            _ = try await world.query(Self.ofOthers, [a.user])
            try await b.watch("SELECT id FROM lists", for: "both rows on B") { $0.count == 2 }
            #expect(try await a.count("SELECT count(*) FROM lists") == 1, "it is kept back")

            connector.gate.open()
            try await a.watch("SELECT id FROM lists", for: "both rows on A") { $0.count == 2 }
            let first = try await Self.reached(a)
            try await a.database.execute(sql: Self.insert, parameters: [Self.id(2), a.user])
            try await a.watch("SELECT coalesce(created_at, '') FROM lists", for: "the row again") { times in
                times.count == 3 && times.allSatisfy { !$0.isEmpty }
            }
            let second = try await Self.reached(a)
            #expect(first < second && second < 900)
            #expect(connector.posted.withLock { $0.max() } == Int64(second))
            let stored = try await world.query(
                "SELECT checkpoint FROM checkpoints WHERE user_id = $1 AND client_id = $2", [a.user, client])
            #expect(stored.scalar == String(second))
        }
    }

    /// A backend that writes later than it answers counts behind what it has written.
    @Test func whatTheBackendCountsReachesTheClient() async throws {
        try await Self.withWorld { world, checkpoints in
            let a = world.a
            let connector = CountedConnector(checkpoints: checkpoints) { entry in
                _ = try await world.query(
                    "INSERT INTO lists (id, owner_id, name) VALUES ($1, 'alice', 'as the server has it')",
                    [entry.id])
            }
            try await a.database.connect(
                connector: connector, options: ConnectOptions(crudThrottle: 0.05, retryDelay: 0.3))
            for number in 1...3 {
                try await a.database.execute(sql: Self.insert, parameters: [Self.id(number), a.user])
                try await a.watch("SELECT name FROM lists", for: "the row from the server") { names in
                    names.count == number && names.allSatisfy { $0 == "as the server has it" }
                }
                #expect(try await Self.reached(a) == number)
            }
        }
    }
}
