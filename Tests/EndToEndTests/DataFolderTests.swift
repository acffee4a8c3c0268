import Foundation
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `up --data DIR`: everything is there the next time, and nobody else can read it.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
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
            _ = try await first.end()
            let second = try StackProcess(arguments, temporary: temporary)
            let after = try await second.endpoints()
            let again = try await PostgresConnection.connect(after.postgres, poller: poller)
            #expect(try await again.query("SELECT id FROM t")[0, 0] == "kept")
            #expect(try await again.query(slots)[0, 0] == slot)
            await again.close()
            try await SyncedRows.wait(for: ["kept"], backend: after.backend, service: after.service)
            second.process.signal(SIGINT)
            #expect(try await second.end() == .exited(0))
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
            #expect(try Self.mode(data + "/attachments") == 0o700)
            #expect(try Self.mode(data + "/attachments/signing-key") == 0o600)
            for folder in ["keys", "service"] {
                #expect(try Self.mode(data + "/" + folder) == 0o700, "\(folder)")
                for name in try FileManager.default.contentsOfDirectory(atPath: data + "/" + folder) {
                    #expect(try Self.mode("\(data)/\(folder)/\(name)") == 0o600, "\(folder)/\(name)")
                    found.insert(folder + "/" + name)
                }
            }
            #expect(
                found.isSuperset(of: ["keys/signing-key.jwk", "service/service.yaml", "service/state.sqlite"])
            )
            // Nothing else lies openly in the folder itself.
            let all = try FileManager.default.contentsOfDirectory(atPath: data)
            #expect(Set(all) == ["attachments", "keys", "service", "postgres", "lock", "database"])
            #expect(try Self.mode(data + "/postgres/cluster") == 0o700)
            #expect(try Self.mode(data + "/postgres/password") == 0o600)
            up.process.signal(SIGINT)
            #expect(try await up.end() == .exited(0))
        }
    }

    private static func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func twoRunsDoNotShareAFolder() async throws {
        try await withData { arguments, data, temporary in
            let first = try StackProcess(arguments, temporary: temporary)
            _ = try await first.endpoints()
            let second = try StackProcess(arguments, temporary: temporary)
            #expect(try await second.end() == .exited(1))
            #expect(
                try await second.allErrorLines().last
                    == "error: \(data) is in use by another run: stop it, or choose another folder")
            first.process.signal(SIGINT)
            #expect(try await first.end() == .exited(0))
        }
    }

    /// Otherwise the rows of the first database would be served as those of the second.
    @Test func aFolderIsForOneDatabase() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let connection = try await PostgresConnection.connect(users.server.uri(), poller: poller)
        try await connection.script("CREATE DATABASE other OWNER somebody")
        await connection.close()
        try await EndToEnd.withFolder { folder, temporary in
            let data = folder + "/data"
            let arguments = ["up", "--backend-port", "0", "--service-port", "0", "--data", data]
            let first = try StackProcess(
                arguments, environment: ["DATABASE_URI": users.uri], temporary: temporary)
            _ = try await first.endpoints()
            first.process.signal(SIGINT)
            #expect(try await first.end() == .exited(0))
            let other = try StackProcess(
                arguments,
                environment: ["DATABASE_URI": users.uri.replacingOccurrences(of: "theirs", with: "other")],
                temporary: temporary)
            #expect(try await other.end() == .exited(1))
            #expect(
                try await other.allErrorLines().last?.contains("keeps the state of another database") == true)
            let again = try StackProcess(
                arguments, environment: ["DATABASE_URI": users.uri], temporary: temporary)
            let places = try await again.endpoints()
            try await SyncedRows.wait(for: ["first"], backend: places.backend, service: places.service)
            again.process.signal(SIGINT)
            #expect(try await again.end() == .exited(0))
        }
        await users.server.stop()
    }
}
