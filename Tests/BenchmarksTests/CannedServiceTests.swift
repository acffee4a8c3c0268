import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBenchmarks

@Suite(.patient()) struct CannedServiceTests {
    /// Reads so many bytes of a stream.
    private func stream(_ count: Int, from url: String) async throws -> (fields: HTTPFields, body: String) {
        let client = try HTTPClient()
        defer { client.close() }
        let request = HTTPClientRequest(
            method: "POST", url: url + "/sync/stream",
            fields: ["accept-encoding": "zstd, gzip", "content-type": "application/json"],
            body: Array("{\"buckets\":[]}".utf8), idleTimeout: TestOptions.deadline)
        let stream = try await client.open(request)
        defer { stream.cancel() }
        var body: [UInt8] = []
        while body.count < count, let part = try await stream.next() { body += part }
        return (stream.fields, String(decoding: body, as: UTF8.self))
    }

    @Test func whatTheServiceSendsIsHandedOnAndThenSentAgainWithoutIt() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let requests = Lock<[String]>([])
        let service = try RawServer { connection in
            guard let request = connection.request() else { return }
            requests.withLock { $0.append(request) }
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/x-lines\r\nContent-Encoding: zstd\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            connection.chunk("one")
            connection.chunk("two")
            connection.waitForHangUp()
        }
        let canned = try CannedService(of: "http://127.0.0.1:\(service.port)", poller: poller)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await canned.run() }
            defer { group.cancelAll() }
            let recorded = try await stream(6, from: canned.url)
            canned.replay()
            let replayed = try await stream(6, from: canned.url)
            for (fields, body) in [recorded, replayed] {
                #expect(body == "onetwo")
                #expect(fields["content-type"] == "application/x-lines")
                #expect(fields["content-encoding"] == "zstd")
            }
            #expect(canned.size == 6)
        }
        let sent = try #require(requests.withLock { $0.first })
        #expect(requests.withLock { $0.count } == 1)
        #expect(sent.hasPrefix("POST /sync/stream HTTP/1.1\r\n") && sent.hasSuffix("{\"buckets\":[]}"))
        #expect(sent.lowercased().contains("\r\naccept-encoding: zstd, gzip\r\n"))
    }

    @Test func whatIsPushedGoesToEveryClientThatIsAnsweredFromMemory() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let service = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.chunk("recorded,")
            connection.waitForHangUp()
        }
        let canned = try CannedService(of: "http://127.0.0.1:\(service.port)", poller: poller)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await canned.run() }
            defer { group.cancelAll() }
            _ = try await stream(9, from: canned.url)
            canned.replay()
            let bodies = try await withThrowingTaskGroup(
                of: String.self, returning: [String].self
            ) { clients in
                for _ in 0..<3 {
                    clients.addTask { try await self.stream(15, from: canned.url).body }
                }
                // Who comes later gets what is pushed from then on alone.
                clients.addTask {
                    try await wait(for: "three clients to listen") { canned.listenerCount == 3 }
                    canned.push(Array("pushed".utf8))
                    return "recorded,pushed"
                }
                return try await clients.reduce(into: []) { $0.append($1) }
            }
            #expect(bodies == Array(repeating: "recorded,pushed", count: 4))
            try await wait(for: "all clients to be forgotten") { canned.listenerCount == 0 }
        }
    }
}
