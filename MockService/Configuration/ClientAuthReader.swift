import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncYAML

/// Reads whose tokens are accepted (service 2.3, 8).
struct ClientAuthReader {
    let reader: ConfigurationReader

    /// Reads the section.
    ///
    /// - Parameters:
    ///   - node: The section.
    ///   - host: The host of the source, by which a Supabase project is known.
    ///   - service: Gets what is read.
    /// - Throws: `YAMLError` at what is wrong.
    func read(
        _ node: YAMLNode, host: String?, into service: inout MockServiceConfiguration
    ) throws(YAMLError) {
        try reader.refuseOthers(
            than: [
                "jwks_uri", "jwks", "audience", "supabase", "supabase_jwt_secret", "jwks_reject_ip_ranges",
                "block_local_jwks",
            ], in: node, of: "'client_auth'")
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
            for node in try reader.list(jwks["keys"]) {
                if let key = try key(node) { service.keys.append(key) }
            }
        }
        service.rejectedKeyAddresses = try reader.ranges(node["jwks_reject_ip_ranges"])
        // The former name of `local`.
        if try reader.flag(node["block_local_jwks"]) == true {
            service.rejectedKeyAddresses.formUnion(.local)
        }
        service.supabase = try supabase(node, host: host, hasOtherKeys: service.hasKeys)
    }

    private func supabase(
        _ node: YAMLNode, host: String?, hasOtherKeys: Bool
    ) throws(YAMLError) -> SupabaseKeys? {
        let isSupabase = try reader.flag(node["supabase"])
        var secret: JSONWebKey?
        if let place = node["supabase_jwt_secret"], let text = try reader.text(place) {
            guard isSupabase != false else {
                throw place.error("'supabase_jwt_secret' is here although 'supabase' is false")
            }
            do throws(CryptoError) {
                secret = try JSONWebKey(secret: Array(text.utf8), algorithm: .HS256)
            } catch {
                throw place.error("the secret cannot be used: \(error)")
            }
        }
        let uri = isSupabase == true ? host.flatMap(SupabaseKeys.uri(ofSource:)) : nil
        if isSupabase == true, uri == nil, secret == nil, !hasOtherKeys {
            throw (node["supabase"] ?? node).error(
                "the host of the source is not db.PROJECT.supabase.co, so that it is not known where the keys are: "
                    + "'supabase_jwt_secret' or 'jwks_uri' is missing")
        }
        return uri == nil && secret == nil ? nil : SupabaseKeys(uri: uri, secret: secret)
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

    private static let members: Set<String> = [
        "kty", "kid", "alg", "use", "key_ops", "crv", "n", "e", "d", "p", "q", "dp", "dq", "qi", "x", "y",
        "k",
    ]

    /// Reads a key; nil if it is there for something else than to verify tokens.
    private func key(_ node: YAMLNode) throws(YAMLError) -> JSONWebKey? {
        guard let pairs = node.pairs else { throw node.error("a key is a map") }
        var fields: [String: String] = [:]
        var operations: [String]?
        for (name, value) in pairs {
            guard let name = name.string else { continue }
            // What nobody knows is ignored (RFC 7517 4): providers publish certificates beside their keys.
            guard Self.members.contains(name) else { continue }
            if name == "key_ops" {
                operations = value.isNull ? nil : try texts(value)
            } else {
                fields[name] = try reader.text(value)
            }
        }
        guard (fields["use"] ?? "sig") == "sig", operations?.contains("verify") ?? true else { return nil }
        // Without them the key would stand for any name, or for every algorithm of its type (service 2.3).
        let needed = ["RSA": ["kid", "alg"], "oct": ["alg"]][fields["kty"] ?? ""] ?? []
        for name in needed where fields[name] == nil { throw node.error("the key needs '\(name)'") }
        do throws(CryptoError) {
            let key = try JSONWebKey(fields: fields, keyOperations: operations)
            try key.requireStrength()
            return key
        } catch {
            throw node.error("the key cannot be used: \(error)")
        }
    }
}
