import PowerSyncCommandLine
import PowerSyncPostgresSource
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire
import PowerSyncYAML

/// What a configuration file says beside the service itself.
package struct ServiceSettings: Sendable {
    /// The service.
    package var service: MockServiceConfiguration
    /// The lightest log lines that are written.
    package var logLevel = LogLevel.info
    /// How log lines are spelled.
    package var logFormat = Log.Format.text
    /// What the file asks for and this service does otherwise, for the log.
    package var notes: [String] = []
}

/// Reads the service's configuration file, YAML or JSON (service 8).
package struct ConfigurationReader {
    /// Where texts and files come from, so that tests need none.
    package struct Inputs: Sendable {
        /// The environment.
        package let environment: [String: String]
        /// Reads a file by its path; one in the configuration begins in the folder of that.
        package let readFile: @Sendable (String) throws(SystemError) -> String
        /// Where the state goes if neither file nor environment say so; nil if there is no place for it.
        package let statePath: @Sendable () -> String?
        /// The file of the authorities that the system trusts; nil if there is none.
        package let systemAuthorities: @Sendable () -> String?

        /// Makes inputs.
        package init(
            environment: [String: String],
            readFile: @escaping @Sendable (String) throws(SystemError) -> String,
            statePath: @escaping @Sendable () -> String? = { nil },
            systemAuthorities: @escaping @Sendable () -> String? = { nil }
        ) {
            self.environment = environment
            self.readFile = readFile
            self.statePath = statePath
            self.systemAuthorities = systemAuthorities
        }
    }

    let inputs: Inputs
    private let name: String

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - text: The YAML.
    ///   - name: What the text is called in messages.
    ///   - inputs: The environment and the files that it refers to.
    /// - Returns: The settings.
    /// - Throws: `ConfigurationError` with name, line and column of what is wrong.
    package static func read(_ text: String, name: String, inputs: Inputs) throws(ConfigurationError)
        -> ServiceSettings
    {
        let reader = ConfigurationReader(inputs: inputs, name: name)
        do throws(YAMLError) {
            guard let root = try YAMLNode.parse(text), root.pairs != nil else {
                throw YAMLError("the configuration must be a map", line: 1, column: 1)
            }
            return try reader.settings(root, of: text)
        } catch {
            throw ConfigurationError("\(name):\(error.line):\(error.column): \(error.message)")
        }
    }

    private func settings(_ root: YAMLNode, of yaml: String) throws(YAMLError) -> ServiceSettings {
        let connection = try connection(root)
        let syncConfig = try syncConfig(root, of: yaml)
        let (statePath, notes) = try statePath(root)
        let (source, named) = try SourceReader(reader: self).source(connection)
        var service = MockServiceConfiguration(
            source: source, statePath: statePath, syncConfig: syncConfig.text)
        service.syncConfig = syncConfig
        try readReplication(connection, into: &service)
        if let host = try text(root["host"]) { service.host = host }
        if let port = try number(root["port"], in: 0...65_535) { service.port = port }
        if let node = try map(root["client_auth"]) {
            try ClientAuthReader(reader: self).read(node, host: named["host"], into: &service)
        }
        service.probes = try probes(root)
        let api = try map(root["api"])
        service.apiTokens = try tokens(api?["tokens"])
        try readLimits(try map(api?["parameters"]), into: &service)
        service.metricsPort = try number(try map(root["telemetry"])?["prometheus_port"], in: 0...65_535)
        // Maps of the user's own.
        for key in ["metadata", "parameters"] { _ = try map(root[key]) }
        var settings = ServiceSettings(service: service, notes: notes + (try otherNotes(root, connection)))
        if let node = try map(try map(root["system"])?["logging"]) {
            if let level = try text(node["level"]) {
                guard let known = LogLevel(name: level) else {
                    throw node.error("'\(level)' is no log level")
                }
                settings.logLevel = known
            }
            if let format = try text(node["format"]) {
                guard let known = Log.Format(rawValue: format) else {
                    throw node.error("'format' is json or text")
                }
                settings.logFormat = known
            }
        }
        return settings
    }

    private func readReplication(
        _ connection: YAMLNode, into service: inout MockServiceConfiguration
    ) throws(YAMLError) {
        if let id = try text(connection["id"]) { service.connectionID = id }
        if let tag = try text(connection["tag"]) { service.connectionTag = tag }
        if let prefix = try text(connection["slot_name_prefix"]) {
            // What Postgres allows in the name of a slot, which goes on with a number and four digits.
            guard prefix.utf8.count <= 40,
                prefix.utf8.allSatisfy({
                    ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x5F
                })
            else {
                throw (connection["slot_name_prefix"] ?? connection).error(
                    "'slot_name_prefix' may hold at most 40 lower-case letters, digits and underscores")
            }
            service.slotNamePrefix = prefix
        }
        if let seconds = try number(connection["heartbeat_interval_seconds"], in: 1...3600) {
            service.heartbeat = .seconds(seconds)
        }
        if let seconds = try number(connection["snapshot_socket_timeout"], in: 1...3600) {
            service.linkTimes.reading = .seconds(seconds)
        }
    }

    /// The tokens of the admin routes; one that no request can show is refused.
    private func tokens(_ node: YAMLNode?) throws(YAMLError) -> [String] {
        var tokens: [String] = []
        for element in try list(node) {
            guard let token = try text(element), !token.isEmpty, !token.contains(where: \.isWhitespace) else {
                throw element.error("a token of 'api.tokens' is a text without spaces, and not empty")
            }
            tokens.append(token)
        }
        return tokens
    }

    private func readLimits(
        _ parameters: YAMLNode?, into service: inout MockServiceConfiguration
    ) throws(YAMLError) {
        guard let parameters else { return }
        let limits = 1...1_000_000
        if let limit = try number(parameters["max_concurrent_connections"], in: limits) {
            service.maxConcurrentConnections = limit
        }
        if let limit = try number(parameters["max_buckets_per_connection"], in: limits) {
            service.maxBucketsPerConnection = limit
        }
        if let limit = try number(parameters["max_data_fetch_concurrency"], in: 1...100) {
            service.maxDataFetchConcurrency = limit
        }
        if let limit = try number(parameters["max_parameter_query_results"], in: limits) {
            service.maxParameterQueryResults = limit
        }
        // Of what it bounds there is nothing here: counts that are kept.
        _ = try number(parameters["bucket_count_cache_ttl_minutes"], in: limits)
        if let minutes = try number(parameters["checkpoint_request_retention_minutes"], in: limits) {
            service.checkpointRequestRetention = .seconds(60 * minutes)
        }
    }

    /// How the probes can be asked; `use_legacy` is both ways.
    private func probes(_ root: YAMLNode) throws(YAMLError) -> ProbeSettings {
        var probes = ProbeSettings()
        guard let node = try map(try map(root["healthcheck"])?["probes"]) else { return probes }
        let isLegacy = try flag(node["use_legacy"]) == true
        probes.usesHTTP = try flag(node["use_http"]) != false || isLegacy
        if try flag(node["use_filesystem"]) == true || isLegacy { probes.folder = ".probes" }
        return probes
    }

    /// What the file asks for and this service does otherwise, beside its storage.
    private func otherNotes(_ root: YAMLNode, _ connection: YAMLNode) throws(YAMLError) -> [String] {
        var notes: [String] = []
        if try flag(connection["debug_api"]) == true {
            notes.append("'debug_api' means nothing here: no route runs SQL")
        }
        if let tag = try text(connection["tag"]), ExactText(tag) != CompileOptions().defaultTag {
            notes.append("'tag' means nothing here: the one connection has the tag 'default' in queries")
        }
        if try flag((root["sync_config"] ?? root["sync_rules"])?["exit_on_error"]) == false {
            notes.append("'exit_on_error' is taken for true: a sync config with errors ends the service")
        }
        let sections: [(YAMLNode?, String, Set<String>)] = [
            (
                root["api"]?["parameters"], "api.parameters",
                [
                    "max_concurrent_connections", "max_data_fetch_concurrency", "max_buckets_per_connection",
                    "max_parameter_query_results", "checkpoint_request_retention_minutes",
                    "bucket_count_cache_ttl_minutes",
                ]
            ),
            (
                root["healthcheck"]?["probes"], "healthcheck.probes",
                ["use_http", "use_filesystem", "use_legacy"]
            ),
        ]
        for (node, place, known) in sections {
            for (key, _) in node?.pairs ?? [] where !known.contains(key.string ?? "") {
                notes.append(
                    "line \(key.line), column \(key.column): '\(key.string ?? "")' is no key of '\(place)' and means nothing"
                )
            }
        }
        return notes
    }

    private func connection(_ root: YAMLNode) throws(YAMLError) -> YAMLNode {
        let list = try list(try map(root["replication"])?["connections"])
        guard let first = list.first else {
            throw (root["replication"] ?? root).error("'replication.connections' needs one connection")
        }
        guard list.count == 1 else { throw list[1].error("only one connection is possible") }
        guard try text(first["type"]) == "postgresql" else {
            throw (first["type"] ?? first).error("the connection's 'type' must be postgresql")
        }
        return first
    }

    /// Where the state lies: as `storage` of type sqlite says, else POWERSYNC_STATE_PATH, else beside the file or in the working folder.
    ///
    /// A database that the real service keeps its state in is accepted and not used.
    private func statePath(_ root: YAMLNode) throws(YAMLError) -> (path: String, notes: [String]) {
        let storage = try map(root["storage"])
        let type = try text(storage?["type"])
        // What stands beside it would mean nothing, and the state lie elsewhere.
        if let storage, type == nil, storage.pairs?.isEmpty == false {
            throw storage.error("'storage' needs a 'type': sqlite, with a path, or that of the real service")
        }
        if let storage, type == "sqlite", let path = try text(storage["path"]) {
            guard !path.isEmpty else {
                throw storage.error("'storage.path' is empty: the file for the state")
            }
            return (path, [])
        }
        if let storage, let type, !["sqlite", "postgresql", "mongodb"].contains(type) {
            throw (storage["type"] ?? storage).error(
                "'\(type)' is no storage: postgresql or mongodb, for the real service, or sqlite with a path")
        }
        let named = inputs.environment["POWERSYNC_STATE_PATH"].flatMap { $0.isEmpty ? nil : $0 }
        guard let path = named ?? inputs.statePath() else {
            throw (storage ?? root).error(
                "there is no place for the state: set POWERSYNC_STATE_PATH to a file that can be written, or write "
                    + "storage: {type: sqlite, path: FILE}")
        }
        guard let type, type != "sqlite" else { return (path, []) }
        return (path, ["the storage of type \(type) is not used; the state is kept in \(path)"])
    }

    private func syncConfig(_ root: YAMLNode, of yaml: String) throws(YAMLError) -> SyncConfigText {
        // The second is the name of former days.
        for name in ["POWERSYNC_SYNC_CONFIG_B64", "POWERSYNC_SYNC_RULES_B64"] {
            guard let encoded = inputs.environment[name], !encoded.isEmpty else { continue }
            guard let text = Base64Text.decode(encoded) else {
                throw YAMLError("\(name) is no base64 of a text", line: 1, column: 1)
            }
            return SyncConfigText(file: name, text: text)
        }
        return try SyncConfigText.read(
            root, of: yaml, named: self.name, environment: inputs.environment, readFile: inputs.readFile)
    }
}
