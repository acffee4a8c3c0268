import Testing

@testable import PowerSyncStack

struct PartEnvironmentTests {
    /// What the real service, the official demos and our own parts read, and what libpq does.
    private static let shell = [
        "PATH": "/bin", "HOME": "/h", "LC_TIME": "C", "LOG_FORMAT": "json",
        "POWERSYNC_CONFIG_B64": "x", "POWERSYNC_SYNC_CONFIG_B64": "x", "POWERSYNC_PRIVATE_KEY": "x",
        "POWERSYNC_CONFIG_PATH": "x", "PS_DATA_SOURCE_URI": "x", "DATABASE_URI": "x", "ENV": "production",
        "PSB_ANYTHING": "x", "JWT_AUDIENCE": "x", "LC": "x", "PATHS": "x", "PGSSLMODE": "require",
        "ATTACHMENTS_STORE": "s3://production", "ATTACHMENTS_S3_SECRET_KEY": "x",
        "ATTACHMENTS_PUBLIC_URL": "x",
        "PGPASSFILE": "/h/p", "DATABASE_TLS_INSECURE": "true",
    ]

    @Test func onlyWhatTheListNamesIsHandedOn() {
        let handed = PartEnvironment.of(Self.shell, isUsersServer: false)
        #expect(handed == ["PATH": "/bin", "HOME": "/h", "LC_TIME": "C", "LOG_FORMAT": "json"])
    }

    @Test func aUsersServerIsReachedAsTheUserReachesIt() {
        let handed = PartEnvironment.of(Self.shell, isUsersServer: true)
        #expect(handed["PGSSLMODE"] == "require" && handed["PGPASSFILE"] == "/h/p")
        #expect(handed["DATABASE_TLS_INSECURE"] == "true")
        #expect(handed["POWERSYNC_PRIVATE_KEY"] == nil && handed["DATABASE_URI"] == nil)
        #expect(!handed.keys.contains { $0.hasPrefix("ATTACHMENTS_") })
    }

    @Test func everyEntryHasAReason() {
        let all = PartEnvironment.allowed + PartEnvironment.allowedForUsersServer
        #expect(all.allSatisfy { !$0.reason.isEmpty })
    }
}
