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
        for name in reader.variables.keys.sorted()
        where name.hasPrefix("PSB_") && !Setting.names.contains(name) {
            let known = Setting.names.filter { $0.hasPrefix("PSB_") }.sorted().joined(separator: ", ")
            problems.add(name, "is no setting of this backend; known is \(known)")
        }
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
        self.init(databaseURI: databaseURI, powersyncURL: powersyncURL ?? "")
        let isProduction = problems.read { try reader.text("ENV") } == "production"
        host = problems.read { try reader.text("HOST") } ?? host
        port = problems.read { try reader.number("PORT", 0...65_535) } ?? port
        readTokens(reader, &problems)
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
        let isEphemeral = readKeys(reader, &problems)
        let isOpen = readTables(reader, &problems)
        do throws(BackendError) {
            try readAttachments(reader)
        } catch {
            problems.add(error)
        }
        readProduction(reader, isProduction: isProduction, &problems)
        check(isProduction: isProduction, isEphemeral: isEphemeral, isOpen: isOpen, &problems)
    }

    /// Reads whom tokens are for, and who gets them.
    private mutating func readTokens(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
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
        acceptsSyncTokens = problems.read { try reader.flag("UPLOAD_ACCEPTS_SYNC_TOKEN") } ?? true
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
        var configuration = BackendConfiguration(databaseURI: try reader.databaseURI(), powersyncURL: "")
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
        let standard = BackendConfiguration(databaseURI: "", powersyncURL: "").tokenLifetime
        return try EnvironmentReader(variables: variables, readFile: readFile).tokenLifetime() ?? standard
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
        letters.bytes = problems.read { try reader.number("DEAD_LETTER_BYTES", 1...(1 << 50)) } ?? letters.bytes
        letters.kept =
            problems.read { try reader.duration("DEAD_LETTER_RETENTION", 60...315_360_000) } ?? letters.kept
    }

    /// Reads where keys come from; returns whether it is a key of this run alone because somebody has said so.
    private mutating func readKeys(_ reader: EnvironmentReader, _ problems: inout SettingProblems) -> Bool {
        let isEphemeral = problems.read { try reader.flag("DEV_EPHEMERAL_KEYS") } ?? false
        if problems.read({ try reader.text("JWT_KEYS_SQL") }) != nil {
            problems.add(
                "JWT_KEYS_SQL", "is not built: keys are in a folder that replicas share, see JWT_KEYS_DIR")
        }
        let before = problems.all.count
        if let given = problems.read({ try GivenKeys(reader) }) {
            keys = .given(given)
            return false
        }
        if let directory = problems.read({ try reader.text("JWT_KEYS_DIR") }) {
            keys = .directory(directory)
            return false
        }
        if isEphemeral {
            keys = .ephemeral
            return true
        }
        // Whoever gave keys that cannot be read has not forgotten them.
        guard problems.all.count == before else { return false }
        problems.add(
            "JWT_KEYS_DIR",
            "is missing: a folder for the signing key, made at the first start; else give "
                + "POWERSYNC_PRIVATE_KEY, or DEV_EPHEMERAL_KEYS=true for a key of this run alone")
        return false
    }

    /// Reads which tables may be written; returns whether all published ones because somebody has said so.
    private mutating func readTables(_ reader: EnvironmentReader, _ problems: inout SettingProblems) -> Bool {
        let isOpen = problems.read { try reader.flag("DEV_OPEN_SCHEMA") } ?? false
        if let file = problems.read({ try reader.text("PSB_TABLE_MAP") }) {
            tables = .file(file)
            return false
        }
        tables = .openSchema
        if !isOpen {
            problems.add(
                "PSB_TABLE_MAP",
                "is missing: the file of tables that clients may write; DEV_OPEN_SCHEMA=true opens "
                    + "every published table for development")
        }
        return isOpen
    }

    private func check(
        isProduction: Bool, isEphemeral: Bool, isOpen: Bool, _ problems: inout SettingProblems
    ) {
        if !acceptsSyncTokens, uploadAudiences.isEmpty {
            problems.add(
                "UPLOAD_AUDIENCE", "is missing, and sync tokens are not accepted: nobody could upload")
        }
        if bodyLimit > bodyMemory {
            problems.add(
                "MAX_BODY_BYTES",
                "is \(bodyLimit), and all bodies together have a quarter of UPLOAD_MEMORY_BYTES, \(bodyMemory): "
                    + "lower it, or raise UPLOAD_MEMORY_BYTES to at least \(4 * bodyLimit)")
        }
        guard isProduction else { return }
        for (name, isOn) in [
            ("DEV_TOKENS", hasDevelopmentTokens), ("DEV_OPEN_UPLOADS", hasOpenUploads),
            ("DEV_EPHEMERAL_KEYS", isEphemeral), ("DEV_OPEN_SCHEMA", isOpen),
        ] where isOn {
            problems.add(name, "is refused with ENV=production")
        }
        if corsOrigins.contains("*") {
            problems.add("CORS_ORIGINS", "must name origins with ENV=production")
        }
        if case .disk = attachments?.store, attachments?.publicURL == nil {
            problems.add(
                "ATTACHMENTS_PUBLIC_URL",
                "is missing: where devices reach this backend, which serves the files of ATTACHMENTS_STORE itself"
            )
        }
    }
}

