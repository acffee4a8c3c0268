import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire
import PowerSyncYAML

/// What `up` was asked for.
package struct UpOptions: Sendable {
    /// The address of the two HTTP ports.
    package var host = "127.0.0.1"
    /// The backend's port, 0 for any.
    package var backendPort = 6060
    /// The service's port, 0 for any.
    package var servicePort = 8080
    /// The path of SQL for an empty database.
    package var schema: String?
    /// The path of a Sync Streams configuration.
    package var syncConfig: String?
    /// The path of a table file.
    package var tables: String?
    /// Whether uploads without a token are taken.
    package var hasOpenUploads = false
    /// The folder that keeps everything for the next time.
    package var data: String?
    /// The server to use instead of a private one.
    package var databaseURI: String?
    /// The least severe level that the parts log.
    package var logLevel = "info"

    /// Makes options with the defaults.
    package init() {}
}

/// The local stack for a team's own app.
package enum UpRun {
    /// Starts everything, says where it is, and keeps it up until the session ends.
    ///
    /// - Parameters:
    ///   - options: what was asked for.
    ///   - executable: the path of `powersync-stack`.
    ///   - session: closes what is opened.
    ///   - warn: gets what a person should know, for standard error.
    ///   - ready: gets the one line for standard output.
    /// - Throws: `StackError` when a part ends by itself; errors of starting.
    package static func run(
        _ options: UpOptions, executable: String, session: Session,
        warn: @escaping @Sendable (String) -> Void,
        ready: (String) -> Void
    ) async throws {
        let schema = try options.schema.map { path throws(StackError) in try TextFile.read(path) }
        let syncConfig = try options.syncConfig.map { path throws(StackError) in try usable(path) }
        let tables = try options.tables.map { path throws(StackError) in try yaml(path) }
        let data: DataFolder? =
            if let path = options.data { try await DataFolder(path, warn: warn) } else { nil }
        // Closed last: the folder is locked until everything else is closed.
        session.onEnd { withExtendedLifetime(data) {} }
        let folder = try data?.path ?? session.temporaryFolder()
        let poller = try session.poller()
        let place: StackDatabase.Place
        if let uri = options.databaseURI {
            place = .namedDatabase(uri: uri, keptToken: try data?.token())
        } else {
            place = .cluster(directory: data.map { $0.path + "/postgres" })
        }
        let database = StackDatabase(place, poller: poller, warn: warn)
        session.onEnd { try await database.close() }
        try await database.open()
        if let data { try data.bind(to: try await database.identity()) }
        var configuration = LocalStackConfiguration(executable: executable, folder: folder)
        configuration.host = options.host
        configuration.backendPort = options.backendPort
        configuration.servicePort = options.servicePort
        configuration.schema = schema
        configuration.syncConfig = syncConfig.map { .file($0) }
        configuration.tableMap = tables
        configuration.logLevel = options.logLevel
        if options.hasOpenUploads { configuration.backendEnvironment["DEV_OPEN_UPLOADS"] = "true" }
        if tables == nil {
            warn("no --tables FILE given: the backend may write every column of every published table")
        }
        if !IPAddress.isLoopback(host: options.host) {
            warn(
                "--host \(options.host) opens both ports: whoever reaches them gets a token for any user. Tokens name the "
                    + "service as http://\(configuration.urlHost):PORT, and addresses of files the backend")
        }
        let stack = LocalStack(configuration, database: database, poller: poller)
        session.onEnd { await stack.stop() }
        session.onHurry { stack.killNow() }
        try await stack.start(warn: warn)
        ready(
            JSON.object([
                JSONMember("postgres", .string(try database.shownURI)),
                JSONMember("backend", .string(try await stack.url(.backend))),
                JSONMember("service", .string(try await stack.url(.service))),
            ]).text)
        try await stack.watch()
    }

    /// Checks a sync config before anything starts, since the service, which would refuse it, starts last.
    ///
    /// Returns its absolute path.
    private static func usable(_ path: String) throws(StackError) -> String {
        let check = ConfigurationCheck(SyncConfigText(file: path, text: try TextFile.read(path)))
        guard check.config.plan != nil else {
            let lines = [check.summary, check.report(.text)].compactMap { $0 }
            throw StackError(.file, lines.joined(separator: "\n"))
        }
        return TextFile.absolutePath(path)
    }

    /// Checks that a file is YAML, so that a mistake is told with file and line before anything starts.
    ///
    /// Returns its absolute path.
    private static func yaml(_ path: String) throws(StackError) -> String {
        let text = try TextFile.read(path)
        do {
            _ = try YAMLNode.parse(text)
        } catch {
            throw StackError(.file, "\(path): \(error)")
        }
        return TextFile.absolutePath(path)
    }
}
