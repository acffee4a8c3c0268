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
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
            try await BackendProcess.with(
                schema: TestBackend.demoTables, environment: ["TMPDIR": path], in: path
            ) { process, _ in
                let named = try Processes.naming(path)
                #expect(named.contains { $0.hasPrefix("\(process.id): ") })
                _ = kill(getpid(), SIGKILL)
            }
        }
        try await wait(
            for: "nobody to name it", read: { try Processes.naming(folder.path) }, until: \.isEmpty)
    }
}
