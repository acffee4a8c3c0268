import Foundation
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `up --data DIR`: everything is there the next time, and nobody else can read it.
@Suite(.enabled(if: TestOptions.hasDatabase), .timeLimit(.minutes(5)))
struct DataFolderTests {
    private func withData(
        _ body: (_ arguments: [String], _ data: String, _ temporary: String) async throws -> Void
    )
        async throws
    {
        try await EndToEnd.withFolder { folder, temporary in
            let schema = folder + "/schema.sql"
            try "CREATE TABLE t (id text PRIMARY KEY)".write(
                toFile: schema, atomically: true, encoding: .utf8)
            let data = folder + "/data"
            try await body(
                ["up", "--schema", schema, "--backend-port", "0", "--service-port", "0", "--data", data],
                data, temporary)
        }
    }

    @Test func dataFolderSurvivesAKillAndIsUsedAgain() async throws {
        try await withData { arguments, _, temporary in
            let poller = try Poller()
            defer { poller.stop() }
            let first = try StackProcess(arguments, temporary: temporary)
            let before = try await first.endpoints()
            let connection = try await PostgresConnection.connect(before.postgres, poller: poller)
            _ = try await connection.query("INSERT INTO t VALUES ('kept')")
            let slots = "SELECT string_agg(slot_name, ',') FROM pg_replication_slots"
            let slot = try await connection.query(slots)[0, 0]
            await connection.close()
            first.process.signal(SIGKILL)
            _ = await first.process.wait()
            let second = try StackProcess(arguments, temporary: temporary)
            let after = try await second.endpoints()
            let again = try await PostgresConnection.connect(after.postgres, poller: poller)
            #expect(try await again.query("SELECT id FROM t")[0, 0] == "kept")
            #expect(try await again.query(slots)[0, 0] == slot)
            await again.close()
            #expect(try await SyncedRows.ids(backend: after.backend, service: after.service) == ["kept"])
            second.process.signal(SIGINT)
            #expect(await second.process.wait() == .exited(0))
            try await second.leavesNothingBehind()
        }
    }

    /// Keys, the configuration with the database's URI, the state with the rows: each file for its owner alone, in a
    /// folder for its owner alone.
    @Test func onlyTheOwnerCanReadWhatIsKept() async throws {
        try await withData { arguments, data, temporary in
            let up = try StackProcess(arguments, temporary: temporary)
            _ = try await up.endpoints()
            var found: Set<String> = []
            for folder in ["keys", "service"] {
                #expect(try Self.mode(data + "/" + folder) == 0o700, "\(folder)")
                for name in try FileManager.default.contentsOfDirectory(atPath: data + "/" + folder) {
                    found.insert(folder + "/" + name)
                }
            }
            for secret in ["keys/signing-key.jwk", "service/service.yaml"] {
                #expect(try Self.mode(data + "/" + secret) == 0o600, "\(secret)")
            }
            #expect(found.contains("service/state.sqlite"))
            // Nothing else lies openly in the folder itself.
            let all = try FileManager.default.contentsOfDirectory(atPath: data)
            #expect(Set(all) == ["keys", "service", "postgres"])
            #expect(try Self.mode(data + "/postgres/cluster") == 0o700)
            up.process.signal(SIGINT)
            #expect(await up.process.wait() == .exited(0))
        }
    }

    private static func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
