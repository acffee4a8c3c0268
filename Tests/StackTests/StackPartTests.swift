import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct StackPartTests {
    @Test func aPartThatIgnoresTheRequestIsKilledAlsoForACancelledCaller() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-part-")
        defer { folder.remove() }
        let poller = try Poller()
        defer { poller.stop() }
        let script = folder.path + "/part"
        // Written by another program: one that this program still had open for writing could not be started.
        let text = """
            #!/bin/sh
            trap '' TERM
            echo '{"backend":"http://127.0.0.1:1"}'
            while read -r _; do :; done
            """
        let written = try await ChildProcess.run(
            "/bin/sh", ["-c", "cat >\"$1\" && chmod 700 \"$1\"", "sh", script], input: text,
            timeout: TestOptions.deadline)
        try #require(written.status == .exited(0))
        let part = try StackPart.start("backend", executable: script, environment: [:], log: nil)
        #expect(try await part.url(poller) == "http://127.0.0.1:1")
        let stopping = Task { await part.stop(patience: 1) }
        stopping.cancel()
        await stopping.value
        #expect(part.hasEnded)
    }
}
