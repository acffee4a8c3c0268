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
struct BackendProcessTests {
    @Test func aBackendGoesWithTestsThatWereKilled() async throws {
        let folder = try TemporaryDirectory(prefix: "backend-guard-")
        defer { folder.remove() }
        try await ProcessTurn.take {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
                try await BackendProcess.with(
                    schema: TestBackend.demoTables, environment: ["TMPDIR": path], in: path
                ) { process, _ in
                    let named = try Processes.naming(path)
                    #expect(named.contains { $0.hasPrefix("\(process.id): ") })
                    _ = kill(getpid(), SIGKILL)
                }
            }
        }
        try await wait(
            for: "nobody to name it", read: { try Processes.naming(folder.path) }, until: \.isEmpty)
    }

    /// As while another replica migrates, for which a start waits up to ten minutes.
    @Test(arguments: [SIGTERM, SIGINT])
    func aStartThatWaitsEndsAtTheFirstSignal(signal: Int32) async throws {
        let folder = try TemporaryDirectory(prefix: "backend-start-")
        defer { folder.remove() }
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let migration = try await DatabaseGate(uri, poller, key: 0x505342)
        let output = open(folder.path + "/output", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        try #require(output >= 0)
        defer { close(output) }
        let process = try BackendProcess.start(
            uri, ["DEV_OPEN_SCHEMA": "1", "MIGRATION_TIMEOUT": "1d"], output)
        do {
            try await migration.waitForArrivals()
        } catch {
            process.signal(SIGKILL)
            throw error
        }
        process.signal(signal)
        let end = try await wait(forEndOf: process, called: "the backend")
        #expect(end == .exited(0))
        // Nor does the database go on with it.
        try await migration.waitForArrivals(0)
        try await migration.open()
    }
}