extension BackendError {
    static func setting(_ name: String, _ message: String) -> BackendError {
        BackendError(.configuration, "\(name) \(message)")
    }
}

/// Reads variables of the environment.
struct EnvironmentReader {
    let variables: [String: String]
    let readFile: (String) throws -> String

    func text(_ name: String) throws(BackendError) -> String? {
        guard let value = variables[name], !value.isEmpty else { return nil }
        return value
    }

    /// Reads a value that may also be in the file that `<NAME>_FILE` names.
    func secret(_ name: String) throws(BackendError) -> String? {
        guard let path = try text(name + "_FILE") else { return try text(name) }
        guard try text(name) == nil else { throw .setting(name, "and \(name)_FILE exclude each other") }
        do {
            return ValueConversion.trimmed(try readFile(path))
        } catch {
            throw BackendError(.configuration, "\(name)_FILE cannot be read: \(path)", cause: error)
        }
    }

    func databaseURI() throws(BackendError) -> String {
        let whole = try secret("DATABASE_URI")
        let parts = try discreteDatabase()
        guard let uri = whole ?? parts else {
            throw .setting("DATABASE_URI", "is missing: postgres://user:password@host:5432/database")
        }
        return uri
    }

    func migrationTimeout() throws(BackendError) -> Duration? {
        try duration("MIGRATION_TIMEOUT", 1...86_400)
    }

    func tokenLifetime() throws(BackendError) -> Duration? {
        try duration("JWT_TTL", 60...86_400)
    }

    func flag(_ name: String) throws(BackendError) -> Bool? {
        switch try text(name) {
        case nil: nil
        case "true", "1": true
        case "false", "0": false
        default: throw .setting(name, "must be true or false")
        }
    }

    func choice(_ name: String, _ values: [String]) throws(BackendError) -> String? {
        guard let value = try text(name) else { return nil }
        guard values.contains(value) else {
            throw .setting(name, "must be " + values.joined(separator: " or "))
        }
        return value
    }

    func list(_ name: String) throws(BackendError) -> [String] {
        (try text(name) ?? "").split(separator: ",").map { ValueConversion.trimmed(String($0)) }.filter {
            $0 != ""
        }
    }

    func number(_ name: String, _ range: ClosedRange<Int>) throws(BackendError) -> Int? {
        guard let value = try text(name) else { return nil }
        guard let number = Int(value), range.contains(number) else {
            throw .setting(name, "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func milliseconds(_ name: String) throws(BackendError) -> Duration? {
        try number(name, 1...3_600_000).map { .milliseconds($0) }
    }

    /// Reads seconds, or a number with s, m, h or d.
    func duration(_ name: String, _ range: ClosedRange<Int>) throws(BackendError) -> Duration? {
        guard let value = try text(name) else { return nil }
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let unit = value.last.flatMap { units[$0] }
        let digits = unit == nil ? Substring(value) : value.dropLast()
        let (seconds, isTooLarge) = (Int(digits) ?? -1).multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLarge, seconds >= 0, range.contains(seconds) else {
            throw .setting(
                name,
                "must be from \(range.lowerBound) to \(range.upperBound) "
                    + "seconds, or a number with s, m, h or d")
        }
        return .seconds(seconds)
    }

    /// The parts that the Django demo takes, as one URI.
    func discreteDatabase() throws(BackendError) -> String? {
        guard let host = try text("DATABASE_HOST"), let name = try text("DATABASE_NAME") else { return nil }
        var parts = ["host": host, "dbname": name]
        parts["port"] = try text("DATABASE_PORT")
        parts["user"] = try text("DATABASE_USER")
        parts["password"] = try secret("DATABASE_PASSWORD")
        return parts.sorted { $0.key < $1.key }.map { name, value in
            "\(name)='" + value.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }.joined(separator: " ")
    }
}
