import PowerSyncBackend
import PowerSyncHTTPServer
import PowerSyncPostgres
import Testing

struct BackendConfigurationTests {
    private let minimum = [
        "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "http://localhost:8080",
        "ENV": "development", "DEV_EPHEMERAL_KEYS": "true", "DEV_OPEN_SCHEMA": "true",
        "UPLOAD_AUDIENCE": "uploads",
    ]
    /// Of `minimum` in production.
    private static let production: [String: String?] = [
        "ENV": "production", "DEV_EPHEMERAL_KEYS": nil, "DEV_OPEN_SCHEMA": nil, "JWT_KEYS_DIR": "/keys",
        "PSB_TABLE_MAP": "/map.yaml",
    ]

    private struct NoFile: Error {}

    private func read(_ changes: [String: String?]) throws -> BackendConfiguration {
        var variables = minimum
        for (name, value) in changes { variables[name] = value }
        return try BackendConfiguration(environment: variables) { path in
            guard path == "/run/secrets/uri" else { throw NoFile() }
            return "postgres://secret/app\n"
        }
    }

    @Test func theMinimumIsEnough() throws {
        let configuration = try read([:])
        #expect(configuration.host == "127.0.0.1" && configuration.port == 6060)
        #expect(!configuration.acceptsSyncTokens && configuration.acceptedAudiences == ["uploads"])
        #expect(configuration.tokenAudiences == ["http://localhost:8080"])
        #expect(configuration.tokenLifetime == .seconds(600))
        #expect(configuration.bodyLimit == 16 << 20)
        #expect(!configuration.hasDevelopmentTokens && !configuration.hasOpenUploads)
        #expect(configuration.bodyTimeout == .seconds(30))
        #expect(configuration.uploadsPerUser == 1 && configuration.uploadsWaiting == 64)
        #expect(configuration.letters.rows == 10_000 && configuration.letters.bytes == 100_000_000)
        #expect(configuration.letters.kept == .seconds(30 * 86_400))
    }

