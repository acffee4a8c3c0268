import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncYAML

/// Reads whose tokens are accepted (service 2.3, 8).
struct ClientAuthReader {
    let reader: ConfigurationReader

    func read(_ node: YAMLNode, into service: inout MockServiceConfiguration) throws(YAMLError) {
        try reader.refuseOthers(
            than: [
                "jwks_uri", "jwks", "audience", "supabase", "supabase_jwt_secret", "jwks_reject_ip_ranges",
                "block_local_jwks",
            ], in: node, of: "'client_auth'")
        for key in ["supabase", "supabase_jwt_secret"] {
            // Rules that restrict must not be dropped silently.
            if let refused = node[key], try reader.text(refused) != "false" {
                throw refused.error("'client_auth.\(key)' is not supported by this service")
            }
        }
        for entry in try texts(node["jwks_uri"]) {
            guard entry.hasPrefix("http://") || entry.hasPrefix("https://") else {
                throw (node["jwks_uri"] ?? node).error(
                    "[PSYNC_S3103] 'jwks_uri' must be an http or https address")
            }
            let rest = entry.drop { $0 != "/" }.dropFirst(2)
            guard let first = rest.first, !"/?#".contains(first), !rest.contains(where: \.isWhitespace) else {
                throw (node["jwks_uri"] ?? node).error("[PSYNC_S3102] 'jwks_uri' is not a valid address")
            }
            service.jwksURIs.append(entry)
        }
        service.audience = try texts(node["audience"])
        if let jwks = try reader.map(node["jwks"]) {
            try reader.refuseOthers(than: ["keys"], in: jwks, of: "'client_auth.jwks'")
            for key in try reader.list(jwks["keys"]) { service.keys.append(try self.key(key)) }
        }
        service.rejectedKeyAddresses = try reader.ranges(node["jwks_reject_ip_ranges"])
        // The former name of `local`.
        if try reader.flag(node["block_local_jwks"]) == true {
            service.rejectedKeyAddresses.formUnion(.local)
        }
    }

    private func texts(_ node: YAMLNode?) throws(YAMLError) -> [String] {
        guard let node, !node.isNull else { return [] }
        guard let elements = node.elements else { return [try reader.text(node)].compactMap { $0 } }
        var texts: [String] = []
        for element in elements {
            if let text = try reader.text(element) { texts.append(text) }
        }
        return texts
    }

    private func key(_ node: YAMLNode) throws(YAMLError) -> JSONWebKey {
        guard let pairs = node.pairs else { throw node.error("a key is a map") }
        var fields: [String: String] = [:]
        var operations: [String]?
        for (name, value) in pairs {
            guard let name = name.string else { continue }
            if name == "key_ops" {
                operations = try texts(value)
            } else {
                fields[name] = try reader.text(value)
            }
        }
        // Without them the key would stand for any name, or for every algorithm of its type (service 2.3).
        let needed = ["RSA": ["kid", "alg"], "oct": ["alg"]][fields["kty"] ?? ""] ?? []
        for name in needed where fields[name] == nil { throw node.error("the key needs '\(name)'") }
        do throws(CryptoError) {
            return try JSONWebKey(fields: fields, keyOperations: operations)
        } catch {
            throw node.error("the key cannot be used: \(error)")
        }
    }
}
