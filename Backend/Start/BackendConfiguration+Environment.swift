import PowerSyncPostgres

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension BackendConfiguration {
    /// Reads the configuration from environment variables (backend 6.3).
    ///
    /// - Parameters:
    ///   - variables: the environment.
    ///   - readFile: reads the file that `<NAME>_FILE` names.
    /// - Throws: `BackendError` with `.configuration`, naming the variable, never its value where that is
    ///   secret.
    package init(
        environment variables: [String: String], readFile: @escaping (String) throws -> String
    ) throws(BackendError) {
        var problems = SettingProblems()
        let reader = EnvironmentReader(variables: variables, readFile: readFile)
        let configuration = BackendConfiguration(reader, &problems)
        if let first = problems.all.first { throw first }
        self = configuration
    }

    /// Reads the configuration as far as it can be read.
    ///
    /// - Parameters:
    ///   - reader: the environment.
    ///   - problems: gets everything that is wrong, in the order in which it is looked at; with any, the configuration is of
    ///     no use.
    init(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        Self.refuseUnknownNames(reader, &problems)
        _ = problems.read { try reader.choice("DATABASE_TYPE", ["postgres"]) }
        let databaseURI = problems.read { try reader.databaseURI() } ?? ""
        let powersyncURL = problems.read { try reader.text("POWERSYNC_URL") }
        if let powersyncURL {
            if !powersyncURL.hasPrefix("http://"), !powersyncURL.hasPrefix("https://") {
                problems.add(
                    "POWERSYNC_URL", "must begin with http:// or https://; the audience is JWT_AUDIENCE")
            }
        } else {
            problems.add("POWERSYNC_URL", "is missing: where clients find the sync service")
        }
        var switches = DevelopmentSwitches()
        let keys = Self.keys(reader, &switches, &problems)
        let tables = Self.tables(reader, &switches, &problems)
        self.init(databaseURI: databaseURI, powersyncURL: powersyncURL ?? "", keys: keys, tables: tables)
        // What is neither of the two is refused, and taken for the stricter one until then.
        let isProduction = problems.read { try reader.isProduction() } ?? true
        host = problems.read { try reader.text("HOST") } ?? (isProduction ? "0.0.0.0" : host)
        port = problems.read { try reader.number("PORT", 0...65_535) } ?? port
        readTokens(reader, isProduction: isProduction, &problems)
        switches.isPublic = problems.read { try reader.flag("DEV_PUBLIC") } ?? false
        continuesAfterFatalError =
            problems.read { try reader.choice("BATCH_ON_FATAL_ERROR", ["stop", "skip"]) } == "skip"
        isolatesLegacyBatches =
            problems.read { try reader.choice("LEGACY_BATCH_MODE", ["atomic", "isolate"]) } == "isolate"
        hasCustomCheckpoints =
            problems.read { try reader.choice("CHECKPOINT_MODE", ["managed", "custom"]) } == "custom"
        corsOrigins = problems.read { try reader.list("CORS_ORIGINS") } ?? []
        bodyLimit = problems.read { try reader.number("MAX_BODY_BYTES", 1_024...(1 << 30)) } ?? bodyLimit
        readBounds(reader, &problems)
        poolSize = problems.read { try reader.number("POOL_SIZE", 1...1_000) } ?? poolSize
        readStatementTimes(reader, &problems)
        migrationTimeout = problems.read { try reader.migrationTimeout() } ?? migrationTimeout
        retries.driftGrace =
            problems.read { try reader.duration("SCHEMA_DRIFT_GRACE", 0...86_400) } ?? retries.driftGrace
        drainDelay =
            problems.read { try reader.duration("DRAIN_DELAY", 0...10) }
            ?? (isProduction ? .seconds(5) : .zero)
        do throws(BackendError) {
            try readAttachments(reader)
        } catch {
            problems.add(error)
        }
        readProduction(reader, isProduction: isProduction, &problems)
        refuse(switches, isProduction: isProduction, &problems)
    }

    /// Refuses names that look like settings and are none: whoever has set one relies on what it does not do.
    private static func refuseUnknownNames(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        for name in reader.variables.keys.sorted() where !Setting.names.contains(name) {
            // AUTH_ and SESSION_ are other programs' as well; without their settings nobody gets in.
            if let prefix = ["PSB_", "DB_ROLE", "RLS_", "TRUSTED_"].first(where: { name.hasPrefix($0) }) {
                let known = Setting.names.filter { $0.hasPrefix(prefix) }.sorted().joined(separator: ", ")
                problems.add(name, "is no setting of this backend; known is \(known)")
            } else if name.hasSuffix("_FILE"), reader.variables[name] != "" {
                // ENV_FILE, HOST_FILE and PORT_FILE mean something else to others.
                let setting = String(name.dropLast("_FILE".count))
                guard setting.contains("_"), Setting.names.contains(setting) else { continue }
                problems.add(name, "is not read: \(setting) itself must say it")
            }
        }
    }

    /// Reads whom tokens are for, and who gets them.
    private mutating func readTokens(
        _ reader: EnvironmentReader, isProduction: Bool, _ problems: inout SettingProblems
    ) {
        audiences = problems.read { try reader.list("JWT_AUDIENCE") } ?? []
        tokenIssuer = problems.read { try reader.text("JWT_ISSUER") }
        tokenLifetime = problems.read { try reader.tokenLifetime() } ?? tokenLifetime
        hasDevelopmentTokens = problems.read { try reader.flag("DEV_TOKENS") } ?? false
        developmentUser = problems.read { try reader.text("DEV_USER") } ?? developmentUser
        hasOpenUploads = problems.read { try reader.flag("DEV_OPEN_UPLOADS") } ?? false
        developmentHosts = problems.read { try reader.list("DEV_HOSTS") } ?? []
        if !developmentHosts.allSatisfy({ HostPolicy.name($0) != nil }) {
            problems.add(
                "DEV_HOSTS", "must be names of hosts, separated by commas, such as backend,mac.local")
        }
        // Whoever has a token of DEV_TOKENS has no other one.
        acceptsSyncTokens =
            problems.read { try reader.flag("UPLOAD_ACCEPTS_SYNC_TOKEN") }
            ?? (hasDevelopmentTokens && !isProduction)
        uploadAudiences = problems.read { try reader.list("UPLOAD_AUDIENCE") } ?? []
    }

    /// Reads what is said of the database alone, for commands that need no more: where it is, and how long a statement may
    /// take and wait for a lock.
    ///
    /// - Parameters:
    ///   - variables: the environment.
    ///   - readFile: reads the file that `<NAME>_FILE` names.
    /// - Returns: a configuration that is good for connecting to it.
    /// - Throws: `BackendError` with `.configuration`.
    package static func ofDatabase(
        environment variables: [String: String], readFile: @escaping (String) throws -> String
    ) throws(BackendError) -> BackendConfiguration {
        let reader = EnvironmentReader(variables: variables, readFile: readFile)
        // Nothing is signed and no table written by it.
        var configuration = BackendConfiguration(
            databaseURI: try reader.databaseURI(), powersyncURL: "", keys: .ephemeral, tables: .openSchema)
        var problems = SettingProblems()
        configuration.readStatementTimes(reader, &problems)
        configuration.links = LinkSettings(ofDatabase: reader, &problems)
        configuration.readTLS(reader, &problems)
        if let first = problems.all.first { throw first }
        return configuration
    }

    /// Reads how long a migration may take, for the command that does nothing else.
    ///
    /// - Parameters:
    ///   - variables: the environment.
    ///   - readFile: reads the file that `<NAME>_FILE` names.
    /// - Returns: the time; nil if the environment does not say.
    /// - Throws: `BackendError` with `.configuration`.
    package static func migrationTimeout(
        environment variables: [String: String], readFile: @escaping (String) throws -> String
    ) throws(BackendError) -> Duration? {
        try EnvironmentReader(variables: variables, readFile: readFile).migrationTimeout()
    }

    /// Reads what a backend in production has besides.
    private mutating func readProduction(
        _ reader: EnvironmentReader, isProduction: Bool, _ problems: inout SettingProblems
    ) {
        authentication = AuthenticationSettings(
            reader, isProduction: isProduction, corsOrigins: corsOrigins, &problems)
        roles = RoleSettings(reader, &problems)
        rateLimits = LimitSettings(reader, &problems)
        links = LinkSettings(reader, port: port, &problems)
        readTLS(reader, &problems)
    }

    /// Decides how the link to the database is protected; reads what libpq reads, a service file for example.
    private mutating func readTLS(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        // What libpq does not take is refused, with the reason, when it is connected to; what is missing is told already.
        guard !databaseURI.isEmpty, let named = try? ConnectionOptions.named(in: databaseURI),
            let keywords = try? ConnectionOptions.effective(of: databaseURI)
        else { return }
        let files = DatabaseTLS.Files(
            home: reader.variables["HOME"],
            // No setting of ours: OpenSSL's and curl's.
            named: reader.variables["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 },
            isReadable: { access($0, R_OK) == 0 })
        do throws(BackendError) {
            tls = try DatabaseTLS(
                keywords, isModeNamed: named["sslmode"] != nil, allowsInsecure: links.allowsInsecureTLS,
                files: files)
        } catch {
            problems.add(error)
        }
    }

    /// Reads how long a token lives, for commands that need no more.
    ///
    /// - Parameters:
    ///   - variables: the environment.
    ///   - readFile: reads the file that `<NAME>_FILE` names.
    /// - Returns: the time.
    /// - Throws: `BackendError` with `.configuration`.
    static func tokenLifetime(
        environment variables: [String: String], readFile: @escaping (String) throws -> String
    ) throws(BackendError) -> Duration {
        try EnvironmentReader(variables: variables, readFile: readFile).tokenLifetime()
            ?? standardTokenLifetime
    }

    private mutating func readStatementTimes(
        _ reader: EnvironmentReader, _ problems: inout SettingProblems
    ) {
        statementTimeout =
            problems.read { try reader.milliseconds("STATEMENT_TIMEOUT_MS") } ?? statementTimeout
        lockTimeout = problems.read { try reader.milliseconds("LOCK_TIMEOUT_MS") } ?? lockTimeout
    }

    private mutating func readBounds(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        uploadMemory =
            problems.read { try reader.number("UPLOAD_MEMORY_BYTES", (16 << 20)...(1 << 40)) } ?? uploadMemory
        bodyTimeout = problems.read { try reader.duration("BODY_TIMEOUT", 1...3_600) } ?? bodyTimeout
        bodyBytesPerSecond =
            problems.read { try reader.number("BODY_BYTES_PER_SECOND", 1_024...(1 << 30)) }
            ?? bodyBytesPerSecond
        uploadsPerUser = problems.read { try reader.number("UPLOADS_PER_USER", 1...1_000) } ?? uploadsPerUser
        uploadsWaiting =
            problems.read { try reader.number("UPLOADS_WAITING_PER_USER", 0...10_000) } ?? uploadsWaiting
        letters.rows =
            problems.read { try reader.number("DEAD_LETTER_ROWS", 1...1_000_000_000) } ?? letters.rows
        letters.bytes =
            problems.read { try reader.number("DEAD_LETTER_BYTES", 1...(1 << 50)) } ?? letters.bytes
        letters.kept =
            problems.read { try reader.duration("DEAD_LETTER_RETENTION", 60...315_360_000) } ?? letters.kept
    }

    /// Reads where keys come from; without a word about them, which is refused, a key of this run alone.
    private static func keys(
        _ reader: EnvironmentReader, _ switches: inout DevelopmentSwitches,
        _ problems: inout SettingProblems
    ) -> SigningKeys.Source {
        switches.hasEphemeralKeys = problems.read { try reader.flag("DEV_EPHEMERAL_KEYS") } ?? false
        if problems.read({ try reader.text("JWT_KEYS_SQL") }) != nil {
            problems.add(
                "JWT_KEYS_SQL", "is not built: keys are in a folder that replicas share, see JWT_KEYS_DIR")
        }
        let before = problems.all.count
        if let given = problems.read({ try GivenKeys(reader) }) { return .given(given) }
        if let directory = problems.read({ try reader.text("JWT_KEYS_DIR") }) { return .directory(directory) }
        // Whoever gave keys that cannot be read has not forgotten them.
        if !switches.hasEphemeralKeys, problems.all.count == before {
            problems.add(
                "JWT_KEYS_DIR",
                "is missing: a folder for the signing key, made at the first start; else give "
                    + "POWERSYNC_PRIVATE_KEY, or in development DEV_EPHEMERAL_KEYS=true for a key of this run alone"
            )
        }
        return .ephemeral
    }

    /// Reads which tables may be written; without a word about them, which is refused, all published ones.
    private static func tables(
        _ reader: EnvironmentReader, _ switches: inout DevelopmentSwitches,
        _ problems: inout SettingProblems
    ) -> Tables {
        switches.hasOpenSchema = problems.read { try reader.flag("DEV_OPEN_SCHEMA") } ?? false
        if let file = problems.read({ try reader.text("PSB_TABLE_MAP") }) { return .file(file) }
        if !switches.hasOpenSchema {
            problems.add(
                "PSB_TABLE_MAP",
                "is missing: the file of tables that clients may write; in development DEV_OPEN_SCHEMA=true opens "
                    + "every published table")
        }
        return .openSchema
    }
}
