import PowerSyncBackend
import PowerSyncTestSupport
import Testing

/// What docker-compose.yml and .env make of the settings of the backend.
struct ComposeSettingsTests {
    /// Those whose value stands in docker-compose.yml itself: it follows from what else stands there.
    private static let fixed: Set<String> = [
        "DATABASE_URI", "DATABASE_TYPE", "DATABASE_TLS_INSECURE", "HOST", "PORT", "METRICS_HOST",
        "METRICS_PORT", "JWT_KEYS_DIR",
    ]
    /// Those that have another name in .env, that of PowerSync's demos.
    private static let renamed = [
        "POWERSYNC_PRIVATE_KEY": "DEMO_JWKS_PRIVATE_KEY", "POWERSYNC_PUBLIC_KEY": "DEMO_JWKS_PUBLIC_KEY",
    ]
    /// Those that are second names of others, or refused.
    private static let leftOut: Set<String> = [
        "DATABASE_HOST", "DATABASE_PORT", "DATABASE_NAME", "DATABASE_USER", "DATABASE_PASSWORD",
        "POWERSYNC_PRIVATEKEY", "POWERSYNC_PUBLICKEY", "JWT_KEYS_SQL",
    ]

    private func configuration(_ changes: [String: String] = [:]) throws -> BackendConfiguration {
        let container = try ComposeFile(changes: changes).container("backend")
        return try BackendConfiguration(environment: container.environment) { _ in "" }
    }

    /// A setting that does not reach the container does nothing, and says nothing.
    @Test func eachSettingIsPassedOn() throws {
        let passed = Set(Setting.all.map(\.name)).subtracting(Self.leftOut)
        #expect(Set(try ComposeFile().container("backend").environment.keys) == passed)
        for name in passed.subtracting(Self.fixed).sorted() {
            let changed = try ComposeFile(changes: [Self.renamed[name] ?? name: "changed"])
            #expect(try changed.container("backend").environment[name] == "changed", "\(name)")
        }
    }

    @Test func asItStandsItIsForDevelopment() throws {
        let configuration = try configuration()
        #expect(configuration.hasDevelopmentTokens && configuration.acceptsSyncTokens)
        #expect(configuration.tables == .openSchema && configuration.host == "0.0.0.0")
        #expect(configuration.links.metricsPort == 9464 && configuration.links.metricsHost == "0.0.0.0")
    }

    /// What the comment of BIND_ADDRESS names is enough, and none of it may be forgotten.
    @Test func whatOpenPortsCallForIsProduction() throws {
        let changes = [
            "ENV": "production", "DEV_TOKENS": "false", "DEV_OPEN_SCHEMA": "false", "DEV_PUBLIC": "false",
            "PSB_TABLE_MAP": "/etc/powersync/tables.yaml", "AUTH_JWKS_URI": "https://id.example.com/keys",
            "AUTH_ISSUER": "https://id.example.com", "AUTH_AUDIENCE": "app",
        ]
        let production = try configuration(changes)
        #expect(!production.hasDevelopmentTokens && !production.acceptsSyncTokens)
        #expect(production.tables == .file("/etc/powersync/tables.yaml"))
        #expect(production.authentication.provider?.audiences == ["app"])
        for name in changes.keys where name != "ENV" {
            var fewer = changes
            fewer[name] = nil
            #expect(throws: BackendError.self, "\(name)") { try configuration(fewer) }
        }
    }
}
