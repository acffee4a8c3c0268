import Testing

@testable import PowerSyncHTTP

struct HTTPBodyTests {
    private func post(_ fields: String, _ body: String = "", bodyLimit: Int = 1 << 20) -> Understood {
        Understood("POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n\(body)", bodyLimit: bodyLimit)
    }

    /// Requests that two readers could split at different places.
    @Test(arguments: [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", HTTPError.Code.malformed),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", .malformed),
        ("Content-Length: 5\r\nContent-Length: 6", .malformed),
        ("Content-Length: 5\r\nContent-Length: 5", .malformed),
        ("Content-Length: 5, 5", .malformed),
        ("Content-Length: +5", .malformed),
        ("Content-Length: -5", .malformed),
        ("Content-Length: 0x5", .malformed),
        ("Content-Length: 5 5", .malformed),
        ("Content-Length:", .malformed),
        ("Content-Length: 99999999999999999999", .malformed),
        ("Content-Length : 5", .malformed),
        ("Transfer-Encoding: identity", .malformed),
        ("Transfer-Encoding: xchunked", .malformed),
        ("Transfer-Encoding: chunked, identity", .malformed),
        ("Transfer-Encoding: chunked, chunked", .malformed),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .malformed),
        ("Transfer-Encoding:", .malformed),
        ("Transfer-Encoding: \u{B}chunked", .malformed),
        ("Transfer-Encoding: chun\u{212A}ed", .malformed),
        ("Transfer-Encoding: gzip, chunked", .notImplemented),
    ])
    func ambiguousFramingIsRefused(fields: String, code: HTTPError.Code) {
        let understood = post(fields, "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(understood.error == code)
        #expect(understood.requests.isEmpty)
    }

    @Test func transferEncodingInHTTP10IsRefused() {
        #expect(
            Understood("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").error == .malformed)
    }

    @Test(arguments: [
        "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\n0\n\r\n", "5\r\nhello\r\n0\r\n\n",
        "5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhell\r\n0\r\n\r\n", "\r\nhello\r\n0\r\n\r\n", "g\r\n", "-1\r\n",
        "+5\r\n",
        "0x5\r\nhello\r\n", " 5\r\nhello\r\n", "5 \r\nhello\r\n", "5 5\r\nhello\r\n", "5;\u{0}\r\nhello\r\n",
        "ffffffffffffffff\r\n", "8000000000000000\r\n", "10000000000000000\r\n", "0\r\nbad trailer\r\n\r\n",
        "0\r\n folded: x\r\n\r\n", "\(String(repeating: "0", count: 2000))\r\n\r\n",
        String(repeating: "1;\(String(repeating: "x", count: 1000))\r\na\r\n", count: 20),
    ])
    func aBrokenChunkIsRefused(body: String) {
        #expect(post("Transfer-Encoding: chunked", body).error == .malformed)
    }

    @Test(arguments: [
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "000003\r\nabc\r\n2\r\nde\r\n000\r\n\r\n",
        "5;a=b;c=\"d\"\r\nabcde\r\n0;x\r\nT: v\r\nU: w\r\n\r\n", "5 ; a\r\nabcde\r\n0\r\n\r\n",
    ])
    func aProperChunkedBodyIsDecoded(body: String) {
        let understood = post("Transfer-Encoding: chunked", body)
        #expect(understood.error == nil)
        #expect(understood.requests == ["POST / 1.1 Host=h;Transfer-Encoding=chunked chunked abcde"])
        #expect(understood.isIdle)
    }

    @Test func theLimitHoldsForBothFramings() {
        #expect(post("Content-Length: 5", "abcde", bodyLimit: 5).error == nil)
        #expect(post("Content-Length: 6", bodyLimit: 5).error == .bodyTooLarge, "before a byte has arrived")
        #expect(post("Transfer-Encoding: chunked", "5\r\nabcde\r\n0\r\n\r\n", bodyLimit: 5).error == nil)
        #expect(post("Transfer-Encoding: chunked", "6\r\n", bodyLimit: 5).error == .bodyTooLarge)
        #expect(
            post("Transfer-Encoding: chunked", "3\r\nabc\r\n3\r\n", bodyLimit: 5).error == .bodyTooLarge,
            "before the chunk has arrived")
    }

    @Test func tooManyTrailersAreRefused() {
        let trailers = String(repeating: "a: b\r\n", count: 101)
        #expect(post("Transfer-Encoding: chunked", "0\r\n\(trailers)\r\n").error == .fieldsTooLarge)
        let long = String(repeating: "a", count: 20_000)
        #expect(post("Transfer-Encoding: chunked", "0\r\nx: \(long)").error == .fieldsTooLarge)
    }

    @Test func aLengthOfZeroIsNoBody() {
        #expect(post("Content-Length: 000").requests == ["POST / 1.1 Host=h;Content-Length=000 none"])
        #expect(post("Content-Length: 005", "abcde").requests.first?.hasSuffix("abcde") == true)
    }

    @Test func aLargeBodyInManyPiecesArrivesWhole() throws {
        let piece = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        var parser = HTTPRequestParser()
        parser.append(Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n".utf8))
        _ = try #require(try parser.nextHead())
        var body: [UInt8] = []
        for index in 1...1000 {
            parser.append(piece)
            #expect(try parser.takeBody(into: &body, limit: 1_000_000) == (index == 1000))
        }
        #expect(body.count == 1_000_000)
        #expect(Array(body[999_000...]) == piece)
        #expect(parser.isIdle)
    }

    /// Which has no place in it that could be gone on from.
    @Test func aBodyThatIsThereAsAWholeRefusesPieces() async throws {
        struct Whole: HTTPRequestBody {
            func collect(limit: Int) async throws(HTTPError) -> [UInt8] { [1, 2, 3] }
        }
        let body: any HTTPRequestBody = Whole()
        #expect(body.length == nil)
        let error = await #expect(throws: HTTPError.self) { try await body.next(limit: 1) }
        #expect(error?.code == .notImplemented)
        var patience = Duration.seconds(1)
        let bytes = try await body.collect(limit: 3, patience: &patience)
        #expect(bytes == [1, 2, 3] && patience == .seconds(1))
    }

    /// A connection rests, or has its answer streamed, for a long time.
    @Test(arguments: ["Content-Length: 60000", "Transfer-Encoding: chunked"])
    func noMemoryIsKeptBehindABody(field: String) throws {
        var parser = HTTPRequestParser()
        parser.append(Array("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n".utf8))
        _ = try #require(try parser.nextHead())
        let body = [UInt8](repeating: 0, count: 60_000)
        let isChunked = field.hasSuffix("chunked")
        parser.append(isChunked ? Array("ea60\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8) : body)
        #expect(parser.heldBytes >= 60_000)
        var taken: [UInt8] = []
        #expect(try parser.takeBody(into: &taken, limit: 60_000))
        #expect(taken == body)
        #expect(parser.heldBytes == 0)
    }
}
