import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire

/// Answers what the official command-line tool asks: how replication goes, what tables there are, what is wrong with a
/// configuration (service 1.10).
///
/// No answer has a password, or anything else of the connection but where the database is.
struct AdminRoutes: Sendable {
    /// What is asked.
    enum Query: Sendable, Equatable {
        /// How replication goes, perhaps with the text of the configuration.
        case diagnostics(withContent: Bool)
        /// What tables there are.
        case schema
        /// What is wrong with a configuration.
        case validate(String)

        /// The paths.
        static let paths: Set = [
            "/api/admin/v1/diagnostics", "/api/admin/v1/schema", "/api/admin/v1/validate",
        ]

        /// Reads a request.
        ///
        /// - Parameters:
        ///   - path: One of the paths.
        ///   - parameters: The body.
        /// - Throws: `RequestViolations` as the real service words them.
        init(_ path: String, _ parameters: JSON) throws(RequestViolations) {
            switch path {
            case "/api/admin/v1/diagnostics":
                let wanted = parameters["sync_rules_content"] ?? .bool(false)
                guard let withContent = wanted.boolValue else {
                    throw RequestViolations(messages: ["/sync_rules_content: type must be boolean"])
                }
                self = .diagnostics(withContent: withContent)
            case "/api/admin/v1/validate":
                guard let value = parameters["sync_rules"] else {
                    throw RequestViolations(messages: [" must have required property 'sync_rules'"])
                }
                guard let text = value.stringValue else {
                    throw RequestViolations(messages: ["/sync_rules: type must be string"])
                }
                self = .validate(text)
            default: self = .schema
            }
        }
    }

    /// What the answers are made of; another state has another.
    struct State: Sendable {
        let store: ServiceStore
        let pool: PostgresPool
    }

    /// Who is let in.
    let tokens: APITokens
    private let id: String
    private let tag: String
    private let place: String
    private let publisher: Publisher
    private let health: ServiceHealth
    private let clock: ServiceClock
    /// As many as the real service lets in (service 1.1), of which few are in work: they share connections with clients.
    private let places = TaskPlaces(TaskPlaces.Limits(active: 2, waiting: 28))

    /// Makes the routes of a service.
    init(
        _ configuration: MockServiceConfiguration, publisher: Publisher, health: ServiceHealth,
        clock: ServiceClock
    ) {
        tokens = APITokens(configuration.apiTokens)
        id = configuration.connectionID
        tag = configuration.connectionTag
        place = configuration.source.place
        self.publisher = publisher
        self.health = health
        self.clock = clock
    }

    /// Answers a request that was let in.
    ///
    /// - Parameters:
    ///   - query: What is asked.
    ///   - state: The state of now.
    /// - Returns: The answer, also if the source cannot be asked what it needs.
    /// - Throws: `TaskPlaces.Full`, `SQLiteError`, `CancellationError`.
    func answer(_ query: Query, from state: State) async throws -> HTTPResponse {
        do {
            return try await places.run { () async throws -> HTTPResponse in
                switch query {
                case .diagnostics(let withContent):
                    return JSONResponse.data(try await diagnostics(state, withContent: withContent))
                case .schema:
                    let schema = try await state.pool.withConnection { try await SourceSchemaReader.read($0) }
                    return JSONResponse.data(AdminSchema.json(schema, id: id, tag: tag))
                case .validate(let text): return JSONResponse.data(try await validation(of: text, state))
                }
            }
        } catch let error as PostgresError {
            return ErrorResponse.unexpected("\(error)")
        }
    }

    // MARK: Validation

    private func validation(of text: String, _ state: State) async throws -> JSON {
        let schema = try await state.pool.withConnection { try await SourceSchemaReader.read($0) }
        // Without a connection: it may take a while.
        let config = SyncConfig.compile(text, schema: schema)
        let tables = try await state.pool.withConnection { connection in
            try await SourceTables(of: config).read(connection)
        }
        return AdminStatus(id: id, tag: tag, config: config, tables: tables, now: clock.now()).json
    }

    // MARK: Diagnostics

    /// A configuration that is deployed, with what the source says of it.
    private struct Deployed: Sendable {
        let stream: StreamRecord
        let config: CompiledConfig
        let tables: [SourceTables.Table]
        var usage: ReplicationSlots.Usage?
    }

