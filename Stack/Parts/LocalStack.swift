import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Backend and service beside a Postgres, each as it runs for a user.
package actor LocalStack {
    /// The parts that are processes of their own.
    package enum Part: String, Sendable, CaseIterable {
        /// Takes uploads, mints tokens.
        case backend
        /// Streams changes.
        case service
    }

    /// Where things are.
    package nonisolated let database: StackDatabase
    /// Where state, keys and configuration live.
    package nonisolated let folder: String
    private var configuration: LocalStackConfiguration
    private let poller: Poller
    private var running: [Part: StackPart] = [:]
    private var urls: [Part: String] = [:]

    private init(configuration: LocalStackConfiguration, database: StackDatabase, poller: Poller) {
        self.configuration = configuration
        folder = configuration.folder
        self.database = database
        self.poller = poller
    }

    /// Prepares the database and starts both parts.
    ///
    /// - Parameters:
    ///   - configuration: what the stack shall be.
    ///   - database: where the rows are; stays the caller's, also on failure.
    ///   - poller: the poller of the program.
    ///   - warn: gets what a person should know, such as the sync configuration that was made up.
    /// - Returns: the stack, ready for clients.
    /// - Throws: `StackError` or `PostgresError`.
    package static func start(
        _ configuration: LocalStackConfiguration, database: StackDatabase, poller: Poller,
        warn: (String) -> Void = { _ in }
    ) async throws -> LocalStack {
        var configuration = configuration
        let tables = try await DatabasePreparation.prepare(
            uri: database.uri, schema: configuration.schema, poller: poller, warn: warn)
        if configuration.syncConfig == nil {
            let made = try SyncConfigDefault.everything(tables)
            warn("no sync configuration given: every published table goes to everyone, by this one:\n\(made)")
            configuration.syncConfig = .text(made)
        }
        let stack = LocalStack(configuration: configuration, database: database, poller: poller)
        do {
            try await stack.startBoth()
        } catch {
            await stack.stop()
            throw error
        }
        return stack
    }

    /// The URL of a part, which it keeps when it is started again.
    package func url(_ part: Part) throws -> String {
        guard let url = urls[part] else {
            throw StackError(.partEnded, "the \(part.rawValue) was never started")
        }
        return url
    }

    /// The process of a part, nil while it is down.
    package func process(_ part: Part) -> StackPart? { running[part] }

    /// Kills a part, as a crash would.
    package func kill(_ part: Part) async {
        await running.removeValue(forKey: part)?.kill()
    }

    /// Stops a part in order.
    package func stop(_ part: Part) async {
        await running.removeValue(forKey: part)?.stop()
    }

    /// Starts a part again that was stopped or killed, on the same port with the same state.
    package func start(_ part: Part) async throws {
        guard running[part] == nil else { return }
        let started = try await StackPart.start(
            part.rawValue, executable: configuration.executable, environment: try environment(part),
            log: configuration.log, poller: poller)
        running[part] = started
        urls[part] = started.url
    }

    /// Stops both parts; the database stays.
    package func stop() async {
        await stop(.service)
        await stop(.backend)
    }

    /// Waits for a part to end without having been stopped.
    ///
    /// - Returns: its name.
    /// - Throws: `CancellationError`; waiting for a process cannot be cancelled, so the parts are looked at.
    package func firstToEnd() async throws -> String {
        while true {
            if let part = running.values.first(where: \.hasEnded) { return part.name }
            try await ContinuousClock().sleep(for: .milliseconds(100))
        }
    }

    /// The tokens name the service and the service fetches the backend's keys, so one port must be known before.
    private func startBoth() async throws {
        if configuration.servicePort == 0 {
            configuration.servicePort = try FreePort.find(host: configuration.host)
        }
        try await start(.backend)
        configuration.backendPort = try port(of: url(.backend))
        try await start(.service)
    }

    private func port(of url: String) throws -> Int {
        guard let port = url.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw StackError(.answer, "\(url) has no port")
        }
        return port
    }

    private func environment(_ part: Part) throws -> [String: String] {
        let serviceURL = "http://\(configuration.urlHost):\(configuration.servicePort)"
        switch part {
        case .backend:
            var environment = [
                "DATABASE_URI": database.uri, "HOST": configuration.host,
                "PORT": String(configuration.backendPort),
                "POWERSYNC_URL": serviceURL, "JWT_AUDIENCE": "powersync",
                "JWT_KEYS_DIR": configuration.folder + "/keys", "DEV_TOKENS": "true",
                "LOG_LEVEL": configuration.logLevel,
            ]
            if let map = configuration.tableMap {
                environment["PSB_TABLE_MAP"] = map
            } else {
                environment["DEV_OPEN_SCHEMA"] = "true"
            }
            return environment.merging(configuration.backendEnvironment) { $1 }
        case .service:
            let file = configuration.folder + "/service.yaml"
            let text = try ServiceConfigurationFile.text(
                configuration, database: database, keysURL: url(.backend) + "/api/auth/keys")
            try TextFile.write(text, to: file)
            return ["POWERSYNC_CONFIG_PATH": file, "PS_LOG_LEVEL": configuration.logLevel]
        }
    }
}
