import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// A run that is for one Postgres, as `make test-postgres-18`, must not be green on another.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServerVersionTests {
    private static let wanted = TestOptions.number("POWERSYNC_POSTGRES_VERSION", standard: 0)

    @Test(.enabled(if: wanted > 0, "POWERSYNC_POSTGRES_VERSION names none"))
    func isTheOneThatThisRunIsFor() async throws {
        let connection = try await TestPostgres.connection(try Poller())
        let version = try await connection.query("SHOW server_version_num").scalar
        #expect(version.flatMap { Int($0) }.map { $0 / 10000 } == Self.wanted)
    }

    @Test func saysWhetherItHasTLS() async throws {
        let connection = try await TestPostgres.connection(try Poller())
        var canBeTurnedOn = false
        do {
            // Taken back before anything reads it.
            _ = try await connection.query("ALTER SYSTEM SET ssl = on")
            _ = try await connection.query("ALTER SYSTEM RESET ssl")
            canBeTurnedOn = true
        } catch let error as PostgresError {
            #expect(error.message.contains("not supported by this build"))
        }
        #expect(try await TestPostgres.hasTLS == canBeTurnedOn)
    }
}
