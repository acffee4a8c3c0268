import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct CuttableProxyTests {
    private func with(
        _ script: @escaping @Sendable (RawConnection) -> Void,
        _ body: (CuttableProxy, Int, Poller) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try RawServer(script)
        let proxy = try CuttableProxy(to: "http://127.0.0.1:\(server.port)", poller: poller)
        let port = try #require(Int(proxy.url.split(separator: ":").last ?? ""))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await proxy.run() }
            try await body(proxy, port, poller)
            group.cancelAll()
        }
        #expect(proxy.connections == 0)
    }

    /// Answers each line with itself.
    private static func echo(_ connection: RawConnection) {
        while let bytes = connection.receive() { connection.send(bytes) }
    }

    @Test func itCarriesBothWaysUntilItIsCutAndAgainWhenHealed() async throws {
        try await with(Self.echo) { proxy, port, poller in
            let client = try RawClient(port, poller)
            try await client.send("one\r\n")
            #expect(try await client.line() == "one\r\n")
            #expect(proxy.connections == 1)
            proxy.cut()
            #expect(try await client.line() == nil)
            let refused = try RawClient(port, poller)
            #expect(try await refused.line() == nil)
            proxy.heal()
            let again = try RawClient(port, poller)
            try await again.send("two\r\n")
            #expect(try await again.line() == "two\r\n")
        }
    }

    /// A cut must not reach a descriptor that was closed meanwhile and is somebody else's now.
    @Test func cuttingWhileConnectionsComeAndGoHitsNobodyElse() async throws {
        try await with(Self.echo) { proxy, port, poller in
            let stranger = try RawServer(Self.echo)
            let done = Lock(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !done.withLock({ $0 }), !Task.isCancelled {
                        proxy.cut()
                        proxy.heal()
                        await Task.yield()
                    }
                }
                for _ in 0..<100 {
                    let passing = try RawClient(port, poller)
                    let other = try RawClient(stranger.port, poller)
                    try await other.send("still here\r\n")
                    #expect(try await other.line() == "still here\r\n")
                    passing.leave()
                    other.leave()
                }
                done.withLock { $0 = true }
                try await group.waitForAll()
            }
        }
    }

    @Test func aStalledProxyCarriesSoManyBytesAndTheRestLater() async throws {
        try await with({ connection in
            connection.send(Array(repeating: UInt8(ascii: "x"), count: 100_000) + Array("\r\n".utf8))
            connection.waitForHangUp()
        }) { proxy, port, poller in
            proxy.stall(after: 1000)
            let client = try RawClient(port, poller)
            while client.unread.utf8.count < 1000 { try #require(try await client.read()) }
            try await wait(for: "the allowance to be used up") { proxy.isStalled }
            #expect(client.unread.utf8.count == 1000)
            proxy.heal()
            #expect(try await client.line()?.utf8.count == 100_002)
        }
    }

    @Test func silencedConnectionsStayOpenAndCarryNothingWhileNewOnesDo() async throws {
        let ends = Lock(0)
        try await with({ connection in
            Self.echo(connection)
            ends.withLock { $0 += 1 }
        }) { proxy, port, poller in
            let silenced = try RawClient(port, poller)
            try await silenced.send("one\r\n")
            #expect(try await silenced.line() == "one\r\n")
            proxy.silence()
            try await silenced.send("two\r\n")
            let fresh = try RawClient(port, poller)
            try await fresh.send("three\r\n")
            #expect(try await fresh.line() == "three\r\n")
            await #expect(throws: RawClient.Failure.self) { try await silenced.read(within: .zero) }
            // Its end does not arrive either, where that of the other one does.
            silenced.leave()
            fresh.leave()
            try await wait(for: "one connection to be gone") {
                ends.withLock { $0 } > 0 && proxy.connections == 1
            }
            #expect(ends.withLock { $0 } == 1)
        }
    }

    @Test func aURLThatIsNoneIsRefused() throws {
        let poller = try Poller()
        defer { poller.stop() }
        #expect(throws: StackError.self) { try CuttableProxy(to: "http://name/", poller: poller) }
    }
}
