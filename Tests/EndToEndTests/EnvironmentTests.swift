import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What stands in a user's shell changes nothing of a local stack.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct EnvironmentTests {
    /// Each of these once made a local stack fail, or work with somebody's production, or could.
    private static let shell = [
        "POWERSYNC_CONFIG_B64": "e30=", "POWERSYNC_SYNC_CONFIG_B64": "e30=",
        "POWERSYNC_PRIVATE_KEY": "e30=", "ENV": "production", "PSB_ANYTHING": "1", "PGSSLMODE": "require",
        "PGHOSTADDR": "127.0.0.254", "PGOPTIONS": "-c default_transaction_read_only=on",
        "JWT_AUDIENCE": "somebody-else", "PS_PORT": "1", "PORT": "1", "POWERSYNC_URL": "http://127.0.0.254",
        "ATTACHMENTS_STORE": "s3://production", "ATTACHMENTS_PUBLIC_URL": "http://127.0.0.254",
    ]

    @Test func upServesWhateverStandsInTheShell() async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let schema = folder + "/schema.sql"
            try "CREATE TABLE t (id text PRIMARY KEY); INSERT INTO t VALUES ('a')".write(
                toFile: schema, atomically: true, encoding: .utf8)
            try await Run.up(
                ["--schema", schema], environment: Self.shell, temporary: temporary, ending: .interrupt,
                rows: ["a"])
        }
    }

    @Test func demoConvergesWhateverStandsInTheShell() async throws {
        try await EndToEnd.withFolder { _, temporary in
            try await Run.demo(environment: Self.shell, temporary: temporary, ending: .byItself)
        }
    }
}
