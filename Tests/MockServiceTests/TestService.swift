import Foundation
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A service on a database of its own, with a client.
final class TestService: Sendable {
    let poller: Poller
    let uri: String
    let source: PostgresConnection
    private let folder: TemporaryDirectory
    private let client: HTTPClient
    private let service = Lock<MockService?>(nil)
    private let otherPort = Lock(0)
    private let logged = Lock<[String]>([])

    /// Runs a test with a database in which the statements were run and then everything published.
    static func run(
        _ schema: [String], uri: String? = nil, publication: String = "FOR ALL TABLES",
        _ body: (TestService) async throws -> Void
    ) async throws {
        let poller = try Poller()
        let database: String
        if let uri { database = uri } else { database = try await TestPostgres.database(poller) }
        let test = try await TestService(poller, database)
        for statement in schema { try await test.source.query(statement) }
        try await test.source.query("CREATE PUBLICATION powersync \(publication)")
        do {
            try await body(test)
        } catch {
            Issue.record("what the service said last:\n\(test.log.suffix(40).joined(separator: "\n"))")
            await test.end()
            throw error
        }
        await test.end()
    }

    private init(_ poller: Poller, _ uri: String) async throws {
        self.poller = poller
        self.uri = uri
        source = try await PostgresConnection.connect(uri, poller: poller)
        folder = try TemporaryDirectory(prefix: "mock-service-")
        client = try HTTPClient()
    }

    private func end() async {
        await stop()
        // The server is shared and has so many slots; one that a test has ended has none.
        try? await wait(for: "the slots to go") {
            try await source.query(
                """
                SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                WHERE database = current_database() AND NOT active
                """)
            return try await slots().isEmpty
        }
        client.close()
        await source.close()
        folder.remove()
        poller.stop()
    }

    /// The file of the state.
    var statePath: String { "\(folder.path)/state.db" }

    /// The files beside the state that begin as it does.
    var stateFiles: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    /// The slots on this database.
    func slots() async throws -> [String] {
        let found = try await source.query(
            "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() ORDER BY slot_name"
        )
        return (0..<found.rowCount).compactMap { found[$0, 0] }
    }

    /// A log that nobody reads.
    var quiet: Log { Log(label: "test", level: .error) { _ in } }

    /// The lines of the log.
    var log: [String] { logged.withLock { $0 } }

    /// What a service is told that replicates a database, and listens on any port.
    static func configuration(
        _ uri: String, statePath: String, _ syncConfig: String
    ) throws -> MockServiceConfiguration {
        var configuration = MockServiceConfiguration(
            source: .patient(uri), statePath: statePath, syncConfig: syncConfig)
        configuration.host = "127.0.0.1"
        configuration.port = 0
        // Tests that are about one of these set it.
        configuration.linkTimes = .patient
        configuration.writeTimeout = TestOptions.deadline * 2
        configuration.headerTimeout = TestOptions.deadline
        configuration.audience = ["test"]
        configuration.keys = [try TestTokens.key()]
        // The cluster is shared by many tests, so each has names of its own.
        configuration.slotNamePrefix = "powersync_\(uri.split(separator: "/").last ?? "x")_"
        return configuration
    }

    /// Starts the service on the same state as before.
    func start(
        _ syncConfig: String, clock: ServiceClock? = nil,
        change: (inout MockServiceConfiguration) throws -> Void = { _ in }
    ) async throws {
        var configuration = try Self.configuration(uri, statePath: statePath, syncConfig)
        if clock != nil {
            // Nobody waits for a time of a clock that the test moves but whom the test is about.
            configuration.storeLimits.upkeepPause = .seconds(1_000_000)
            configuration.storeLimits.logRest = .seconds(1_000_000)
        }
        try change(&configuration)
        let logged = logged
        let log = Log(label: "test", level: .debug) { line in logged.withLock { $0.append(line) } }
        let service = MockService(configuration: configuration, poller: poller, log: log, clock: clock)
        self.service.withLock { $0 = service }
        try await service.start()
    }

    func stop() async {
        let running = service.withLock { service in
            defer { service = nil }
            return service
        }
        await running?.stop()
    }

    /// The operation up to which clients are served.
    var checkpoint: Int64 { service.withLock { $0?.checkpoint?.operation ?? 0 } }

    /// The state that is open.
    var store: ServiceStore? { service.withLock { $0?.store } }

    /// Keeps so many readers of the state busy until the gate is opened.
    func occupyReaders(_ count: Int, until gate: BlockingGate) async throws -> [Task<Void, any Error>] {
        let store = try #require(store)
        let busy = (0..<count).map { _ in Task { try await store.pool.read { _ in gate.wait() } } }
        try await wait(for: "\(count) readers to be busy", read: { gate.arrivals }, until: { $0 == count })
        return busy
    }

    /// Where the service listens, which may be one of another process.
    var port: Int { service.withLock { $0?.port } ?? otherPort.withLock { $0 } }

