import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import Testing

/// A program that dies by SIGKILL cannot clear up: each of these runs one.
@Suite(.enabled(if: TestEnvironment.hasDatabase), .timeLimit(.minutes(1)))
struct LifelineTests {
    @Test func aServerIsGoneFiveSecondsAfterItsProgramWasKilled() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) {
            let server = try await PostgresServer.start()
            report(server.processID, server.temporaryFolder)
            _ = kill(getpid(), SIGKILL)
            await server.stop()
        }
        let told = try #require(result.flatMap { reported($0.standardOutputContent) })
        let killed = ContinuousClock.now
        try await eventually("the server outlived its program") { !isAlive(told.process) }
        try await eventually("the folder outlived its program") {
            !FileManager.default.fileExists(atPath: told.folder)
        }
        #expect(killed.duration(to: .now) < .seconds(5))
    }

    @Test func whatWasKilledTogetherStartsAgainInItsDirectory() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) {
            let directory = try TemporaryDirectory(prefix: "pg-killed")
            let server = try await PostgresServer.start(directory: directory.path)
            let poller = try Poller()
            let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
            try await connection.script("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)")
            report(server.processID, directory.path)
            server.kill()
            _ = kill(getpid(), SIGKILL)
            directory.remove()
        }
        let told = try #require(result.flatMap { reported($0.standardOutputContent) })
        // At once: the end of the former server is awaited by the start.
        let server = try await PostgresServer.start(directory: told.folder)
        let poller = try Poller()
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        #expect(try await connection.query("SELECT x FROM kept").scalar == "7")
        await server.stop()
        try FileManager.default.removeItem(atPath: told.folder)
    }

    /// Ctrl-C goes to the foreground process group, and we are the one to answer it.
    @Test func theServerIsInNoSessionOfOurs() async throws {
        let server = try await PostgresServer.start()
        #expect(getsid(server.processID) != getsid(0))
        #expect(getpgid(server.processID) != getpgid(0))
        await server.stop()
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")))
    func theServerInheritsNoDescriptors() async throws {
        let directory = try TemporaryDirectory(prefix: "pg-descriptors")
        let secret = directory.path + "/secret"
        let descriptor = open(secret, O_RDWR | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        let server = try await PostgresServer.start()
        let folder = "/proc/\(server.processID)/fd"
        let links = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
        #expect(links.contains { $0.hasSuffix("/log") }, "its own are to be seen")
        #expect(!links.contains(secret))
        await server.stop()
        close(descriptor)
        directory.remove()
    }

    /// The fast stop waits for such a client for as long as it stays connected.
    @Test func aSilentReplicationClientDoesNotHoldUpTheStop() async throws {
        let server = try await PostgresServer.start()
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
        let start = ContinuousClock.now
        await server.stop()
        #expect(start.duration(to: .now) < .seconds(5))
        #expect(!isAlive(id))
        #expect(!FileManager.default.fileExists(atPath: server.temporaryFolder))
        await stream.close()
    }
}

/// Tells the test that runs this program what to look for.
private func report(_ process: Int32, _ folder: String) {
    FileHandle.standardOutput.write(Data("\nserver \(process) \(folder)\n".utf8))
}

private func reported(_ output: [UInt8]) -> (process: Int32, folder: String)? {
    for line in String(decoding: output, as: UTF8.self).split(separator: "\n") where line.hasPrefix("server ")
    {
        let words = line.split(separator: " ")
        if words.count == 3, let process = Int32(words[1]) { return (process, String(words[2])) }
    }
    return nil
}
