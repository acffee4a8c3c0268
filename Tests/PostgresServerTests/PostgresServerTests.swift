import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PostgresServerTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func startsForLogicalReplicationAndLeavesNothing() async throws {
        let server = try await PostgresServer.start()
        let id = server.processID
        let folder = server.temporaryFolder
        #expect(Processes.isAlive(id))
        #expect(server.isRunning)
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        let settings = try await connection.query(
            """
            SELECT current_setting('wal_level'), current_setting('max_replication_slots'),
                current_setting('max_wal_senders'), current_setting('server_encoding'), current_user
            """)
        #expect(settings.row(0) == ["logical", "64", "64", "UTF8", "postgres"])
        let shared = try FileManager.default.contentsOfDirectory(atPath: folder + "/cluster/pg_dynshmem")
        #expect(!shared.isEmpty, "what its processes share goes with the folder, however they end")
        await server.stop()
        #expect(!Processes.isAlive(id))
        #expect(!server.isRunning)
        #expect(!FileManager.default.fileExists(atPath: folder))
        await server.stop()
    }

    @Test func isGoneWithItsLastReference() async throws {
        var server: PostgresServer? = try await PostgresServer.start()
        let id = try #require(server?.processID)
        let folder = try #require(server?.temporaryFolder)
        server = nil
        try await wait(for: "the process to end with its owner") { !Processes.isAlive(id) }
        try await wait(for: "the folder to go with its owner") {
            !FileManager.default.fileExists(atPath: folder)
        }
    }

    @Test func keepsAGivenDirectoryAndItsRows() async throws {
        let directory = try TemporaryDirectory(prefix: "pg-kept")
        defer { directory.remove() }
        let data = directory.path
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: data)
        // What a start that was killed left behind is in nobody's way.
        try FileManager.default.createDirectory(
            atPath: data + "/cluster.new/base", withIntermediateDirectories: true)
        let first = try await PostgresServer.start(directory: data)
        try await execute("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)", first)
        await first.stop()
        #expect(!FileManager.default.fileExists(atPath: first.temporaryFolder))
        let second = try await PostgresServer.start(directory: data, port: first.port)
        #expect(second.port == first.port)
        #expect(try await scalar("SELECT x FROM kept", second) == "7")
        #expect(try await scalar("SHOW fsync", second) == "on")
        await second.stop()
    }

    @Test func startsAgainAfterTheServerWasKilled() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        let server = try await PostgresServer.start(directory: directory.path, fsync: true)
        try await execute("CREATE TABLE t (x int); INSERT INTO t VALUES (1)", server)
        let killed = server.processID
        server.kill()
        try await wait(for: "the server to die") { !Processes.isAlive(killed) }
        try await server.restart()
        #expect(server.processID != killed)
        #expect(try await scalar("SELECT x FROM t", server) == "1")
        // Also without a crash.
        try await server.restart()
        #expect(try await scalar("SELECT x FROM t", server) == "1")
        await server.stop()
        #expect(!FileManager.default.fileExists(atPath: server.temporaryFolder))
    }

    /// As where the former program was killed a moment ago.
    @Test func waitsForALockThatGoes() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        let lock = open(directory.path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        let told = Lock<[String]>([])
        let path = directory.path
        let starting = Task {
            try await PostgresServer.start(directory: path, lockPatience: TestOptions.deadline) { line in
                told.withLock { $0.append(line) }
            }
        }
        try await wait(for: "the start to wait") { told.withLock { $0.contains { $0.hasPrefix("waiting") } } }
        close(lock)
        let server = try await wait(forEndOf: starting)
        #expect(server.isRunning)
        await server.stop()
    }

    @Test func refusesADirectoryInUse() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        let server = try await PostgresServer.start(directory: directory.path)
        let error = await #expect(throws: PostgresServerError.self) {
            _ = try await PostgresServer.start(directory: directory.path, lockPatience: .zero)
        }
        #expect(error?.code == .directoryInUse)
        #expect(error?.message.contains(directory.path) == true)
        await server.stop()
    }

    @Test(.enabled(if: getuid() == 0))
    func saysWhichFolderTheOtherUserCannotEnter() async throws {
        let directory = try TemporaryDirectory(prefix: "pg-closed")
        defer { directory.remove() }
        let error = await #expect(throws: PostgresServerError.self) {
            _ = try await PostgresServer.start(directory: directory.path + "/inner/data")
        }
        #expect(error?.code == .unusableFolder)
        #expect(error?.message.contains("user postgres cannot enter \(directory.path):") == true)
    }

    @Test func tellsWhyPostgresDidNotStart() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        try "9.6\n".write(toFile: directory.path + "/cluster/PG_VERSION", atomically: false, encoding: .utf8)
        let error = await #expect(throws: PostgresServerError.self) {
            _ = try await PostgresServer.start(directory: directory.path)
        }
        #expect(error?.code == .notStarted)
        #expect(error?.message.contains("PostgreSQL version 9.6") == true)
        #expect(error?.message.contains("\n") == false)
    }

    @Test func forgetsALockFileOfADeadServer() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        // The id of a living process that is no Postgres, as after a restart of the machine.
        let lockFile = directory.path + "/cluster/postmaster.pid"
        try "\(getpid())\n\(directory.path)/cluster\n0\n5432\n/tmp\n127.0.0.1\n0 0\nready\n"
            .write(toFile: lockFile, atomically: true, encoding: .utf8)
        let again = try await PostgresServer.start(directory: directory.path)
        #expect(try await scalar("SELECT 1", again) == "1")
        await again.stop()
    }

    @Test func refusesAPortInUse() async throws {
        let port = try await TestPostgres.server().port
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        let error = await #expect(throws: PostgresServerError.self) {
            _ = try await PostgresServer.start(directory: directory.path, port: port)
        }
        #expect(error?.code == .portInUse)
        #expect(error?.message.contains("\(port)") == true)
    }

    // MARK: The password

    /// What the server says to whoever shows a password, or none, by TCP; nil if it lets him in.
    private func refusal(
        _ password: String?, _ server: PostgresServer, host: String = "127.0.0.1",
        parameters: [String: String] = [:]
    ) async throws -> String? {
        var all = [
            "host": host, "port": String(server.port), "user": "postgres",
            // A file of the user's has nothing to say here.
            "passfile": "/nonexistent",
        ].merging(parameters) { $1 }
        all["password"] = password
        do {
            let connection = try await PostgresConnection.connect(
                "dbname=postgres", parameters: all, poller: poller)
            await connection.close()
            return nil
        } catch let error as PostgresError {
            return error.sqlstate ?? error.message
        }
    }

    private func expectClosed(_ server: PostgresServer) async throws {
        #expect(try await refusal("wrong", server) == "28P01")
        let without = try await refusal(nil, server)
        #expect(without?.contains("no password supplied") == true, "\(without ?? "let in")")
        let streaming = try await refusal("wrong", server, parameters: ["replication": "database"])
        #expect(streaming == "28P01")
        #expect(try await refusal(server.password, server) == nil)
        #expect(try await refusal(server.password, server, parameters: ["replication": "database"]) == nil)
        let rules = try await scalar(
            """
            SELECT count(*) FROM pg_hba_file_rules WHERE type LIKE 'host%' AND auth_method <> 'scram-sha-256'
            """, server)
        #expect(rules == "0")
    }

    @Test func nobodyEntersByTCPWithoutThePassword() async throws {
        let server = try await TestPostgres.server()
        try await expectClosed(server)
        // Whoever gets to the socket is the owner of its folder.
        #expect(try await refusal(nil, server, host: server.temporaryFolder) == nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: server.temporaryFolder)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(server.password.count == 32 && server.uri().contains(":\(server.password)@"))
    }

    @Test func aFolderKeepsItsPasswordForItsOwnerAlone() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        let first = try await PostgresServer.start(directory: directory.path, fsync: false)
        await first.stop()
        let second = try await PostgresServer.start(directory: directory.path, fsync: false)
        #expect(second.password == first.password)
        try await expectClosed(second)
        let file = directory.path + "/password"
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try Self.owner(file) == Self.owner(directory.path + "/cluster"))
        await second.stop()
    }

    private static func owner(_ path: String) throws -> uid_t {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_uid
    }

    /// As earlier versions have made it: no password, and everybody is let in.
    @Test func aClusterOfAnEarlierVersionIsClosed() async throws {
        let directory = try await TestCluster.folder()
        defer { directory.remove() }
        let rules = directory.path + "/cluster/pg_hba.conf"
        let former = try String(contentsOfFile: rules, encoding: .utf8)
        try former.replacing("scram-sha-256", with: "trust")
            .write(toFile: rules, atomically: false, encoding: .utf8)
        let earlier = try await PostgresServer.start(directory: directory.path, fsync: false)
        #expect(try await refusal("wrong", earlier) == nil, "the file of the password alone tells them apart")
        try await execute("ALTER ROLE postgres PASSWORD NULL; CREATE TABLE kept AS SELECT 7 AS x", earlier)
        await earlier.stop()
        try FileManager.default.removeItem(atPath: directory.path + "/password")
        for _ in 1...2 {
            let server = try await PostgresServer.start(directory: directory.path, fsync: false)
            try await expectClosed(server)
            #expect(try await scalar("SELECT x FROM kept", server) == "7")
            await server.stop()
        }
    }

    @Test func makesAndDropsDatabasesWithTheirSlots() async throws {
        let server = try await TestPostgres.server()
        let (name, slot) = ("a \"b\"/ü", "of_a_dropped_database")
        let uri = try await server.createDatabase(name, poller: poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        #expect(try await connection.query("SELECT current_database()").scalar == name)
        try await connection.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [slot])
        let slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '\(slot)'"
        let databases = "SELECT count(*) FROM pg_database WHERE datname = \(quoteLiteral(name))"
        #expect(try await scalar(slots, server) == "1")
        #expect(try await scalar(databases, server) == "1")
        try await server.dropDatabase(name, poller: poller)
        #expect(try await scalar(slots, server) == "0")
        #expect(try await scalar(databases, server) == "0")
        try await server.dropDatabase("never was", poller: poller)
    }

    private func execute(_ sql: String, _ server: PostgresServer) async throws {
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        try await connection.script(sql)
        await connection.close()
    }

    private func scalar(_ sql: String, _ server: PostgresServer) async throws -> String? {
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        let scalar = try await connection.query(sql).scalar
        await connection.close()
        return scalar
    }
}