    /// Has requests sent to a service of another process as long as none is started here.
    func sendRequests(to port: Int) { otherPort.withLock { $0 = port } }

    func tx(_ statements: String...) async throws { try await tx(statements) }

    func tx(_ statements: [String]) async throws {
        try await source.query("BEGIN")
        for statement in statements { try await source.query(statement) }
        try await source.query("COMMIT")
    }

    /// Seconds since 1970 as the system has them.
    var now: Double { ServiceClock.system(poller).now() }

    /// Sends a request; `token` nil makes one for the user.
    func send(
        _ method: String, _ path: String, user: String = "u1", claims: JSON = .object([]),
        body: [UInt8]? = nil,
        fields: HTTPFields = [:], token: String? = nil
    ) async throws -> HTTPClientResponse {
        var request = try request(
            method, path, user: user, claims: claims, body: body, fields: fields, token: token)
        request.totalTimeout = TestOptions.deadline
        return try await client.send(request)
    }

    /// Asks the port of the metrics.
    func metrics(_ path: String) async throws -> HTTPClientResponse {
        let port = try #require(service.withLock { $0?.metricsPort })
        return try await client.send(
            HTTPClientRequest(
                url: "http://127.0.0.1:\(port)\(path)", connectTimeout: TestOptions.deadline,
                idleTimeout: TestOptions.deadline))
    }

    /// What a client gets now; incomplete if its stream ends before, as at a switch.
    func served() async throws -> StreamModel {
        let stream = try await open()
        defer { stream.close() }
        try await wait(for: "a whole checkpoint, or the end") {
            stream.model.isComplete || stream.end != nil || stream.status != 200
        }
        return stream.model
    }

    /// The status of the probe that tells whether the source is heard.
    func readiness() async throws -> Int { try await send("GET", "/probes/readiness", token: "").status }

    /// Opens a stream.
    func open(
        user: String = "u1", claims: JSON = .object([]), _ request: SyncStreamRequest = SyncStreamRequest()
    ) async throws -> TestStream {
        var request = request
        // Every client sends an object.
        if request.parameters == nil { request.parameters = .object([]) }
        return try await open(user: user, claims: claims, body: request.json)
    }

    /// Opens a stream with any body.
    func open(
        user: String, claims: JSON = .object([]), body: JSON, fields: HTTPFields = [:]
    ) async throws -> TestStream {
        let stream = try await client.open(
            try request(
                "POST", "/sync/stream", user: user, claims: claims, body: body.utf8, fields: fields))
        return TestStream(stream, positions: try SyncStreamRequest(json: body).buckets)
    }

    /// Opens a stream that the test reads itself, or not at all.
    func openUnread(
        user: String, claims: JSON = .object([]), body: [UInt8]? = Array("{}".utf8), fields: HTTPFields = [:]
    ) async throws -> HTTPClientStream {
        try await client.open(
            try request("POST", "/sync/stream", user: user, claims: claims, body: body, fields: fields))
    }

    /// Asks for a write checkpoint.
    func writeCheckpoint(user: String = "u1", client: String) async throws -> Int64 {
        let answer = try await send("GET", "/write-checkpoint2.json?client_id=\(client)", user: user)
        #expect(answer.status == 200)
        let id = try JSON.parse(answer.body)["data"]?["write_checkpoint"]?.stringValue.flatMap { Int64($0) }
        return try #require(id)
    }

    private func request(
        _ method: String, _ path: String, user: String, claims: JSON, body: [UInt8]?, fields: HTTPFields,
        token: String? = nil
    ) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(method: method, url: "http://127.0.0.1:\(port)\(path)")
        request.fields = fields
        if let body, !body.isEmpty, fields["content-type"] == nil {
            request.fields["content-type"] = "application/json"
        }
        let token = try token ?? TestTokens.token(user: user, now: now, claims: claims)
        if !token.isEmpty, fields["authorization"] == nil {
            request.fields["authorization"] = "Token \(token)"
        }
        request.body = body
        request.connectTimeout = TestOptions.deadline
        // Longer than the pause between keepalives.
        request.idleTimeout = TestOptions.deadline * 2
        return request
    }
}

extension SourceDatabase {
    /// A source with the deadline of everything that tests wait for in place of the times of production.
    static func patient(_ uri: String, parameters: [String: String] = [:]) -> SourceDatabase {
        var source = SourceDatabase(uri: uri, parameters: parameters)
        source.connectTimeout = TestOptions.deadline
        source.clientConnectTimeout = TestOptions.deadline
        source.clientAcquireTimeout = TestOptions.deadline
        return source
    }
}

extension LinkTimes {
    /// Times within which a machine that stands still is neither silent nor stuck.
    static var patient: LinkTimes {
        var times = LinkTimes()
        times.statement = TestOptions.deadline
        times.reading = TestOptions.deadline
        times.silence = TestOptions.deadline
        times.liveness = TestOptions.deadline
        return times
    }
}