    @Test func theTimesOfProductionAreThese() {
        let times = BackendConfiguration.development(databaseURI: "postgres://db/app")
        #expect(times.headerTimeout == .seconds(10) && times.bodyTimeout == .seconds(30))
        #expect(times.admissionTimeout == .seconds(20) && times.quotaTimeout == .seconds(1))
        #expect(times.acquireTimeout == .seconds(2) && times.connectTimeout == .seconds(5))
        #expect(times.probeTimeout == .seconds(1))
        #expect(times.statementTimeout == .seconds(10) && times.lockTimeout == .seconds(3))
        #expect(
            times.grace == .seconds(24) && times.closing == .seconds(4) && times.startTimeout == .seconds(15))
        #expect(times.uploadTimes.request == .seconds(30))
        #expect(times.uploadTimes.transaction == .seconds(10))
        #expect(times.uploadTimes.last == .seconds(2))
    }

    @Test func theServerAndThePoolGetTheirTimes() {
        var times = BackendConfiguration.development(databaseURI: "postgres://db/app")
        times.headerTimeout = .seconds(101)
        times.bodyTimeout = .seconds(102)
        times.admissionTimeout = .seconds(103)
        times.acquireTimeout = .seconds(104)
        times.connectTimeout = .seconds(105)
        times.statementTimeout = .seconds(106)
        let server = times.server(BackendEnvironment())
        #expect(server.headerTimeout == .seconds(101))
        #expect(server.bodyTimeout == .seconds(102) && server.bodyGrace == .seconds(17))
        #expect(server.bodyWait == .seconds(103))
        #expect(times.poolLimits.acquireTimeout == .seconds(104))
        #expect(times.poolLimits.connectTimeout == .seconds(105))
        #expect(times.poolLimits.patience == .milliseconds(106_500))
    }

    /// A disk store has files open beside the connections.
    @Test func filesOfTheStoreHaveDescriptors() throws {
        var configuration = BackendConfiguration.development(databaseURI: "postgres://db/app")
        let without = configuration.server(BackendEnvironment()).reservedDescriptors
        configuration.attachments = AttachmentConfiguration(store: .disk(folder: "/x"))
        let with = configuration.server(BackendEnvironment()).reservedDescriptors
        #expect(with >= without + BlobRoutes.mostTransfers)
    }

    @Test func everySettingIsRead() throws {
        let configuration = try read([
            "DATABASE_URI": nil, "DATABASE_URI_FILE": "/run/secrets/uri", "PORT": "0", "HOST": "::1",
            "JWT_AUDIENCE": "a, b", "JWT_ISSUER": "me", "JWT_TTL": "5m", "PSB_TABLE_MAP": "/map.yaml",
            "JWT_KEYS_DIR": "/keys", "DEV_TOKENS": "true", "BATCH_ON_FATAL_ERROR": "skip",
            "LEGACY_BATCH_MODE": "isolate", "CORS_ORIGINS": "http://a,http://b", "MAX_BODY_BYTES": "2048",
            "POOL_SIZE": "3", "STATEMENT_TIMEOUT_MS": "1500", "LOCK_TIMEOUT_MS": "20",
            "CHECKPOINT_MODE": "custom",
            "BODY_TIMEOUT": "2m", "BODY_BYTES_PER_SECOND": "4096",
            "DEV_OPEN_UPLOADS": "1", "DEV_HOSTS": "backend, mac.local:6060",
            "UPLOAD_MEMORY_BYTES": "100000000", "UPLOADS_PER_USER": "2",
            "UPLOADS_WAITING_PER_USER": "0", "DEAD_LETTER_ROWS": "7", "DEAD_LETTER_BYTES": "8",
            "DEAD_LETTER_RETENTION": "2d", "MIGRATION_TIMEOUT": "1h", "SCHEMA_DRIFT_GRACE": "5m",
            "DRAIN_DELAY": "2", "UPLOAD_ACCEPTS_SYNC_TOKEN": "false", "UPLOAD_AUDIENCE": "up",
        ])
        #expect(configuration.databaseURI == "postgres://secret/app")
        #expect(configuration.port == 0)
        #expect(configuration.host == "::1")
        #expect(configuration.tokenAudiences == ["a", "b"])
        #expect(configuration.tokenIssuer == "me")
        #expect(configuration.tokenLifetime == .seconds(300))
        #expect(configuration.tables == .file("/map.yaml"))
        #expect(configuration.keys == .directory("/keys"))
        #expect(configuration.hasDevelopmentTokens && configuration.continuesAfterFatalError)
        #expect(configuration.isolatesLegacyBatches && configuration.hasCustomCheckpoints)
        #expect(configuration.corsOrigins == ["http://a", "http://b"])
        #expect(configuration.bodyLimit == 2048 && configuration.poolSize == 3)
        #expect(configuration.bodyTimeout == .seconds(120) && configuration.bodyBytesPerSecond == 4_096)
        #expect(
            configuration.statementTimeout == .milliseconds(1500)
                && configuration.lockTimeout == .milliseconds(20))
        #expect(configuration.hasOpenUploads && configuration.uploadMemory == 100_000_000)
        #expect(configuration.developmentHosts == ["backend", "mac.local:6060"])
        #expect(configuration.uploadsPerUser == 2 && configuration.uploadsWaiting == 0)
        #expect(configuration.letters.rows == 7 && configuration.letters.bytes == 8)
        #expect(configuration.letters.kept == .seconds(172_800))
        #expect(configuration.drainDelay == .seconds(2) && configuration.migrationTimeout == .seconds(3_600))
        #expect(configuration.retries.driftGrace == .seconds(300))
        #expect(configuration.acceptedAudiences == ["up"])
        #expect(configuration.connectionParameters["options"]?.contains("statement_timeout=1500") == true)
    }

    /// PgBouncer refuses a session with `options`, and hands out another one for each transaction.
    @Test func behindAPoolerASessionIsAskedForNothing() throws {
        let direct = try read([:])
        #expect(direct.poolLimits.preparedStatements == 256)
        #expect(direct.connectionParameters["options"]?.hasPrefix("-c TimeZone=UTC") == true)
        let pooled = try read(["PREPARED": "off"])
        #expect(pooled.poolLimits.preparedStatements == 0)
        #expect(pooled.connectionParameters["options"] == nil)
        #expect(pooled.connectionParameters["client_encoding"] == "UTF8")
        let command = try BackendConfiguration.ofDatabase(
            environment: ["DATABASE_URI": "postgres://h/d", "PREPARED": "off"], readFile: { _ in "" })
        #expect(command.connectionParameters["options"] == nil)
    }

    /// Some servers are found by them.
    @Test func theOptionsOfTheURIStandInFrontOfOurs() throws {
        let uri: [String: String?] = ["DATABASE_URI": "postgres://db/app?options=endpoint%3Done"]
        let direct = try read(uri)
        #expect(direct.connectionParameters["options"]?.hasPrefix("endpoint=one -c TimeZone=UTC") == true)
        let pooled = try read(uri.merging(["PREPARED": "off"]) { _, last in last })
        #expect(pooled.connectionParameters["options"] == nil, "libpq takes those of the URI")
    }

    /// Also of what an operator runs by hand.
    @Test func commandsHaveTheTimesOfTheEnvironment() throws {
        let database = try BackendConfiguration.ofDatabase(
            environment: [
                "DATABASE_URI": "postgres://h/d", "STATEMENT_TIMEOUT_MS": "1500", "LOCK_TIMEOUT_MS": "20",
            ], readFile: { _ in "" })
        let options = try #require(database.connectionParameters["options"])
        #expect(options.contains("statement_timeout=1500") && options.contains("lock_timeout=20"))
        #expect(database.databaseURI == "postgres://h/d")
    }

    @Test(arguments: [
        ("PSB_TABELMAP", "x"), ("PORT", "70000"), ("JWT_TTL", "59"), ("JWT_TTL", "25h"),
        ("JWT_TTL", "99999999999999999h"),
        ("DEV_TOKENS", "yes"), ("DEV_HOSTS", "http://backend"), ("BATCH_ON_FATAL_ERROR", "never"),
        ("DATABASE_TYPE", "mysql"),
        ("POWERSYNC_URL", "powersync-dev"), ("MAX_BODY_BYTES", "x"),
        ("MAX_BODY_BYTES", "67108865"), ("BODY_TIMEOUT", "0"), ("BODY_BYTES_PER_SECOND", "0"),
        ("DATABASE_URI_FILE", "/run/secrets/uri"),
        ("POWERSYNC_PRIVATE_KEY_FILE", "/nosuch"), ("DEV_PUBLIC", "maybe"),
    ])
    func aWrongSettingIsNamed(name: String, value: String) {
        let error = thrown { try read([name: value]) } as? BackendError
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(name.replacing("_FILE", with: "")) == true)
    }

    /// One such body would have all the room to itself.
    @Test func aBodyMustFitIntoTheRoomForBodies() throws {
        #expect(try read(["MAX_BODY_BYTES": "67108864"]).bodyLimit == 64 << 20)
        let memory = ["MAX_BODY_BYTES": "100000000", "UPLOAD_MEMORY_BYTES": "400000000"]
        #expect(try read(memory).uploadMemory == 400_000_000)
        let error = thrown { try read(["UPLOAD_MEMORY_BYTES": "20000000"]) } as? BackendError
        #expect(error?.message.contains("raise UPLOAD_MEMORY_BYTES to at least 67108864") == true)
    }

    @Test(arguments: [
        "DATABASE_URI", "POWERSYNC_URL", "ENV", "DEV_EPHEMERAL_KEYS", "DEV_OPEN_SCHEMA", "UPLOAD_AUDIENCE",
    ])
    func nothingOfTheMinimumMayBeMissing(name: String) {
        let error = thrown { try read([name: nil]) } as? BackendError
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(name) == true)
    }

    @Test(arguments: [
        "DEV_TOKENS", "DEV_OPEN_UPLOADS", "DEV_EPHEMERAL_KEYS", "DEV_OPEN_SCHEMA", "DEV_PUBLIC",
        "CORS_ORIGINS",
    ])
    func productionRefusesWhatIsForDevelopment(name: String) throws {
        let standard = try read(Self.production)
        #expect(standard.drainDelay == .seconds(5) && standard.host == "0.0.0.0")
        let isSwitch = name != "CORS_ORIGINS"
        // Whether it has an effect there or not.
        var changed = Self.production
        changed[name] = isSwitch ? "true" : "*"
        let error = try #require(thrown { try read(changed) } as? BackendError)
        let words =
            isSwitch ? "is refused in production; for development say ENV=development" : "must name origins"
        #expect(error.message.hasPrefix("\(name) \(words)"))
        // Nothing is on that says so.
        changed[name] = isSwitch ? "false" : ""
        #expect(try read(changed) == standard)
    }

    // MARK: Attachments

    @Test func withoutAStoreNothingOfAttachmentsCounts() throws {
        #expect(try read([:]).attachments == nil)
        #expect(try read(["ATTACHMENTS_STORE": "", "ATTACHMENTS_TYPES": "nonsense"]).attachments == nil)
    }

    @Test func aStoreInAFolderHasTheDefaults() throws {
        let attachments = try #require(
            try read(["ATTACHMENTS_STORE": "file:///var/lib/powersync/attachments"]).attachments)
        #expect(attachments.store == .disk(folder: "/var/lib/powersync/attachments"))
        #expect(attachments.publicURL == nil && attachments.policy == AttachmentPolicy())
        #expect(attachments.policy.fileBytes == 5 << 30 && attachments.policy.userBytes == 10 << 30)
        #expect(attachments.policy.userFiles == 100_000 && attachments.policy.types.isEmpty)
    }

    @Test func everySettingOfAttachmentsIsRead() throws {
        let attachments = try #require(
            try read([
                "ATTACHMENTS_STORE": "s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1",
                "ATTACHMENTS_S3_ACCESS_KEY": "access", "ATTACHMENTS_S3_SECRET_KEY": nil,
                "ATTACHMENTS_S3_SECRET_KEY_FILE": "/run/secrets/uri",
                "ATTACHMENTS_PUBLIC_URL": "https://files.example.com/psb/", "ATTACHMENTS_MAX_BYTES": "1000",
                "ATTACHMENTS_QUOTA_BYTES": "2000", "ATTACHMENTS_QUOTA_FILES": "3",
                "ATTACHMENTS_TYPES": "image/*, Application/PDF,*/*",
            ]).attachments)
        guard case .s3(let bucket) = attachments.store else {
            Issue.record("no s3 store")
            return
        }
        #expect(bucket.bucket == "bucket" && bucket.prefix == "prefix" && bucket.region == "eu-central-1")
        #expect(bucket.credentials.accessKey == "access")
        #expect(bucket.credentials.secretKey == "postgres://secret/app", "what stands in the file")
        #expect(attachments.publicURL == "https://files.example.com/psb")
        #expect(attachments.policy.fileBytes == 1_000 && attachments.policy.userBytes == 2_000)
        #expect(attachments.policy.userFiles == 3)
        #expect(attachments.policy.types == ["image/*", "application/pdf", "*/*"])
    }

    @Test(arguments: [
        ("ATTACHMENTS_STORE", "/var/lib/attachments"), ("ATTACHMENTS_STORE", "file://host/folder"),
        ("ATTACHMENTS_STORE", "ftp://x/y"), ("ATTACHMENTS_STORE", "s3://b"),
        ("ATTACHMENTS_PUBLIC_URL", "files.example.com"), ("ATTACHMENTS_PUBLIC_URL", "http://"),
        ("ATTACHMENTS_PUBLIC_URL", "http:///x"), ("ATTACHMENTS_PUBLIC_URL", "http://x/?a=b"),
        ("ATTACHMENTS_PUBLIC_URL", "http://user@x"), ("ATTACHMENTS_PUBLIC_URL", "http://a b"),
        ("ATTACHMENTS_MAX_BYTES", "0"), ("ATTACHMENTS_MAX_BYTES", "83886080001"),
        ("ATTACHMENTS_QUOTA_BYTES", "10 GB"), ("ATTACHMENTS_QUOTA_FILES", "-1"),
        ("ATTACHMENTS_TYPES", "image"), ("ATTACHMENTS_TYPES", "image/png;q=1"), ("ATTACHMENTS_TYPES", "*"),
    ])
    func aWrongSettingOfAttachmentsIsNamed(name: String, value: String) {
        var changes: [String: String?] = ["ATTACHMENTS_STORE": "file:///attachments"]
        changes[name] = value
        let error = thrown { try read(changes) } as? BackendError
        #expect(error?.code == .configuration)
        let named = value.hasPrefix("s3:") ? error?.message.contains("_S3_") : error?.message.hasPrefix(name)
        #expect(named == true, "\(error?.message ?? "no error")")
    }

    /// Nobody else reaches 127.0.0.1.
    @Test func productionSaysWhereItsFilesAre() throws {
        var production = Self.production
        production["ATTACHMENTS_STORE"] = "file:///attachments"
        let error = thrown { try read(production) } as? BackendError
        #expect(error?.message.hasPrefix("ATTACHMENTS_PUBLIC_URL is missing") == true)
        production["ATTACHMENTS_PUBLIC_URL"] = "https://files.example.com"
        #expect(try read(production).attachments != nil)
        production["ATTACHMENTS_PUBLIC_URL"] = .some(nil)
        production["ATTACHMENTS_STORE"] = "s3://bucket?region=eu-central-1"
        production["ATTACHMENTS_S3_ACCESS_KEY"] = "access"
        production["ATTACHMENTS_S3_SECRET_KEY"] = "secret"
        #expect(try read(production).attachments != nil)
    }

    @Test func partsOfADatabaseMakeOneURI() throws {
        let configuration = try read([
            "DATABASE_URI": nil, "DATABASE_HOST": "db", "DATABASE_NAME": "app",
            "DATABASE_PASSWORD": #"it's\"#,
        ])
        #expect(configuration.databaseURI == #"dbname='app' host='db' password='it\'s\\'"#)
    }
}
