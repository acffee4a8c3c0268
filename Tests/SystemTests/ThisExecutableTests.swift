import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

struct ThisExecutableTests {
    #if os(Linux)
        /// A child asks the system about its parent, which is another way to the answer.
        @Test func itsPathIsTheOneThatTheSystemRuns() async throws {
            let asked = try await ChildProcess.run(
                "/bin/sh", ["-c", "readlink /proc/$PPID/exe"], timeout: TestOptions.deadline)
            #expect(try ThisExecutable.path() + "\n" == asked.output)
        }
    #endif

    @Test func itsPathCanBeStarted() throws {
        #expect(access(try ThisExecutable.path(), X_OK) == 0)
    }
}
