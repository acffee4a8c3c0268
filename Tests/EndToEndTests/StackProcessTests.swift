import Foundation
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the tests of this target start ends with them.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StackProcessTests {
    @Test func aStackGoesWithTestsThatWereKilled() async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let schema = folder + "/schema.sql"
            try "CREATE TABLE t (id text PRIMARY KEY)".write(
                toFile: schema, atomically: true, encoding: .utf8)
            try await ProcessTurn.take {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [schema = schema as String, temporary = temporary as String] in
                    let up = try StackProcess(
                        ["up", "--schema", schema, "--backend-port", "0", "--service-port", "0"],
                        temporary: temporary)
                    _ = try await up.endpoints()
                    _ = kill(getpid(), SIGKILL)
                    _ = try await up.end()
                }
            }
            try await StackProcess.nothingIsLeft(in: temporary)
        }
    }
}
