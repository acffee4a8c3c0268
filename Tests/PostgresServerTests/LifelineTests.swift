import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncPostgresValues
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// A program that dies by SIGKILL cannot clear up: each of these runs one.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LifelineTests {
    @Test func aServerIsGoneOnceItsProgramWasKilled() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) {
            let server = try await PostgresServer.start()
            report(server.processID, server.temporaryFolder)
            _ = kill(getpid(), SIGKILL)
            await server.stop()
        }
        let told = try #require(result.flatMap { reported($0.standardOutputContent) })
        try await wait(for: "the server to end with its program") { !Processes.isAlive(told.process) }
        try await wait(for: "its folder to go with it") {
            !FileManager.default.fileExists(atPath: told.folder)
        }
    }

    /// As a test that is killed leaves it (SIGSTOP): the shell has it go on, or nobody would.
    @Test(.enabled(if: PostgresServer.canStandStill))
    func aServerThatStandsStillGoesWithItsProgram() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) {
            let server = try await PostgresServer.start()
            try await server.standStill()
            for id in try server.family() { report(id, server.temporaryFolder) }
            _ = kill(getpid(), SIGKILL)
            try server.goOn()
        }
        let told = result.map { allReported($0.standardOutputContent) } ?? []
        try #require(told.count > 3, "the postmaster and its children")
        try await wait(
            for: "all processes of the server to end",
            read: { told.filter { Processes.isAlive($0.process) } },
            until: \.isEmpty)
        try await wait(for: "its folder to go") { !FileManager.default.fileExists(atPath: told[0].folder) }
    }

    @Test(arguments: [true, false])
    func aKilledProgramStartsAgainInItsDirectory(isServerKilledToo: Bool) async throws {
        let folder = try await TestCluster.folder()
        defer { folder.remove() }
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = folder.path as String, isServerKilledToo] in
            let server = try await PostgresServer.start(directory: path)
            let poller = try Poller()
            let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
            try await connection.script("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)")
            if isServerKilledToo { server.kill() }
            _ = kill(getpid(), SIGKILL)
        }
        // At once: the end of the former server, and of its children, is awaited by the start.
        let server = try await PostgresServer.start(
            directory: folder.path, lockPatience: TestOptions.deadline)
        let poller = try Poller()
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        #expect(try await connection.query("SELECT x FROM kept").scalar == "7")
        await server.stop()
    }

    /// As that of a program that was killed may: no start says how long it waits for it.
    @Test func aStartWaitsForALockThatEndsInAMoment() async throws {
        let cluster = try await TestCluster.folder()
        defer { cluster.remove() }
        let holder = try FolderLock(cluster.path, mode: 0o644)
        #expect(try await holder.take(within: .zero))
        let server = try await PostgresServer.start(
            directory: cluster.path, fsync: false,
            log: { line in if line.hasPrefix("waiting for another program") { holder.release() } })
        await server.stop()
    }

    /// It has made its folder, and no Postgres whose shell would remove it.
    @Test func aStartThatIsKilledWhileItWaitsLeavesNoFolder() async throws {
        let cluster = try await TestCluster.folder()
        defer { cluster.remove() }
        let holder = try await PostgresServer.start(directory: cluster.path, fsync: false)
        let temporary = try TemporaryDirectory(prefix: "pg-wait")
        defer { temporary.remove() }
        chmod(temporary.path, 0o711)
        try #require(temporary.path.utf8.count <= 60, "TMPDIR is too long for a folder of Postgres")
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) { [directory = cluster.path as String, temporary = temporary.path as String] in
            setenv("TMPDIR", temporary, 1)
            let server = try await PostgresServer.start(
                directory: directory, lockPatience: TestOptions.deadline,
                log: { _ in
                    // That it waits for the holder. Without a name the test that runs this program fails.
                    let names = try? FileManager.default.contentsOfDirectory(atPath: temporary)
                    if let name = names?.first { report(getpid(), name) }
                    _ = kill(getpid(), SIGKILL)
                })
            await server.stop()
        }
        let told = try #require(result.flatMap { reported($0.standardOutputContent) })
        #expect(told.folder.hasPrefix("powersync-pg-"))
        try await wait(
            for: "the folder to go",
            read: { try FileManager.default.contentsOfDirectory(atPath: temporary.path) }, until: \.isEmpty)
        await holder.stop()
    }

    @Test func aCopyOfAClusterGoesWithTestsThatWereKilled() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) {
            let folder = try await TestCluster.folder()
            try #require(FileManager.default.fileExists(atPath: folder.path + "/cluster/PG_VERSION"))
            report(getpid(), folder.path)
            _ = kill(getpid(), SIGKILL)
            // It is there until then.
            folder.remove()
        }
        let told = try #require(result.flatMap { reported($0.standardOutputContent) })
        try await wait(for: "the copy to go") { !FileManager.default.fileExists(atPath: told.folder) }
    }

    /// Ctrl-C goes to the foreground process group, and we are the one to answer it.
    @Test func theServerIsInNoSessionOfOurs() async throws {
        let server = try await TestPostgres.server()
        #expect(getsid(server.processID) != getsid(0))
        #expect(getpgid(server.processID) != getpgid(0))
    }

    @Test(.enabled(if: Processes.areOpenFilesKnown)) func theServerInheritsNoDescriptors() async throws {
        let directory = try TemporaryDirectory(prefix: "pg-descriptors")
        defer { directory.remove() }
        let secret = directory.path + "/secret"
        let descriptor = open(secret, O_RDWR | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try await TestCluster.withServer { server in
            let open = try Processes.openFiles(of: server.processID)
            #expect(open.contains { $0.hasSuffix("/log") }, "its own are to be seen")
            #expect(!open.contains(secret))
        }
    }

    /// The fast stop waits for such a client for as long as it stays connected.
    @Test func aSilentReplicationClientDoesNotHoldUpTheStop() async throws {
        let cluster = try await TestCluster.folder()
        defer { cluster.remove() }
        let server = try await PostgresServer.start(directory: cluster.path, fsync: false)
        let poller = try Poller()
        let sql = try await PostgresConnection.connect(server.uri(), poller: poller)
        try await sql.script("CREATE TABLE t (x int); CREATE PUBLICATION powersync FOR ALL TABLES")
        let stream = try await PostgresConnection.connect(
            server.uri(), parameters: ["replication": "database"], poller: poller)
        _ = try await stream.createReplicationSlot("silent")
        try await stream.startReplication(
            slot: "silent", publication: "powersync", from: .zero, messages: true)
        try await sql.script("INSERT INTO t SELECT generate_series(1, 1000)")
        let id = server.processID
        await server.stop()
        #expect(!Processes.isAlive(id))
        #expect(!FileManager.default.fileExists(atPath: server.temporaryFolder))
        // It removes this file when it is asked to stop, and cannot when it is killed.
        #expect(!FileManager.default.fileExists(atPath: cluster.path + "/cluster/postmaster.pid"))
        await stream.close()
    }
}

/// Tells the test that runs this program what to look for.
private func report(_ process: Int32, _ folder: String) {
    FileHandle.standardOutput.write(Data("\nserver \(process) \(folder)\n".utf8))
}

private func reported(_ output: [UInt8]) -> (process: Int32, folder: String)? { allReported(output).first }

private func allReported(_ output: [UInt8]) -> [(process: Int32, folder: String)] {
    String(decoding: output, as: UTF8.self).split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        guard words.count == 3, words[0] == "server", let process = Int32(words[1]) else { return nil }
        return (process, String(words[2]))
    }
}
