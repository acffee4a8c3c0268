import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBenchmarks

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The driver of a client, with a shell as the client.
@Suite(.patient()) struct MeasuredClientTests {
    /// Answers some commands, says nothing to others, and lets a row arrive before it answers a write.
    private static let script = #"""
        echo '{"event":"ready"}'
        while read -r line; do
            id=${line#*:}
            id=${id%%,*}
            case $line in
            *'"op":"write"'*)
                echo '{"event":"watch","id":9,"at":1,"rows":[{"id":"k"},{"id":"j"}]}'
                echo "{\"id\":$id,\"ok\":true,\"results\":[0]}"
                ;;
            *'"op":"read"'*) echo "{\"id\":$id,\"ok\":true,\"rows\":[{\"n\":3}]}" ;;
            *'"op":"connect"'*) echo "{\"id\":$id,\"ok\":false,\"error\":\"no way\",\"code\":\"other\"}" ;;
            *'"op":"watch"'*)
                echo "{\"id\":$id,\"ok\":true}"
                echo '{"event":"watch","id":9,"at":1,"error":"no such table","code":"other"}'
                ;;
            *'"op":"disconnect"'*) echo 'not JSON' ;;
            *'"op":"close"'*) exit 0 ;;
            esac
        done
        """#

    private func with(_ body: (MeasuredClient) async throws -> Void) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let log = open("/dev/null", O_WRONLY | O_CLOEXEC)
        try #require(log >= 0)
        defer { close(log) }
        let client = try MeasuredClient(
            "c", executable: "/bin/sh", arguments: ["-c", Self.script], log: log, poller: poller)
        do {
            try await body(client)
        } catch {
            await client.end()
            throw error
        }
        await client.end()
        // The session ends every client, also one that has been killed on purpose.
        await client.end()
    }

    @Test func anAnswerIsFoundByItsIdAndARowByTheMomentAtWhichItCame() async throws {
        try await with { client in
            try await client.ready()
            let before = ContinuousClock.now
            let read = try await client.send("read")
            try await client.transact([StackApp.note("k")])
            let arrival = try await client.arrival(of: "j")
            #expect(before <= arrival && arrival <= .now)
            // Noted once, however often the row is in a result.
            try await client.transact([StackApp.note("k")])
            #expect(try await client.arrival(of: "j") == arrival)
            #expect(try await client.answer(to: read, of: "read").json["rows"]?.text == #"[{"n":3}]"#)
        }
    }

    @Test func aLargeCommandGoesThroughAPipeThatTakesItInParts() async throws {
        try await with { client in
            try await client.transact((1...2000).map { StackApp.note(StackApp.id("n", $0)) })
        }
    }

    @Test func aRefusalIsToldWithItsText() async throws {
        try await with { client in
            let refused = await #expect(throws: BenchmarkError.self) { try await client.ask("connect") }
            #expect(refused?.description == "client c refused connect: no way")
        }
    }

    @Test func aClientThatDoesNotAnswerIsNotWaitedForForEver() async throws {
        try await with { client in
            let late = await #expect(throws: StackError.self) {
                try await client.ask("status", within: .milliseconds(1))
            }
            #expect(late?.code == .deadline)
            #expect(late?.message == "waited 0 s for client c to answer status")
        }
    }

    @Test(arguments: [
        ("close", "it has ended"), ("disconnect", "what it says is no line of JSON"),
        ("watch", "its watched query failed: no such table"),
    ])
    func whatEndsAllAnswersIsToldWhereOneIsWaitedFor(op: String, reason: String) async throws {
        try await with { client in
            _ = try await client.send(op)
            let failed = await #expect(throws: BenchmarkError.self) {
                _ = try await client.arrival(of: "never")
            }
            #expect(failed?.description.hasPrefix("client c: \(reason)") == true)
        }
    }
}
