import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A running backend on a database of its own, asked without a socket between.
struct TestBackend: Sendable {
    let backend: Backend
    let poller: Poller
    let uri: String
    let lines: Lock<[String]>
    let clock: Lock<Double>
    /// Mints as the backend does, with its key, and needs no database; nil where the test has chosen the keys.
    let mint: TokenMint?

    /// The tables of the recordings, published.
    static let demoTables = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id uuid, name text NOT NULL CHECK (name <> 'bad'),
            created_at timestamptz DEFAULT now());
        CREATE TABLE todos (id text PRIMARY KEY, list_id text REFERENCES lists(id) ON DELETE CASCADE,
            description text, completed boolean DEFAULT false, position int, tags jsonb);
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        """

    static func start(
        schema: String = demoTables, uri: String? = nil, map: String? = nil,
        store: (any ObjectStore)? = nil, _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) async throws -> TestBackend {
        let poller = try Poller()
        let database: String
        if let uri { database = uri } else { database = try await TestPostgres.database(poller) }
        let connection = try await PostgresConnection.connect(database, poller: poller)
        try await connection.script(schema)
        await connection.close()
        var configuration = configuration(database)
        configuration.hasDevelopmentTokens = true
        // What tests that write a request by hand call it.
        configuration.developmentHosts = ["h"]
        configuration.poolSize = 4
        if let map { configuration.tables = .text(map) }
        change(&configuration)
        var keys: SigningKeys?
        if configuration.keys == .ephemeral {
            let key = try JSONWebKey.generate(.ES256)
            configuration.keys = .given(GivenKeys(privateText: key.jsonObjectText(includePrivate: true)))
            keys = SigningKeys(try KeySet(signer: key))
        }
        let lines = Lock<[String]>([])
        let clock = Lock(1_800_000_000.0)
        var environment = BackendEnvironment(now: { clock.withLock { $0 } })
        environment.readKeyFile = KeysFixture.read
        let log = Log(label: "test", level: .trace) { line in lines.withLock { $0.append(line) } }
        let backend = Backend(
            configuration: configuration, poller: poller, log: log, environment: environment, store: store)
        try await backend.start()
        let mint = keys.map { TokenMint(keys: $0, configuration: configuration, environment: environment) }
        return TestBackend(
            backend: backend, poller: poller, uri: database, lines: lines, clock: clock, mint: mint)
    }

    /// A configuration with the times of tests, on any port.
    static func configuration(_ uri: String) -> BackendConfiguration {
        var configuration = BackendConfiguration.development(databaseURI: uri)
        configuration.host = "127.0.0.1"
        configuration.port = 0
        // Tests that are about one of these set it.
        configuration.startTimeout = TestOptions.deadline
        configuration.acquireTimeout = TestOptions.deadline
        configuration.connectTimeout = TestOptions.deadline
        configuration.headerTimeout = TestOptions.deadline
        configuration.bodyTimeout = TestOptions.deadline * 6
        configuration.grace = TestOptions.deadline
        configuration.closing = TestOptions.deadline
        configuration.admissionTimeout = TestOptions.deadline
        configuration.uploadsPerUser = 64
        configuration.probeTimeout = TestOptions.deadline
        configuration.quotaTimeout = TestOptions.deadline
        configuration.statementTimeout = TestOptions.deadline
        configuration.lockTimeout = TestOptions.deadline
        configuration.retries.budget = TestOptions.deadline
        // A debug build takes its time with the largest bodies; `send` waits for longer.
        configuration.uploadTimes.request = TestOptions.deadline * 3
        configuration.uploadTimes.transaction = TestOptions.deadline * 3
        configuration.uploadTimes.last = TestOptions.deadline
        // That of a test is nobody else's.
        configuration.clockTolerance = nil
        // Off but where the test is about them: the clock stands still.
        configuration.rateLimits.tokensPerMinute = 0
        configuration.rateLimits.failedCredentialsPerMinute = 0
        return configuration
    }

    /// What makes every write of a row come to the gate of the database, where the condition holds.
    static func gated(_ table: String = "lists", where condition: String = "true") -> String {
        """
        CREATE FUNCTION come_to_the_gate() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM \(DatabaseGate.passage); RETURN NEW; END $$;
        CREATE TRIGGER gated BEFORE INSERT ON \(table) FOR EACH ROW WHEN (\(condition))
            EXECUTE FUNCTION come_to_the_gate();
        """
    }

    /// What counts the writes of `lists` in a table `writes`.
    static let counted = """
        CREATE TABLE writes (id text);
        CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO writes VALUES (NEW.id); RETURN NEW; END $$;
        CREATE TRIGGER counts AFTER INSERT OR UPDATE ON lists FOR EACH ROW EXECUTE FUNCTION count_write();
        """

    /// Runs a test with a backend and stops it whatever happens.
    static func with(
        schema: String = demoTables, uri: String? = nil, map: String? = nil,
        store: (any ObjectStore)? = nil, _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend) async throws -> Void
    ) async throws {
        let backend = try await start(schema: schema, uri: uri, map: map, store: store, change)
        do {
            try await body(backend)
            await backend.stop()
        } catch {
            await backend.stop()
            throw error
        }
    }

    /// Runs a test with a backend that reaches its database through a relay, once it has done what every start does.
    static func withRelay(
        schema: String = demoTables, map: String? = nil,
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, PostgresRelay) async throws -> Void
    ) async throws {
        let server = try await TestPostgres.server()
        let relay = try PostgresRelay(to: server.port)
        // What the pruning at a start removes tells when that is done: no COMMIT is left then but those of uploads.
        let pruned = "INSERT INTO psb.commits VALUES (gen_random_uuid(), 1, NULL, now() - interval '2 days')"
        let first = try await start(schema: schema, map: map)
        await first.stop()
        try await with(
            schema: pruned, uri: first.uri, map: map,
            {
                $0.databaseURI = $0.databaseURI.replacing(":\(server.port)/", with: ":\(relay.port)/")
                change(&$0)
            }
        ) { backend in
            try await wait(for: "the pruning of the start") {
                backend.lines.withLock { $0.contains { $0.contains("ledger pruned") } }
            }
            try await body(backend, relay)
        }
    }

    func stop() async {
        await backend.stop()
        poller.stop()
    }

    // MARK: Requests

    struct Answer: Sendable {
        let status: Int
        let fields: HTTPFields
        let json: JSON

        /// The states of all operations, of all results.
        var states: [String] {
            (json["results"]?.arrayValue ?? []).flatMap { result in
                (result["ops"]?.arrayValue ?? []).compactMap { $0["status"]?.stringValue }
            }
        }

        var results: [String] { (json["results"]?.arrayValue ?? []).compactMap { $0["status"]?.stringValue } }

        var errorCodes: [String] {
            (json["results"]?.arrayValue ?? []).compactMap {
                $0["failed_operation"]?["error_code"]?.stringValue
            }
        }
    }

    private struct Body: HTTPRequestBody {
        let bytes: [UInt8]

        func collect(limit: Int) async throws(HTTPError) -> [UInt8] { bytes }
    }

    /// Sends a request; one that is not answered is told with the last lines of the log, before the suite's time is over.
    func send(
        _ method: String, _ target: String, _ body: String? = nil, fields: HTTPFields = [:],
        within patience: Duration = TestOptions.deadline * 4
    ) async throws -> Answer {
        var fields = fields
        if body != nil, fields["content-type"] == nil { fields["content-type"] = "application/json" }
        let request = HTTPRequest(method: method, target: target, fields: fields)
        let isAnswered = Lock(false)
        let response = await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await wait(
                    for: "the answer to \(method) \(target)", within: patience,
                    read: { () -> [String] in lines.withLock { $0.suffix(5) } },
                    until: { _ in isAnswered.withLock { $0 } })
            }
            // Here and not in a task of the group: it ends as its test says, also when that is cancelled.
            let response = await backend.answer(request, Body(bytes: Array((body ?? "").utf8)))
            isAnswered.withLock { $0 = true }
            group.cancelAll()
            return response
        }
        let bytes = try await response.body.collected()
        return Answer(
            status: response.status, fields: response.fields,
            json: bytes.isEmpty ? .null : try JSON.parse(bytes))
    }

    func token(_ user: String = "u1") async throws -> String {
        if let mint { return try mint.mint(subject: user).token }
        let answer = try await send("GET", "/api/auth/token?user_id=\(user)")
        return try #require(answer.json["token"]?.stringValue)
    }

    func upload(_ body: String, user: String = "u1", path: String = "/api/data") async throws -> Answer {
        try await send("POST", path, body, fields: ["authorization": "Bearer \(try await token(user))"])
    }

    /// Uploads one batch of one operation and returns its state, or the code of its rejection.
    func apply(_ operation: String, user: String = "u1") async throws -> String {
        let answer = try await upload("{\"batch\":[\(operation)]}", user: user)
        try #require(answer.status == 200)
        return answer.errorCodes.first ?? answer.states.first ?? "nothing"
    }

    // MARK: Database

    func query(_ sql: String, _ parameters: [String?] = []) async throws -> [[String?]] {
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let result = try await connection.query(sql, parameters)
        await connection.close()
        return (0..<result.rowCount).map { result.row($0) }
    }

    /// Cancels the statements of backends that wait for a lock, as their own timeout would.
    func cancelLocked() async throws {
        _ = try await query(
            """
            SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = 'powersync-backend' AND wait_event_type = 'Lock'
            """)
    }

    /// Waits until so many sessions of the backend wait for a lock of others, with a statement that holds this text.
    func waitForLocked(
        _ count: Int, in statement: String = "", asking connection: PostgresConnection? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let question = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = 'powersync-backend' AND wait_event_type = 'Lock'
                AND strpos(query, '\(statement)') > 0
            """
        try await wait(
            for: "\(count) sessions of the backend to wait for locks", sourceLocation: sourceLocation,
            read: {
                if let connection { return try await connection.query(question).scalar }
                return try await scalar(question)
            }, until: { $0 == String(count) })
    }

    func scalar(_ sql: String) async throws -> String? { try await query(sql).first?.first ?? nil }
}
