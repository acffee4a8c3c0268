import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct CompressedStreamTests {
    @Test func theServiceIsAskedForCompressedAnswers() async throws {
        let requests = Lock<[String]>([])
        let server = try RawServer { connection in
            while let request = connection.request() {
                requests.withLock { $0.append(request) }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let transport = try HTTPClientTransport()
        let request = SyncHTTPRequest(method: "GET", url: server.url("/"), headers: [])
        #expect(try await transport.send(request).body == Array("ok".utf8))
        let stream = try await transport.open(request)
        while try await stream.next() != nil {}
        let sent = requests.withLock { $0 }
        #expect(sent.count == 2)
        #expect(sent.allSatisfy { $0.contains("\r\nAccept-Encoding: gzip\r\n") }, "\(sent)")
    }
}
