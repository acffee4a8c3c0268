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
        let reader = EnvironmentReader(variables: variables, readFile: readFile)
        for name in variables.keys.sorted()
        where name.hasPrefix("PSB_") && !Setting.names.contains(name) {
            let known = Setting.names.filter { $0.hasPrefix("PSB_") }.sorted().joined(separator: ", ")
            throw .setting(name, "is no setting of this backend; known is \(known)")
        }
        if let type = try reader.text("DATABASE_TYPE"), type != "postgres" {
            throw .setting("DATABASE_TYPE", "must be postgres")
        }
        let databaseURI = try reader.databaseURI()
        guard let powersyncURL = try reader.text("POWERSYNC_URL") else {
            throw .setting("POWERSYNC_URL", "is missing: where clients find the sync service")
        }
        guard powersyncURL.hasPrefix("http://") || powersyncURL.hasPrefix("https://") else {
            throw .setting(
                "POWERSYNC_URL", "must begin with http:// or https://; the audience is JWT_AUDIENCE")
        }
        self.init(databaseURI: databaseURI, powersyncURL: powersyncURL)
        let isProduction = try reader.text("ENV") == "production"
        host = try reader.text("HOST") ?? host
        port = try reader.number("PORT", 0...65_535) ?? port
        audiences = try reader.list("JWT_AUDIENCE")
        tokenIssuer = try reader.text("JWT_ISSUER")
        tokenLifetime = try reader.tokenLifetime() ?? tokenLifetime
        hasDevelopmentTokens = try reader.flag("DEV_TOKENS") ?? false
        developmentUser = try reader.text("DEV_USER") ?? developmentUser
        hasOpenUploads = try reader.flag("DEV_OPEN_UPLOADS") ?? false
        developmentHosts = try reader.list("DEV_HOSTS")
        guard developmentHosts.allSatisfy({ HostPolicy.name($0) != nil }) else {
            throw .setting(
                "DEV_HOSTS", "must be names of hosts, separated by commas, such as backend,mac.local")
        }
        acceptsSyncTokens = try reader.flag("UPLOAD_ACCEPTS_SYNC_TOKEN") ?? true
        uploadAudiences = try reader.list("UPLOAD_AUDIENCE")
        continuesAfterFatalError = try reader.choice("BATCH_ON_FATAL_ERROR", ["stop", "skip"]) == "skip"
        isolatesLegacyBatches = try reader.choice("LEGACY_BATCH_MODE", ["atomic", "isolate"]) == "isolate"
        hasCustomCheckpoints = try reader.choice("CHECKPOINT_MODE", ["managed", "custom"]) == "custom"
        corsOrigins = try reader.list("CORS_ORIGINS")
        bodyLimit = try reader.number("MAX_BODY_BYTES", 1_024...(1 << 30)) ?? bodyLimit
        try readBounds(reader)
        poolSize = try reader.number("POOL_SIZE", 1...1_000) ?? poolSize
        try readStatementTimes(reader)
        migrationTimeout = try reader.migrationTimeout() ?? migrationTimeout
        retries.driftGrace = try reader.duration("SCHEMA_DRIFT_GRACE", 0...86_400) ?? retries.driftGrace
        drainDelay =
            try reader.duration("DRAIN_DELAY", 0...10) ?? (isProduction ? .seconds(5) : .zero)
        try readKeys(reader)
        try readTables(reader)
        try readAttachments(reader)
        try readProduction(reader, isProduction: isProduction)
        try check(isProduction: isProduction, isOpen: tables == .openSchema)
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
        try configuration.readStatementTimes(reader)
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
        _ reader: EnvironmentReader, isProduction: Bool
    ) throws(BackendError) {
        var problems = SettingProblems()
        authentication = AuthenticationSettings(
            reader, isProduction: isProduction, corsOrigins: corsOrigins, &problems)
        roles = RoleSettings(reader, &problems)
        rateLimits = LimitSettings(reader, &problems)
        links = LinkSettings(reader, port: port, &problems)
        if let first = problems.all.first { throw first }
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

    private mutating func readStatementTimes(_ reader: EnvironmentReader) throws(BackendError) {
        statementTimeout = try reader.milliseconds("STATEMENT_TIMEOUT_MS") ?? statementTimeout
        lockTimeout = try reader.milliseconds("LOCK_TIMEOUT_MS") ?? lockTimeout
    }

    private mutating func readBounds(_ reader: EnvironmentReader) throws(BackendError) {
        uploadMemory = try reader.number("UPLOAD_MEMORY_BYTES", (16 << 20)...(1 << 40)) ?? uploadMemory
        bodyTimeout = try reader.duration("BODY_TIMEOUT", 1...3_600) ?? bodyTimeout
        bodyBytesPerSecond =
            try reader.number("BODY_BYTES_PER_SECOND", 1_024...(1 << 30)) ?? bodyBytesPerSecond
        uploadsPerUser = try reader.number("UPLOADS_PER_USER", 1...1_000) ?? uploadsPerUser
        uploadsWaiting = try reader.number("UPLOADS_WAITING_PER_USER", 0...10_000) ?? uploadsWaiting
        letters.rows = try reader.number("DEAD_LETTER_ROWS", 1...1_000_000_000) ?? letters.rows
        letters.bytes = try reader.number("DEAD_LETTER_BYTES", 1...(1 << 50)) ?? letters.bytes
        letters.kept = try reader.duration("DEAD_LETTER_RETENTION", 60...315_360_000) ?? letters.kept
    }

    private mutating func readKeys(_ reader: EnvironmentReader) throws(BackendError) {
        let isEphemeral = try reader.flag("DEV_EPHEMERAL_KEYS") ?? false
        if try reader.text("JWT_KEYS_SQL") != nil {
            throw .setting(
                "JWT_KEYS_SQL", "is not built: keys are in a folder that replicas share, see JWT_KEYS_DIR")
        }
        if let given = try GivenKeys(reader) {
            keys = .given(given)
        } else if let directory = try reader.text("JWT_KEYS_DIR") {
            keys = .directory(directory)
        } else if isEphemeral {
            keys = .ephemeral
        } else {
            throw .setting(
                "JWT_KEYS_DIR",
                "is missing: a folder for the signing key, made at the first start; else give "
                    + "POWERSYNC_PRIVATE_KEY, or DEV_EPHEMERAL_KEYS=true for a key of this run alone")
        }
    }

    private mutating func readTables(_ reader: EnvironmentReader) throws(BackendError) {
        let isOpen = try reader.flag("DEV_OPEN_SCHEMA") ?? false
        if let file = try reader.text("PSB_TABLE_MAP") {
            tables = .file(file)
        } else if isOpen {
            tables = .openSchema
        } else {
            throw .setting(
                "PSB_TABLE_MAP",
                "is missing: the file of tables that clients may write; DEV_OPEN_SCHEMA=true opens "
                    + "every published table for development")
        }
    }

    private func check(isProduction: Bool, isOpen: Bool) throws(BackendError) {
        if !acceptsSyncTokens, uploadAudiences.isEmpty {
            throw .setting(
                "UPLOAD_AUDIENCE", "is missing, and sync tokens are not accepted: nobody could upload")
        }
        if bodyLimit > bodyMemory {
            throw .setting(
                "MAX_BODY_BYTES",
                "is \(bodyLimit), and all bodies together have a quarter of UPLOAD_MEMORY_BYTES, \(bodyMemory): "
                    + "lower it, or raise UPLOAD_MEMORY_BYTES to at least \(4 * bodyLimit)")
        }
        guard isProduction else { return }
        if hasDevelopmentTokens { throw .setting("DEV_TOKENS", "is refused with ENV=production") }
        if hasOpenUploads { throw .setting("DEV_OPEN_UPLOADS", "is refused with ENV=production") }
        if keys == .ephemeral { throw .setting("DEV_EPHEMERAL_KEYS", "is refused with ENV=production") }
        if isOpen { throw .setting("DEV_OPEN_SCHEMA", "is refused with ENV=production") }
        if corsOrigins.contains("*") {
            throw .setting("CORS_ORIGINS", "must name origins with ENV=production")
        }
        if case .disk = attachments?.store, attachments?.publicURL == nil {
            throw .setting(
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
