import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `demo | head`: a reader that goes away ends the output and nothing else.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct GoneReaderTests {
    @Test func demoConvergesWithoutAReader() async throws {
        try await EndToEnd.withFolder { _, temporary in
            // The status of the demo, not of `head`, is what counts.
            let line = """
                { '\(EndToEnd.executable)' demo --json; echo "status $?" >&2; } | head -n 1
                """
            let shell = try StackProcess(shell: line, temporary: temporary)
            #expect(try await shell.line().contains("\"chapter\":1"))
            #expect(try await shell.end() == .exited(0))
            #expect(try await shell.allErrorLines().contains("status 0"))
            try await shell.leavesNothingBehind()
        }
    }

    @Test func upGoesOnWithoutAReaderOfItsLog() async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let up = try StackProcess(
                shell: """
                    printf 'CREATE TABLE t (id text PRIMARY KEY)' >'\(folder)/schema.sql'
                    exec '\(EndToEnd.executable)' up --schema '\(folder)/schema.sql' --backend-port 0 \
                        --service-port 0 2> >(head -n 1 >/dev/null)
                    """, temporary: temporary)
            let places = try await up.endpoints()
            try await SyncedRows.wait(for: [], backend: places.backend, service: places.service)
            up.process.signal(SIGINT)
            #expect(try await up.end() == .exited(0))
            try await up.leavesNothingBehind()
        }
    }
}
