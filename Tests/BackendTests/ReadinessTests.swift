import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The probe asks whether this backend can work with the database, not only whether it is there (backend 8.3).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReadinessTests {
    private static let version = BackendSchema.version

    private func expectReadiness(_ status: Int, code: String? = nil, of backend: TestBackend) async throws {
        let answer = try await wait(
            for: "/readyz to answer \(status)", read: { try await backend.send("GET", "/readyz") },
            until: { $0.status == status })
        #expect(answer.json["code"]?.stringValue == code)
    }

    @Test(arguments: [
        (
            "DELETE FROM psb.schema_migrations WHERE version = \(version)",
            "INSERT INTO psb.schema_migrations (version) VALUES (\(version))"
        ),
        ("ALTER SCHEMA psb RENAME TO elsewhere", "ALTER SCHEMA elsewhere RENAME TO psb"),
        // A newer backend may be on its way, and this one goes on until it is there.
        (
            "ALTER SCHEMA psb RENAME TO elsewhere",
            """
            ALTER SCHEMA elsewhere RENAME TO psb;
            INSERT INTO psb.schema_migrations (version) VALUES (\(version + 1))
            """
        ),
    ])
    func aSchemaThatIsOlderOrGoneIsRedUntilItIsNot(change: String, undoing: String) async throws {
        try await TestBackend.with { backend in
            try await expectReadiness(200, of: backend)
            _ = try await backend.query(change)
            try await expectReadiness(503, code: "DATABASE_MISCONFIGURED", of: backend)
            #expect(try await backend.send("GET", "/healthz").status == 200)
            for statement in undoing.split(separator: ";") { _ = try await backend.query(String(statement)) }
            try await expectReadiness(200, of: backend)
        }
    }

    @Test func aRoleThatHasLostItsRightsIsRed() async throws {
        try await TwoRoles.with { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await TestBackend.with(schema: "SELECT 1", uri: two.backend, map: TwoRoles.map) { backend in
                try await expectReadiness(200, of: backend)
                try await two.asOwner("REVOKE USAGE ON SCHEMA psb FROM \(two.backendRole)")
                try await expectReadiness(503, code: "DATABASE_MISCONFIGURED", of: backend)
                try await two.asOwner("GRANT USAGE ON SCHEMA psb TO \(two.backendRole)")
                try await expectReadiness(200, of: backend)
            }
        }
    }
}
