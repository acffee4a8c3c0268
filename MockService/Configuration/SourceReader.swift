import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncSystem
import PowerSyncYAML

/// Reads how the source database is reached (service 8).
struct SourceReader {
    let reader: ConfigurationReader

    private static let keys: Set = [
        "type", "id", "tag", "uri", "hostname", "port", "username", "password", "database", "sslmode",
        "cacert",
        "client_certificate", "client_private_key", "tls_servername", "reject_ip_ranges", "slot_name_prefix",
        "max_pool_size", "connect_timeout", "snapshot_socket_timeout", "heartbeat_interval_seconds",
        "debug_api",
    ]

    /// The source, and the keywords of libpq that its URI sets itself.
    func source(
        _ node: YAMLNode
    ) throws(YAMLError) -> (source: SourceDatabase, named: [String: String]) {
        try reader.refuseOthers(than: Self.keys, in: node, of: "a connection")
        let uri = try self.uri(node)
        let named = try self.named(uri, node)
        // What the URI says of TLS stands; without either, certificates are checked, as the real service does.
        let mode = try mode(node, named) ?? "verify-full"
        let certificates = try certificates(node, named, mode)
        var parameters: [String: String] = [:]
        if named["sslmode"] == nil { parameters["sslmode"] = mode }
        if mode == "verify-full", certificates.authorities == nil, !hasOwnAuthorities(named),
            let system = reader.inputs.systemAuthorities()
        {
            parameters["sslrootcert"] = system
        }
        var source = SourceDatabase(
            uri: uri, parameters: parameters,
            certificates: certificates == SourceCertificates() ? nil : certificates)
        source.addresses.rejected = try reader.ranges(node["reject_ip_ranges"])
        source.addresses.serverName = try serverName(node, mode)
        if let size = try reader.number(node["max_pool_size"], in: 1...1000) { source.poolSize = size }
        if let seconds = try reader.number(node["connect_timeout"], in: 1...3600) {
            source.connectTimeout = .seconds(seconds)
            source.clientConnectTimeout = .seconds(seconds)
        }
        return (source, named)
    }

    // MARK: Where it is

    private func uri(_ node: YAMLNode) throws(YAMLError) -> String {
        if let uri = try reader.text(node["uri"]) {
            // To libpq that is the database of the user on this machine.
            guard uri.contains(where: { !$0.isWhitespace }) else {
                throw (node["uri"] ?? node).error("[PSYNC_S1109] the connection URI is empty")
            }
            return uri
        }
        guard let host = try reader.text(node["hostname"]), let database = try reader.text(node["database"])
        else {
            let code = node["hostname"] == nil ? "PSYNC_S1106" : "PSYNC_S1105"
            throw node.error(
                "[\(code)] the connection needs a 'uri', or 'hostname', 'username', 'password' and 'database'"
            )
        }
        guard !database.isEmpty else {
            throw (node["database"] ?? node).error("[PSYNC_S1105] 'database' is empty")
        }
        let isSixth = host.contains(":")
        guard Self.isHost(host) else {
            throw (node["hostname"] ?? node).error(
                "[PSYNC_S1106] 'hostname' is the name of a host, or its address")
        }
        let port = try reader.number(node["port"], in: Self.ports) ?? 5432
        var user = ""
        if let name = try reader.text(node["username"]) {
            let password = try reader.text(node["password"]).map { ":" + PercentEncoding.encode($0) } ?? ""
            user = PercentEncoding.encode(name) + password + "@"
        }
        // An address of version 6 has colons, which would begin a port.
        return
            "postgresql://\(user)\(isSixth ? "[\(host)]" : host):\(port)/\(PercentEncoding.encode(database))"
    }

    private static let ports = 1024...65_535

    /// Whether a text is one name, or one address: anything else would be read as several, or as the folder of a socket.
    private static func isHost(_ text: String) -> Bool {
        // With a colon it is an address of version 6, or a name with a port.
        if text.utf8.contains(0x3A) { return IPAddress(text) != nil }
        return (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || [0x2D, 0x2E, 0x5F].contains(byte)
            }
    }

