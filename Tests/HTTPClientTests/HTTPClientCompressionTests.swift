import Foundation
import PowerSyncCompression
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPClient

@Suite(.patient())
struct HTTPClientCompressionTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n"

    private static func request(_ server: RawServer) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: server.url())
        request.acceptsGzip = true
        return request
    }

    @Test func compressionIsAskedForOnlyWhereItIsWanted() async throws {
        let server = try RawServer { connection in
            while let request = connection.request() {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(request.utf8.count)\r\n\r\n\(request)")
            }
        }
        let client = try HTTPClient()
        defer { client.close() }
        let plain = try await client.send(HTTPClientRequest(url: server.url()))
        #expect(!String(decoding: plain.body, as: UTF8.self).lowercased().contains("accept-encoding"))
        let gzip = try await client.send(Self.request(server))
        #expect(String(decoding: gzip.body, as: UTF8.self).contains("\r\nAccept-Encoding: gzip\r\n"))
    }

    @Test func eachPartOfACompressedBodyComesWhenItIsSent() async throws {
        let lines = ["{\"a\":1}\n", "{\"b\":2}\n"]
        let gate = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(Self.head)
            let compressor = Compressor(.gzip)
            for line in lines {
                gate.wait()
                connection.chunk(compressor.compress(Array(line.utf8)))
            }
            gate.wait()
            connection.chunk(compressor.finish())
            connection.send("0\r\n\r\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(Self.request(server))
        for line in lines {
            gate.signal()
            #expect(try await stream.next() == Array(line.utf8))
        }
        gate.signal()
        #expect(try await stream.next() == nil)
    }

    @Test func aCompressedBodyThatBreaksOffIsCut() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(Self.head)
            let compressor = Compressor(.gzip)
            connection.chunk(compressor.compress(Array("whole\n".utf8)))
            let half = compressor.compress(Array("half a line that does not arrive as a whole\n".utf8))
            connection.send("\(String(half.count, radix: 16))\r\n")
            connection.send(Array(half.prefix(half.count / 2)))
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(Self.request(server))
        var received: [UInt8] = []
        let error = await #expect(throws: HTTPClientError.self) {
            while let part = try await stream.next() { received += part }
        }
        #expect(error?.code == .cut)
        #expect(received.starts(with: Array("whole\n".utf8)))
    }

    /// A few KB that unpack into 64 times what waits for the task, several times over.
    @Test func whatUnpacksIntoFarMoreComesThroughWhoeverReadsItSlowly() async throws {
        let total = 4 << 20
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(Self.head)
            let compressor = Compressor(.gzip)
            for number in 0..<4 {
                connection.chunk(
                    compressor.compress([UInt8](repeating: UInt8(number), count: total / 4)))
            }
            connection.chunk(compressor.finish())
            connection.send("0\r\n\r\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(Self.request(server))
        var counts = [Int](repeating: 0, count: 4)
        var largest = 0
        while let part = try await stream.next() {
            for byte in part { counts[Int(byte)] += 1 }
            largest = max(largest, part.count)
        }
        #expect(counts == [Int](repeating: total / 4, count: 4))
        #expect(largest <= 1 << 20)
    }

    @Test func theLimitOfABodyIsThatOfWhatWasUnpacked() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(Self.head)
            let compressor = Compressor(.gzip)
            connection.chunk(compressor.compress([UInt8](repeating: 7, count: 1_000_000)))
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(Self.request(server), bodyLimit: 100_000)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func whatIsNoGzipIsAnError() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(Self.head)
            connection.chunk("plain text")
            connection.send("0\r\n\r\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(Self.request(server))
        }
        #expect(error?.code == .other)
    }
}

extension RawConnection {
    fileprivate func chunk(_ bytes: [UInt8]) {
        send("\(String(bytes.count, radix: 16))\r\n")
        send(bytes)
        send("\r\n")
    }
}
