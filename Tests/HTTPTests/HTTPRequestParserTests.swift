import PowerSyncHTTP
import PowerSyncTestSupport
import Testing

/// What a connection's bytes mean: every request with its body, and the error that ends them.
struct Understood: Equatable, CustomStringConvertible {
    var requests: [String] = []
    var error: HTTPError.Code?
    var isIdle = false

    var description: String { "\(requests) \(error?.rawValue ?? "ok")\(isIdle ? "" : " unfinished")" }

    /// Feeds text cut at the given places, and takes all that can be taken after each piece.
    init(_ text: String, cuts: [Int] = [], limits: HTTPLimits = HTTPLimits(), bodyLimit: Int = 1 << 20) {
        var parser = HTTPRequestParser(limits: limits)
        var body: [UInt8] = []
        let bytes = Array(text.utf8)
        let ends = cuts + [bytes.count]
        var start = 0
        do throws(HTTPError) {
            for end in ends {
                parser.append(Array(bytes[start..<end]))
                start = end
                while true {
                    if parser.isInBody {
                        guard try parser.takeBody(into: &body, limit: bodyLimit) else { break }
                        requests[requests.count - 1] += " " + String(decoding: body, as: UTF8.self)
                        body = []
                    }
                    guard let head = try parser.nextHead() else { break }
                    let fields = head.request.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
                    requests.append(
                        "\(head.request.method) \(head.request.target) 1.\(head.minorVersion) \(fields) "
                            + "\(head.framing)\(head.keepsAlive ? "" : " close")"
                            + (head.expectsContinue ? " expects" : ""))
                }
            }
        } catch {
            self.error = error.code
        }
        isIdle = parser.isIdle
    }
}

struct HTTPRequestParserTests {
    static let several =
        "POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
        + "GET / HTTP/1.1\r\nhost:h:80\r\nX-Empty:\r\nX-Spaced: \t a b \t\r\n\r\n"
        + "\r\nPOST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n"
        + "5\r\nhello\r\n00A ;ext=\"x\"\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
        + "OPTIONS * HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"
        + "GET http://h/x HTTP/1.1\r\nHost: h\r\nConnection: x, CLOSE\r\n\r\n"

    static let meaning = [
        "POST /a?b 1.1 Host=h;Content-Length=5 length(5) hello",
        "GET / 1.1 host=h:80;X-Empty=;X-Spaced=a b none",
        "POST /c 1.1 Host=h;Transfer-Encoding=Chunked;Expect=100-Continue chunked expects hello0123456789",
        "OPTIONS * 1.0 Connection=Keep-Alive none",
        "GET http://h/x 1.1 Host=h;Connection=x, CLOSE none close",
    ]

    @Test func requestsThatArriveTogetherComeOutOneByOne() {
        let understood = Understood(Self.several)
        #expect(understood.requests == Self.meaning)
        #expect(understood.error == nil)
        #expect(understood.isIdle)
    }

    @Test func theCutBetweenTwoReadsMakesNoDifferenceWhereverItIs() {
        let whole = Understood(Self.several)
        for cut in 1..<Self.several.utf8.count {
            #expect(Understood(Self.several, cuts: [cut]) == whole, "cut at \(cut)")
        }
        #expect(Understood(Self.several, cuts: Array(1..<Self.several.utf8.count)) == whole, "byte by byte")
    }

    @Test(.namesSeed) func randomCutsMakeNoDifference() async throws {
        let whole = Understood(Self.several)
        try await forEachSeed(500) { random in
            let count = 2 + random.below(11)
            let cuts = (0..<count).map { _ in 1 + random.below(Self.several.utf8.count - 1) }
            #expect(Understood(Self.several, cuts: cuts.sorted()) == whole, "cuts at \(cuts.sorted())")
        }
    }

    @Test func noPrefixIsMistakenForAWholeRequestOrAnError() {
        let text =
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: t\r\n\r\n"
        for length in 1..<text.utf8.count {
            let understood = Understood(String(decoding: text.utf8.prefix(length), as: UTF8.self))
            #expect(understood.error == nil)
            #expect(!understood.isIdle, "after \(length) bytes")
        }
        #expect(Understood(text).isIdle)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\nHost: h\r\n\r\n", HTTPError.Code.malformed),
        ("GET / HTTP/1.1\r\nHost: h\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\n\n", .malformed),
        ("GET / HTTP/1.1\rHost: h\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", .malformed),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", .malformed),
        (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /\r\n\r\n", .malformed),
        ("GET / http/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET / HTTP/1.10\r\nHost: h\r\n\r\n", .malformed),
        ("GET / HTTP/a.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", .versionNotSupported),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .versionNotSupported),
        ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET a HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET http://u@h/x HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", .notImplemented),
        ("GET /#f HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /\u{E4} HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /\u{0} HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nName : v\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\n: v\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n folded\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tfolded: b\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7F}b\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nX\u{E4}: a\r\n\r\n", .malformed),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n", .expectationFailed),
    ])
    func whatBreaksTheRulesOfAHeadIsRefused(text: String, code: HTTPError.Code) {
        let understood = Understood(text)
        #expect(understood.error == code)
        #expect(understood.requests.isEmpty)
    }

    @Test func whatIsNoUTF8InAValueIsNoOtherText() throws {
        var parser = HTTPRequestParser()
        parser.append(
            Array("GET / HTTP/1.1\r\nHost: h\r\nX: ä\r\nY: ".utf8) + [0xE4] + Array("\r\n\r\n".utf8))
        let head = try #require(try parser.nextHead())
        #expect(head.request.fields["x"] == "ä")
        #expect(head.request.fields["y"] == "\u{FFFD}")
    }

    @Test func expectationsMeanSomethingOnlyBeforeABodyOfHTTP11() {
        #expect(
            Understood("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n").requests
                == ["GET / 1.1 Host=h;Expect=100-continue none"])
        #expect(
            Understood("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx").requests
                == ["POST / 1.0 Expect=100-continue;Content-Length=1 length(1) close x"])
    }

    @Test(arguments: [
        ("GET /\(String(repeating: "a", count: 99)) HTTP/1.1\r\nHost: h\r\n\r\n", nil),
        (
            "GET /\(String(repeating: "a", count: 100)) HTTP/1.1\r\nHost: h\r\n\r\n",
            HTTPError.Code.targetTooLong
        ),
        ("GET /\(String(repeating: "a", count: 10_000))", .targetTooLong),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "a", count: 186))\r\n\r\n", nil),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "a", count: 187))\r\n\r\n", .fieldsTooLarge),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "a", count: 10_000))", .fieldsTooLarge),
        ("GET / HTTP/1.1\r\nHost: h\r\n\(String(repeating: "a:b\r\n", count: 4))\r\n", nil),
        ("GET / HTTP/1.1\r\nHost: h\r\n\(String(repeating: "a:b\r\n", count: 5))\r\n", .fieldsTooLarge),
    ])
    func limitsHoldToTheByte(text: String, code: HTTPError.Code?) {
        let limits = HTTPLimits(targetBytes: 100, fieldBytes: 200, fieldCount: 5)
        #expect(Understood(text, limits: limits).error == code)
        #expect(Understood(text, cuts: Array(1..<text.utf8.count), limits: limits).error == code)
    }
}
