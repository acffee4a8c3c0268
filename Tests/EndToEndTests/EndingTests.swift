import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// However `demo` and `up` end, nothing of theirs stays; what was given with `--data` does.
@Suite(.enabled(if: EndToEnd.isEnabled), .timeLimit(.minutes(3)))
struct EndingTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-ends-")
        defer { folder.remove() }
        // The server runs as another user when we are root, and must be able to enter.
        chmod(folder.path, 0o755)
        try await body(folder.path)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
    func upLeavesNoProcessAndNoFolder(signal: Int32) async throws {
        try await withFolder { folder in
            let schema = folder + "/schema.sql"
            let temporary = folder + "/tmp"
            try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
            chmod(temporary, 0o1777)
            try "CREATE TABLE t (id text PRIMARY KEY)".write(
                toFile: schema, atomically: true, encoding: .utf8)
            let up = try StackProcess(
                ["up", "--schema", schema, "--backend-port", "0", "--service-port", "0"], temporary: temporary
            )
            _ = try await up.endpoints()
            up.process.signal(signal)
            let status = await up.process.wait()
            #expect(status == (signal == SIGKILL ? .signalled(SIGKILL) : .exited(0)))
            try await up.leavesNothingBehind()
        }
    }

    @Test(arguments: [SIGINT, SIGKILL])
    func demoLeavesNoProcessAndNoFolder(signal: Int32) async throws {
        try await withFolder { folder in
            chmod(folder, 0o1777)
            let demo = try StackProcess(["demo", "--json"], temporary: folder)
            // The second chapter has begun when everything runs.
            while try await !demo.line().contains("\"chapter\":2") {}
            demo.process.signal(signal)
            _ = await demo.process.wait()
            try await demo.leavesNothingBehind()
        }
    }

    @Test func dataFolderSurvivesAKillAndIsUsedAgain() async throws {
        try await withFolder { folder in
            let temporary = folder + "/tmp"
            try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
            chmod(temporary, 0o1777)
            let schema = folder + "/schema.sql"
            try "CREATE TABLE t (id text PRIMARY KEY)".write(
                toFile: schema, atomically: true, encoding: .utf8)
            let arguments = [
                "up", "--schema", schema, "--backend-port", "0", "--service-port", "0", "--data",
                folder + "/data",
            ]
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
            second.process.signal(SIGINT)
            #expect(await second.process.wait() == .exited(0))
            try await second.leavesNothingBehind()
            #expect(FileManager.default.fileExists(atPath: folder + "/data/service.sqlite"))
        }
    }

    @Test func nextStartOnAUsersServerDropsWhatAKilledRunLeft() async throws {
        try await withFolder { folder in
            chmod(folder, 0o1777)
            let poller = try Poller()
            defer { poller.stop() }
            let server = try await PostgresServer.start(directory: nil)
            let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
            _ = try await connection.script("CREATE TABLE t (id text PRIMARY KEY)")
            let ours = """
                SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_database
                    WHERE starts_with(datname, 'powersync_stack_'))
                """
            let environment = ["DATABASE_URI": server.uri()]
            let demo = try StackProcess(["demo", "--json"], environment: environment, temporary: folder)
            while try await !demo.line().contains("\"chapter\":2") {}
            demo.process.signal(SIGKILL)
            _ = await demo.process.wait()
            #expect(try await connection.query(ours)[0, 0] != "0")
            let up = ["up", "--backend-port", "0", "--service-port", "0"]
            let killed = try StackProcess(up, environment: environment, temporary: folder)
            _ = try await killed.endpoints()
            killed.process.signal(SIGKILL)
            _ = await killed.process.wait()
            // The server notices only now that the killed walsender's client is gone.
            try await Deadline.wait(.seconds(10), for: "the killed run's connections to end") {
                let open = try await connection.query(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'powersync-stack/%'")
                return open[0, 0] == "0" ? true : nil
            }
            let last = try StackProcess(up, environment: environment, temporary: folder)
            _ = try await last.endpoints()
            #expect(try await connection.query(ours)[0, 0] == "1")
            last.process.signal(SIGINT)
            #expect(await last.process.wait() == .exited(0))
            #expect(try await connection.query(ours)[0, 0] == "0")
            #expect(try await connection.query("SELECT count(*) FROM t")[0, 0] == "0")
            await connection.close()
            await server.stop()
            try await last.leavesNothingBehind()
            poller.stop()
        }
    }
}
