import Foundation
import PowerSyncStack
import PowerSyncSystem
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StackPartTests {
    @Test func aPartThatIgnoresTheRequestIsKilledAlsoForACancelledCaller() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-part-")
        defer { folder.remove() }
        let poller = try Poller()
        defer { poller.stop() }
        let script = folder.path + "/part"
        try """
        #!/bin/sh
        trap '' TERM
        echo '{"backend":"http://127.0.0.1:1"}'
        while :; do read -r _; done
        """.write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let part = try StackPart.start("backend", executable: script, environment: [:], log: nil)
        #expect(try await part.url(poller) == "http://127.0.0.1:1")
        let stopping = Task { await part.stop(patience: 1) }
        stopping.cancel()
        await stopping.value
        #expect(part.hasEnded)
    }
}
