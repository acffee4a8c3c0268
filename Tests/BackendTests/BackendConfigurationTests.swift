import PowerSyncBackend
import Testing

struct BackendConfigurationTests {
    private let minimum = [
        "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "http://localhost:8080",
        "DEV_EPHEMERAL_KEYS": "true",
        "DEV_OPEN_SCHEMA": "true",
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
        #expect(configuration.port == 6060)
        #expect(configuration.tokenAudiences == ["http://localhost:8080"])
        #expect(configuration.tokenLifetime == .seconds(600))
        #expect(configuration.bodyLimit == 16 << 20)
        #expect(!configuration.hasDevelopmentTokens)
    }

    @Test func everySettingIsRead() throws {
        let configuration = try read([
            "DATABASE_URI": nil, "DATABASE_URI_FILE": "/run/secrets/uri", "PORT": "0", "HOST": "::1",
            "JWT_AUDIENCE": "a, b", "JWT_ISSUER": "me", "JWT_TTL": "5m", "PSB_TABLE_MAP": "/map.yaml",
            "JWT_KEYS_DIR": "/keys", "DEV_TOKENS": "true", "BATCH_ON_FATAL_ERROR": "skip",
            "LEGACY_BATCH_MODE": "isolate", "CORS_ORIGINS": "http://a,http://b", "MAX_BODY_BYTES": "2048",
            "POOL_SIZE": "3", "STATEMENT_TIMEOUT_MS": "1500", "LOCK_TIMEOUT_MS": "20",
            "CHECKPOINT_MODE": "custom",
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
        #expect(
            configuration.statementTimeout == .milliseconds(1500)
                && configuration.lockTimeout == .milliseconds(20))
        #expect(configuration.drainDelay == .seconds(2))
        #expect(configuration.acceptedAudiences == ["up"])
        #expect(configuration.connectionParameters["options"]?.contains("statement_timeout=1500") == true)
    }

    @Test(arguments: [
        ("PSB_TABELMAP", "x"), ("PORT", "70000"), ("JWT_TTL", "59"), ("JWT_TTL", "25h"),
        ("JWT_TTL", "99999999999999999h"),
        ("DEV_TOKENS", "yes"), ("BATCH_ON_FATAL_ERROR", "never"), ("DATABASE_TYPE", "mysql"),
        ("POWERSYNC_URL", "powersync-dev"), ("MAX_BODY_BYTES", "x"),
        ("DATABASE_URI_FILE", "/run/secrets/uri"),
        ("UPLOAD_ACCEPTS_SYNC_TOKEN", "false"), ("POWERSYNC_PRIVATE_KEY_FILE", "/nosuch"),
    ])
    func aWrongSettingIsNamed(name: String, value: String) {
        let error = thrown { try read([name: value]) } as? BackendError
        #expect(error?.code == .configuration)
        let text = error?.message ?? ""
        #expect(text.contains(name.replacing("_FILE", with: "")) || text.contains("UPLOAD_AUDIENCE"))
    }

    @Test(arguments: ["DATABASE_URI", "POWERSYNC_URL", "DEV_EPHEMERAL_KEYS", "DEV_OPEN_SCHEMA"])
    func nothingOfTheMinimumMayBeMissing(name: String) {
        let error = thrown { try read([name: nil]) } as? BackendError
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(name) == true)
    }

    @Test(arguments: ["DEV_TOKENS", "DEV_EPHEMERAL_KEYS", "DEV_OPEN_SCHEMA", "CORS_ORIGINS"])
    func productionRefusesWhatIsForDevelopment(name: String) throws {
        let production: [String: String?] = [
            "ENV": "production", "DEV_EPHEMERAL_KEYS": nil, "DEV_OPEN_SCHEMA": nil, "JWT_KEYS_DIR": "/keys",
            "PSB_TABLE_MAP": "/map.yaml",
        ]
        #expect(try read(production).drainDelay == .seconds(5))
        var changed = production
        changed[name] = name == "CORS_ORIGINS" ? "*" : "true"
        if name == "DEV_EPHEMERAL_KEYS" { changed["JWT_KEYS_DIR"] = .some(nil) }
        if name == "DEV_OPEN_SCHEMA" { changed["PSB_TABLE_MAP"] = .some(nil) }
        let error = try #require(thrown { try read(changed) } as? BackendError)
        #expect(error.message.contains(name))
    }

    @Test func partsOfADatabaseMakeOneURI() throws {
        let configuration = try read([
            "DATABASE_URI": nil, "DATABASE_HOST": "db", "DATABASE_NAME": "app",
            "DATABASE_PASSWORD": #"it's\"#,
        ])
        #expect(configuration.databaseURI == #"dbname='app' host='db' password='it\'s\\'"#)
    }
}
