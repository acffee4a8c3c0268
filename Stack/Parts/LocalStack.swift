import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

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
    /// The same parts for those who cannot wait for the actor.
    private let mortal = Lock<[StackPart]>([])

    /// Names a stack; nothing is started yet.
    ///
    /// - Parameters:
    ///   - configuration: what the stack shall be.
    ///   - database: where the rows are; stays the caller's.
    ///   - poller: the poller of the program.
    package init(_ configuration: LocalStackConfiguration, database: StackDatabase, poller: Poller) {
        self.configuration = configuration
        folder = configuration.folder
        self.database = database
        self.poller = poller
    }

    /// Prepares the database and starts both parts.
    ///
    /// - Parameter warn: gets what a person should know, such as the sync configuration that was made up.
    /// - Throws: `StackError` or `PostgresError`; `stop` is still to be called.
    package func start(warn: @Sendable (String) -> Void = { _ in }) async throws {
        let tables = try await DatabasePreparation.prepare(
            uri: database.uri, schema: configuration.schema, poller: poller, warn: warn)
        if configuration.syncConfig == nil {
            let made = try SyncConfigDefault.everything(tables)
            warn("no sync configuration given: every published table goes to everyone, by this one:\n\(made)")
            configuration.syncConfig = .text(made)
        }
        // A folder that begins anew has none of the files of a run before, which the database may know.
        if !FileManager.default.fileExists(atPath: configuration.folder + "/attachments") {
            try await DatabasePreparation.untieStore(uri: database.uri, poller: poller)
        }
        // Addresses of files name the backend, which takes itself for 127.0.0.1 unless it is told otherwise.
        if configuration.backendPort == 0, configuration.urlHost != "127.0.0.1" {
            configuration.backendPort = try FreePort.find(host: configuration.host)
        }
        // The tokens name the service and the service fetches the backend's keys: one port must be known before.
        let isChosen = configuration.servicePort == 0
        let backendPort = configuration.backendPort
        for attempt in 1... {
            if isChosen { configuration.servicePort = try FreePort.find(host: configuration.host) }
            do {
                try await start(.backend)
                configuration.backendPort = try port(of: url(.backend))
                return try await start(.service)
            } catch let error as StackError {
                // Another program was quicker to take the port.
                guard isChosen, attempt < 3, isServicePortTaken else { throw error }
                await stop()
                configuration.backendPort = backendPort
            }
        }
    }

    private var isServicePortTaken: Bool {
        do {
            close(try TCPSocket.listen(host: configuration.host, port: configuration.servicePort).descriptor)
            return false
        } catch {
            return true
        }
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
        let started = try StackPart.start(
            part.rawValue, executable: configuration.executable, environment: try environment(part),
            log: configuration.log)
        running[part] = started
        mortal.withLock { $0 = $0.filter { !$0.hasEnded } + [started] }
        do {
            urls[part] = try await started.url(poller)
        } catch {
            await kill(part)
            throw error
        }
    }

    /// Stops both parts; the database stays.
    package func stop() async {
        let parts = running.values
        running = [:]
        // Both at once: one that does not heed the request holds up the other no longer than itself.
        await withTaskGroup(of: Void.self) { group in
            for part in parts { group.addTask { await part.stop() } }
        }
    }

    /// Kills the parts that are there without waiting for their end; `stop` is still to be called.
    package nonisolated func killNow() {
        for part in mortal.withLock({ $0 }) { part.killNow() }
    }

    /// Waits for a part, or a Postgres of ours, to end without having been stopped.
    ///
    /// - Throws: `StackError` with `.partEnded` when one has; `CancellationError`. Waiting for a process cannot be
    ///   cancelled, so the parts are looked at.
    package func watch() async throws {
        while true {
            if let part = running.values.first(where: \.hasEnded) {
                throw StackError(
                    .partEnded, "the \(part.name) has ended by itself; its last log lines say why")
            }
            if let server = database.server, !server.isRunning {
                throw StackError(.partEnded, "the private Postgres has ended by itself")
            }
            try await ContinuousClock().sleep(for: .milliseconds(100))
        }
    }

    private func port(of url: String) throws -> Int {
        guard let port = url.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw StackError(.answer, "\(url) has no port")
        }
        return port
    }

    /// Returns the URL of an absolute path (RFC 8089).
    private static func fileURL(_ path: String) -> String {
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        return "file://" + names.map { PercentEncoding.encode($0) }.joined(separator: "/")
    }

    private func environment(_ part: Part) throws -> [String: String] {
        let isUsersServer = if case .cluster = database.place { false } else { true }
        let inherited = PartEnvironment.of(ProcessInfo.processInfo.environment, isUsersServer: isUsersServer)
        return inherited.merging(try settings(part)) { $1 }
    }

    /// What the stack itself sets for a part.
    private func settings(_ part: Part) throws -> [String: String] {
        let serviceURL = "http://\(configuration.urlHost):\(configuration.servicePort)"
        switch part {
        case .backend:
            var uri = try database.uri
            // Nothing but a busy machine is between the parts and a server of ours.
            if case .cluster = database.place {
                uri = try PostgresURI.adding("connect_timeout", "60", to: uri)
            }
            var environment = [
                "ENV": "development", "DATABASE_URI": uri, "HOST": configuration.listeningHost,
                "PORT": String(configuration.backendPort),
                "POWERSYNC_URL": serviceURL, "JWT_AUDIENCE": "powersync",
                "JWT_KEYS_DIR": configuration.folder + "/keys", "DEV_TOKENS": "true",
                "LOG_LEVEL": configuration.logLevel,
                "ATTACHMENTS_STORE": Self.fileURL(
                    try PrivateFile.makeFolder(configuration.folder + "/attachments")),
            ]
            // Whoever has named an address that others reach has been asked for nothing more.
            if !IPAddress.isLoopback(host: configuration.listeningHost) { environment["DEV_PUBLIC"] = "true" }
            // A port that it chooses itself it also knows itself.
            if configuration.backendPort != 0 {
                environment["ATTACHMENTS_PUBLIC_URL"] =
                    "http://\(configuration.urlHost):\(configuration.backendPort)"
            }
            if let map = configuration.tableMap {
                environment["PSB_TABLE_MAP"] = map
            } else {
                environment["DEV_OPEN_SCHEMA"] = "true"
            }
            return environment.merging(configuration.backendEnvironment) { $1 }
        case .service:
            let folder = try PrivateFile.makeFolder(configuration.folder + "/service")
            let text = try ServiceConfigurationFile.text(
                configuration, database: database, folder: folder, keysURL: url(.backend) + "/api/auth/keys")
            let file = folder + "/service.yaml"
            try PrivateFile.write(text, to: file)
            var environment = ["POWERSYNC_CONFIG_PATH": file, "PS_LOG_LEVEL": configuration.logLevel]
            environment["PS_LOG_FORMAT"] = ProcessInfo.processInfo.environment["LOG_FORMAT"]
            return environment
        }
    }
}
