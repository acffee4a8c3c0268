import Foundation
import PowerSyncHTTP
import PowerSyncWire

/// The parser of requests, fed with the bytes of one connection.
///
/// The first byte chooses how chunks are cut and how narrow the limits are, the second one what is repeated.
struct HTTPTarget: FuzzTarget {
    static let words = [
        "\r\n", "\r\n\r\n", "\n", "GET ", "POST ", "OPTIONS ", "CONNECT ", " HTTP/1.1\r\n", " HTTP/1.0\r\n",
        "HTTP/2.0", "http://", "://", "*", "%2F", "%00", "?a=b", "Host: a\r\n", "Content-Length: ",
        "Transfer-Encoding: ", "chunked", "gzip, chunked", "Connection: ", "close", "keep-alive", "Expect: ",
        "100-continue", "5\r\nabcde\r\n", "0\r\n\r\n", "ffffffffffffffff", ";a=b", "Trailer: ", "\t",
        "\u{7F}",
    ]

    private static let bodyLimit = 1 << 16

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let captures = try Recordings.read(fixtures.appending(path: "service/captures"))
        let connections =
            captures.flatMap { $0.arrayValue ?? [] }.map(requests) + written.map { Array($0.utf8) }
        var inputs: [[UInt8]] = []
        for seed in [UInt8(0), 1, 2, 3] {
            for bytes in connections { inputs.append([seed, 0] + bytes) }
            for text in repeated { inputs.append([seed, 255] + Array(text.utf8)) }
        }
        return inputs
    }

    private static func requests(_ connection: JSON) -> [UInt8] {
        let sent = (connection.arrayValue ?? []).filter { $0["from"]?.stringValue == "client" }
        return sent.compactMap { $0["text"]?.stringValue }.flatMap { Array($0.utf8) }
    }

    private static let written = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.0\r\n\r\n\r\n\r\nGET /a?b=c HTTP/1.0\r\n\r\n",
        "GET http://a:80/b%20c?d=%e9&e HTTP/1.1\r\nhost: a:80\r\nConnection: close, x\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nabcdeGET",
        "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=\"y\"\r\nabcde\r\n00a\r\n0123456789"
            + "\r\n0\r\nTrailer: b\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    private static let repeated = [
        "\0GET /a HTTP/1.1\r\nHost: a\r\n\r\n\0GET",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\u{0}5\r\nabcde\r\n\u{0}0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;\0x\0\r\na\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\0A: b\r\n\0\r\n", "GET /\0a\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    mutating func check(_ input: [UInt8]) {
        guard let seed = input.first else { return }
        let limits =
            seed & 1 == 0 ? HTTPLimits() : HTTPLimits(targetBytes: 20, fieldBytes: 60, fieldCount: 3)
        // Beyond 64 KiB the parser moves what it has not used up.
        let bytes = Repetition.unfold(Array(input.dropFirst()), limit: 80 << 10)
        let whole = HTTPConnection(reading: [bytes], limits: limits, bodyLimit: Self.bodyLimit)
        let other = HTTPConnection(
            reading: Chunks.cut(bytes, seed: seed), limits: limits, bodyLimit: Self.bodyLimit)
        guard whole == other else { fatalError("the edges of chunks change what a connection says") }
        for request in whole.requests { check(request, limits) }
        tally.count("requests", whole.requests.count)
        tally.count("bodies", whole.requests.count { !$0.body.isEmpty })
        tally.count(whole.error.map { "error \($0.code.rawValue)" } ?? "connections without an error")
    }

    private func check(_ request: ReadRequest, _ limits: HTTPLimits) {
        guard request.target.count <= limits.targetBytes, request.fields.count <= limits.fieldCount,
            request.body.count <= Self.bodyLimit
        else { fatalError("a request over the limits") }
        let texts = [request.method, request.target] + request.fields.flatMap { [$0.name, $0.value] }
        guard !texts.contains(where: { $0.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 } }) else {
            fatalError("a line end or NUL within a text")
        }
        let again = HTTPConnection(
            reading: [request.written()],
            limits: HTTPLimits(targetBytes: 1 << 20, fieldBytes: 1 << 20, fieldCount: 100),
            bodyLimit: Self.bodyLimit)
        guard again.requests == [request], again.error == nil, again.isIdle else {
            fatalError("a request that was written says something else")
        }
    }
}
