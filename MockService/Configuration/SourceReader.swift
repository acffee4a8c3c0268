import PowerSyncHTTP
import PowerSyncYAML

/// Reads how the source database is reached (service 8).
struct SourceReader {
    let reader: ConfigurationReader

    func source(_ node: YAMLNode) throws(YAMLError) -> SourceDatabase {
        let uri = try self.uri(node)
        var parameters: [String: String] = [:]
        let mode = try reader.text(node["sslmode"])
        if let mode, !["verify-full", "verify-ca", "disable"].contains(mode) {
            throw (node["sslmode"] ?? node).error("'sslmode' is verify-full, verify-ca or disable")
        }
        // What the URI says of TLS stands; without either, certificates are checked, as the real service
        // does.
        if !uri.contains("sslmode=") { parameters["sslmode"] = mode ?? "verify-full" }
        for key in ["cacert", "client_certificate", "client_private_key"] where node[key] != nil {
            throw (node[key] ?? node).error(
                "'\(key)' is not supported by this service; name files in the URI: sslrootcert, sslcert, sslkey"
            )
        }
        return SourceDatabase(uri: uri, parameters: parameters)
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