    /// What the URI says to libpq; what stands beside it must not say otherwise.
    private func named(_ uri: String, _ node: YAMLNode) throws(YAMLError) -> [String: String] {
        let place = node["uri"] ?? node["hostname"] ?? node
        let named: [String: String]
        do throws(PostgresError) {
            named = try ConnectionOptions.named(in: uri)
        } catch {
            throw place.error("[PSYNC_S1109] \(error.message)")
        }
        let environment = reader.inputs.environment.filter { !$0.value.isEmpty }
        let ports = named["port"] ?? environment["PGPORT"]
        for port in (ports ?? "").split(separator: ",") {
            guard Int(port).map({ Self.ports.contains($0) }) == true else {
                throw place.error("[PSYNC_S1110] the port is not one from 1024 to 65535")
            }
        }
        guard node["uri"] != nil else { return named }
        // Without one libpq takes the name of the user; a service file may have one.
        let database = named["dbname"].flatMap { $0.isEmpty ? nil : $0 }
        guard database ?? environment["PGDATABASE"] ?? environment["PGSERVICE"] ?? named["service"] != nil
        else {
            throw place.error("[PSYNC_S1105] the connection URI names no database")
        }
        let meanings: [(String, String?)] = [
            ("hostname", named["host"]), ("port", ports ?? "5432"), ("username", named["user"]),
            ("password", named["password"]), ("database", named["dbname"]),
        ]
        for (key, meaning) in meanings {
            guard let value = try reader.text(node[key]), value != meaning else { continue }
            throw (node[key] ?? node).error("'\(key)' says otherwise than the 'uri' beside it")
        }
        return named
    }

    // MARK: How it is encrypted

    /// The mode that is effective, whoever names it.
    private func mode(_ node: YAMLNode, _ named: [String: String]) throws(YAMLError) -> String? {
        guard let mode = try reader.text(node["sslmode"]) else { return named["sslmode"] }
        let place = node["sslmode"] ?? node
        guard ["verify-full", "verify-ca", "disable"].contains(mode) else {
            throw place.error("'sslmode' is verify-full, verify-ca or disable")
        }
        guard let other = named["sslmode"], other != mode else { return mode }
        throw place.error("'sslmode' is \(mode) here and \(other) in the URI")
    }

    /// Whether libpq finds authorities by itself: those of its environment, and of a service file, are more its user's than
    /// the system's.
    private func hasOwnAuthorities(_ named: [String: String]) -> Bool {
        let environment = reader.inputs.environment
        return [
            named["sslrootcert"], named["service"], environment["PGSSLROOTCERT"], environment["PGSERVICE"],
        ]
        .contains { $0?.isEmpty == false }
    }

    private func certificates(
        _ node: YAMLNode, _ named: [String: String], _ mode: String
    ) throws(YAMLError) -> SourceCertificates {
        let certificates = try SourceCertificates(
            authorities: reader.text(node["cacert"]), certificate: reader.text(node["client_certificate"]),
            key: reader.text(node["client_private_key"]))
        guard (certificates.certificate == nil) == (certificates.key == nil) else {
            throw (node["client_certificate"] ?? node["client_private_key"] ?? node).error(
                "'client_certificate' and 'client_private_key' belong together")
        }
        for (key, keyword, text) in [
            ("cacert", "sslrootcert", certificates.authorities),
            ("client_certificate", "sslcert", certificates.certificate),
            ("client_private_key", "sslkey", certificates.key),
        ] where text != nil && named[keyword] != nil {
            throw (node[key] ?? node).error("'\(key)' is here and '\(keyword)' in the URI: one of them")
        }
        if certificates.authorities != nil, ["disable", "allow", "prefer"].contains(mode) {
            throw (node["cacert"] ?? node).error("'cacert' means nothing to 'sslmode' \(mode)")
        }
        if mode == "verify-ca", certificates.authorities == nil, !hasOwnAuthorities(named) {
            throw (node["sslmode"] ?? node["uri"] ?? node).error(
                "[PSYNC_S1104] 'sslmode' verify-ca needs a 'cacert'")
        }
        return certificates
    }

    /// The name that the certificate must have.
    private func serverName(
        _ node: YAMLNode, _ effectiveMode: String
    ) throws(YAMLError) -> String? {
        guard let name = try reader.text(node["tls_servername"]) else { return nil }
        let place = node["tls_servername"] ?? node
        guard Self.isHost(name) else { throw place.error("'tls_servername' is the name of a host") }
        // With other modes nobody would compare it.
        guard effectiveMode.hasPrefix("verify") else {
            throw place.error("'tls_servername' means nothing to 'sslmode' \(effectiveMode)")
        }
        return name
    }
}
