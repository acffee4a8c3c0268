import PowerSyncWire

/// The service's configuration file, in JSON, which is YAML too (service 8).
enum ServiceConfigurationFile {
    /// Writes the file of a local stack.
    ///
    /// The service checks certificates unless told otherwise, and a URI without `sslmode` means something else to libpq,
    /// and so to all other parts: the mode is therefore written out. So are the authorities that libpq finds in the user's
    /// home, for which the service, as the real one, does not look. So is the name of the service's sessions, by which they
    /// are ended (`StackDatabase.close`), since one in the URI would win over that of the environment.
    ///
    /// - Parameters:
    ///   - configuration: the stack's.
    ///   - database: the database to replicate.
    ///   - folder: where the service keeps its state.
    ///   - keysURL: where the backend publishes its keys.
    /// - Returns: the text.
    /// - Throws: `StackError` if the stack has no sync configuration.
    static func text(
        _ configuration: LocalStackConfiguration, database: StackDatabase, folder: String, keysURL: String
    ) throws -> String {
        guard let syncConfig = configuration.syncConfig else {
            throw StackError(.file, "the stack has no sync configuration")
        }
        func object(_ members: [(String, JSON)]) -> JSON { .object(members.map { JSONMember($0.0, $0.1) }) }
        let source =
            switch syncConfig {
            case .text(let text): object([("content", .string(text))])
            case .file(let path): object([("path", .string(path))])
            }
        let named = try PostgresURI.adding("application_name", database.serviceName, to: database.uri)
        var connection: [(String, JSON)] = [
            ("type", .string("postgresql")),
            ("uri", .string(try PostgresURI.adding("sslmode", database.tlsMode, to: named))),
            ("slot_name_prefix", .string(database.slotPrefix)),
        ]
        if let file = database.ownAuthorities {
            connection.append(("cacert", .string(try TextFile.read(file))))
        }
        return object([
            ("replication", object([("connections", .array([object(connection)]))])),
            (
                "storage",
                object([
                    ("type", .string("sqlite")), ("path", .string(folder + "/state.sqlite")),
                ])
            ),
            ("host", .string(configuration.host)), ("port", .integer(configuration.servicePort)),
            ("sync_config", source),
            (
                "client_auth",
                object([("jwks_uri", .string(keysURL)), ("audience", .array([.string("powersync")]))])
            ),
            ("system", object([("logging", object([("level", .string(configuration.logLevel))]))])),
        ]).text + "\n"
    }
}
