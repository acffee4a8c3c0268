import PowerSyncWire

/// The service's configuration file for one scenario, in JSON, which is YAML too (service 8).
struct ScenarioConfiguration {
    /// The source.
    var sourceURI: String
    /// The database in which the service may keep its state.
    var storageURI: String
    /// Where clients connect.
    var port: Int
    /// Where metrics are.
    var metricsPort: Int
    /// What the names of replication slots begin with, so that services side by side have their own.
    var slotPrefix: String
    /// More members, of the recording.
    var extra: JSON

    /// Returns the text of the file.
    ///
    /// - Parameter syncConfig: the YAML of the sync config.
    /// - Returns: one line of JSON.
    func text(syncConfig: String) -> String {
        func object(_ members: KeyValuePairs<String, JSON>) -> JSON {
            .object(members.map { JSONMember($0.key, $0.value) })
        }
        func database(_ uri: String, _ more: [JSONMember] = []) -> JSON {
            .object(
                [
                    JSONMember("type", .string("postgresql")), JSONMember("uri", .string(uri)),
                    JSONMember("sslmode", .string("disable")),
                ] + more)
        }
        let source = database(sourceURI, [JSONMember("slot_name_prefix", .string(slotPrefix))])
        let key = object([
            "kty": .string("oct"), "alg": .string("HS256"), "kid": .string(ScenarioToken.kid),
            "k": .string(ScenarioToken.key),
        ])
        let file = object([
            "replication": object(["connections": .array([source])]),
            "storage": database(storageURI), "port": .integer(port),
            "sync_config": object(["content": .string(syncConfig)]),
            "client_auth": object([
                "audience": .array([.string("test")]), "jwks": object(["keys": .array([key])]),
            ]),
            "telemetry": object([
                "prometheus_port": .integer(metricsPort), "disable_telemetry_sharing": .bool(true),
            ]),
        ])
        return JSON.object((file.objectMembers ?? []) + (extra.objectMembers ?? [])).text + "\n"
    }
}