    private func diagnostics(_ state: State, withContent: Bool) async throws -> JSON {
        let active = try await state.store.activeStream()
        let building = try await state.store.buildingStream()
        let streams = [active, building].compactMap { $0 }
        var deployed: [Deployed] = []
        var errors: [AdminMessage] = []
        var isConnected = true
        do {
            (deployed, errors) = try await state.pool.withConnection {
                connection -> ([Deployed], [AdminMessage]) in
                let deployed = try await look(at: streams, connection)
                return (deployed, try await Self.check(connection))
            }
        } catch let error as PostgresError {
            isConnected = false
            errors = [AdminMessage(level: .fatal, message: error.description)]
            deployed = streams.map { stream in
                let config = SyncConfig.compile(stream.config)
                return Deployed(stream: stream, config: config, tables: SourceTables(of: config).named())
            }
        }
        let now = clock.now()
        func status(_ stream: StreamRecord?) -> JSON? {
            let found = deployed.first { $0.stream.number == stream?.number }
            return found.map { self.status($0, withContent: withContent, now: now).json }
        }
        let connection = JSON.present([
            "id": .string(id), "postgres_uri": .string(place), "connected": .bool(isConnected),
            "errors": .array(errors.map(\.json)),
        ])
        return .present([
            "connections": .array([connection]), "active_sync_rules": status(active),
            "deploying_sync_rules": status(building),
        ])
    }

    private func look(
        at streams: [StreamRecord], _ connection: PostgresConnection
    ) async throws -> [Deployed] {
        let schema = try await SourceSchemaReader.read(connection)
        var deployed: [Deployed] = []
        for stream in streams {
            let config = SyncConfig.compile(stream.config, schema: schema)
            let tables = try await SourceTables(of: config).read(connection)
            let usage = try await ReplicationSlots.usage(of: stream.slot, connection)
            deployed.append(Deployed(stream: stream, config: config, tables: tables, usage: usage))
        }
        return deployed
    }

    /// What keeps a source from being replicated at all (service 7.1).
    private static func check(_ connection: PostgresConnection) async throws -> [AdminMessage] {
        do {
            try await SourceCheck.position(connection)
            let catalog = SourceCatalog(connection)
            try await catalog.checkEncoding()
            try await catalog.checkPublication()
        } catch let error as ReplicationError {
            return [AdminMessage(level: .fatal, message: error.message)]
        }
        let level = try await connection.query("SHOW wal_level").scalar ?? ""
        if level == "logical" { return [] }
        return [AdminMessage(level: .fatal, message: "wal_level is \(level) and must be logical.")]
    }

    private func status(_ deployed: Deployed, withContent: Bool, now: Double) -> AdminStatus {
        let stream = deployed.stream
        let served = publisher.current.flatMap { $0.stream == stream.number ? $0.checkpoint.lsn : nil }
        // The state may be a little behind what clients have.
        let position = max(stream.checkpoint.lsn, served ?? .zero)
        let replicated = served == nil ? nil : publisher.lastReplicated
        let age: Double? = replicated.map { (ContinuousClock.now - $0) / .seconds(1) }
        var messages: [AdminMessage] = []
        if let failure = health.failure(of: stream.configHash) {
            messages.append(AdminMessage(level: .fatal, message: failure))
        }
        if stream.isActive, let message = AdminMessage.age(age) { messages.append(message) }
        return AdminStatus(
            id: id, tag: tag, config: deployed.config, tables: deployed.tables,
            content: withContent ? stream.config : nil,
            replication: AdminStatus.Replication(
                slot: stream.slot, isSnapshotDone: stream.isSnapshotDone,
                position: position == .zero ? nil : position, time: age.map { now - $0 },
                usage: deployed.usage, messages: messages),
            now: now)
    }
}

extension SourceDatabase {
    /// Where the database is, without user, password and whatever else the configuration says.
    var place: String {
        // A text that libpq does not understand is told of when it is connected to, and not quoted here.
        let named = (try? ConnectionOptions.named(in: uri)) ?? [:]
        let hosts = (named["host"] ?? named["hostaddr"] ?? "localhost").split(
            separator: ",", omittingEmptySubsequences: false)
        let ports = (named["port"] ?? "5432").split(separator: ",", omittingEmptySubsequences: false)
        let places = hosts.enumerated().map { index, host in
            // An address of version 6 has colons, which would begin a port.
            let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : PercentEncoding.encode(host)
            return "\(name):\(ports.count == hosts.count ? ports[index] : ports[0])"
        }
        let database = PercentEncoding.encode(named["dbname"] ?? "")
        return "postgresql://\(places.joined(separator: ","))/\(database)"
    }
}
