import PowerSyncHTTP
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

    func source(_ node: YAMLNode) throws(YAMLError) -> SourceDatabase {
        try reader.refuseOthers(than: Self.keys, in: node, of: "a connection")
        // Rules that restrict must not be dropped silently.
        for key in ["reject_ip_ranges", "tls_servername"] {
            if let refused = node[key], !refused.isNull, refused.elements?.isEmpty != true {
                throw refused.error("'\(key)' is not supported by this service")
            }
        }
        let uri = try self.uri(node)
        var parameters: [String: String] = [:]
        let mode = try reader.text(node["sslmode"])
        if let mode, !["verify-full", "verify-ca", "disable"].contains(mode) {
            throw (node["sslmode"] ?? node).error("'sslmode' is verify-full, verify-ca or disable")
        }
        let certificates = try SourceCertificates(
            authorities: reader.text(node["cacert"]), certificate: reader.text(node["client_certificate"]),
            key: reader.text(node["client_private_key"]))
        guard (certificates.certificate == nil) == (certificates.key == nil) else {
            throw (node["client_certificate"] ?? node["client_private_key"] ?? node).error(
                "'client_certificate' and 'client_private_key' belong together")
        }
        if mode == "verify-ca", certificates.authorities == nil {
            throw (node["sslmode"] ?? node).error("[PSYNC_S1104] 'sslmode' verify-ca needs a 'cacert'")
        }
        // What the URI says of TLS stands; without either, certificates are checked, as the real service does.
        if !uri.contains("sslmode=") { parameters["sslmode"] = mode ?? "verify-full" }
        if parameters["sslmode"]?.hasPrefix("verify") == true, certificates.authorities == nil,
            !uri.contains("sslrootcert="), let system = reader.inputs.systemAuthorities()
        {
            parameters["sslrootcert"] = system
        }
        return SourceDatabase(
            uri: uri, parameters: parameters,
            certificates: certificates == SourceCertificates() ? nil : certificates)
    }

    private func uri(_ node: YAMLNode) throws(YAMLError) -> String {
        if let uri = try reader.text(node["uri"]) { return uri }
        guard let host = try reader.text(node["hostname"]), let database = try reader.text(node["database"])
        else {
            throw node.error(
                "the connection needs a 'uri', or 'hostname', 'username', 'password' and 'database'")
        }
        let port = try reader.number(node["port"], in: 1...65_535) ?? 5432
        var user = ""
        if let name = try reader.text(node["username"]) {
            let password = try reader.text(node["password"]).map { ":" + PercentEncoding.encode($0) } ?? ""
            user = PercentEncoding.encode(name) + password + "@"
        }
        return "postgresql://\(user)\(host):\(port)/\(PercentEncoding.encode(database))"
    }
}
