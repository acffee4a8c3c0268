import PowerSyncHTTP
import Testing

struct HTTPResponseEncoderTests {
    private func request(_ method: String = "GET", minorVersion: Int = 1) throws -> HTTPRequestHead {
        try HTTPRequestHead(
            request: HTTPRequest(method: method, target: "/", fields: ["host": "h"]),
            minorVersion: minorVersion)
    }

    private func head(
        _ response: HTTPResponse, to request: HTTPRequestHead?, keepsAlive: Bool = true
    ) -> String {
        let framing = HTTPResponseEncoder.framing(of: response, to: request)
        let bytes = HTTPResponseEncoder.head(
            response, framing: framing, to: request, keepsAlive: keepsAlive, date: "now")
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func theServersFieldsAreItsOwn() throws {
        let fields: HTTPFields = [
            "Content-Type": "text/plain", "Content-Length": "99", "Transfer-Encoding": "gzip",
            "connection": "x",
            "Date": "then", "X": "1", "X": "2",
        ]
        #expect(
            try head(HTTPResponse(status: 200, fields: fields, body: .bytes([1, 2])), to: request())
                == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX: 1\r\nX: 2\r\ndate: now\r\n"
                + "content-length: 2\r\n\r\n")
    }

    @Test func aLineEndInAValueCannotStartAField() throws {
        let response = HTTPResponse(status: 302, fields: ["location": "/a\r\nset-cookie: b\n\u{0}"])
        #expect(try head(response, to: request()).contains("location: /a  set-cookie: b  \r\n"))
    }

    @Test(arguments: [(204, ""), (304, ""), (200, "content-length: 0\r\n"), (404, "content-length: 0\r\n")])
    func anEmptyBodyHasALengthUnlessTheStatusForbidsIt(status: Int, line: String) throws {
        let text = try head(HTTPResponse(status: status), to: request())
        #expect(text.hasSuffix("date: now\r\n\(line)\r\n"))
        #expect(
            !HTTPResponseEncoder.sendsBody(HTTPResponse(status: 204, body: .bytes([1])), to: try request()))
    }

    @Test func aHandlerMaySayThatThereIsNothingBehind204() throws {
        func text(_ status: Int, _ length: String) throws -> String {
            try head(HTTPResponse(status: status, fields: ["content-length": length]), to: request())
        }
        #expect(try text(204, "0").contains("\r\ncontent-length: 0\r\n"))
        #expect(try !text(204, "1").contains("content-length"))
        #expect(try !text(304, "0").contains("content-length"))
    }

    @Test func aStreamIsChunkedOrEndsWithTheConnection() throws {
        let response = HTTPResponse(status: 200, body: .stream { _ in })
        #expect(try head(response, to: request()).contains("transfer-encoding: chunked\r\n"))
        let old = try head(response, to: request(minorVersion: 0), keepsAlive: false)
        #expect(!old.contains("transfer-encoding"))
        #expect(!old.contains("content-length"))
        #expect(old.contains("connection: close\r\n"))
    }

    @Test func aSizedBodyHasItsLengthInPlaceOfChunks() throws {
        let response = HTTPResponse(
            status: 206, fields: ["content-length": "99"], body: .sized(5_000_000_000) { _ in })
        for minorVersion in [0, 1] {
            let asked = try request(minorVersion: minorVersion)
            let text = head(response, to: asked)
            #expect(text.contains("\r\ncontent-length: 5000000000\r\n") && !text.contains("99"))
            #expect(!text.contains("transfer-encoding"))
            #expect(HTTPResponseEncoder.sendsBody(response, to: asked))
        }
        #expect(HTTPResponseEncoder.framing(of: response, to: try request()) == .length(5_000_000_000))
    }

    @Test(arguments: [
        ("HEAD", 200, true), ("HEAD", 206, true), ("GET", 304, true), ("HEAD", 304, true),
        ("GET", 204, false),
    ])
    func theLengthOfASizedBodyStandsWithoutIt(_ method: String, _ status: Int, _ isSaid: Bool) throws {
        let asked = try request(method)
        let response = HTTPResponse(status: status, body: .sized(77) { _ in })
        #expect(head(response, to: asked).contains("\r\ncontent-length: 77\r\n") == isSaid)
        #expect(!HTTPResponseEncoder.sendsBody(response, to: asked))
    }

    @Test func aNegativeLengthIsOurMistake() async {
        await #expect(processExitsWith: .failure) {
            let response = HTTPResponse(status: 200, body: .sized(-1) { _ in })
            _ = HTTPResponseEncoder.framing(of: response, to: nil)
        }
    }

    @Test func persistenceIsSaidWhereItIsNotTheRule() throws {
        let response = HTTPResponse(status: 200)
        #expect(try !head(response, to: request()).contains("connection"))
        #expect(try head(response, to: request(), keepsAlive: false).contains("connection: close\r\n"))
        #expect(try head(response, to: request(minorVersion: 0)).contains("connection: keep-alive\r\n"))
    }

    @Test func anAnswerToHeadAnnouncesTheLengthAndSendsNothing() throws {
        let asked = try request("HEAD")
        let response = HTTPResponse(status: 200, body: .bytes([1, 2, 3]))
        #expect(head(response, to: asked).contains("content-length: 3\r\n"))
        #expect(!HTTPResponseEncoder.sendsBody(response, to: asked))
        #expect(HTTPResponseEncoder.sendsBody(response, to: try request()))
        let announced = HTTPResponse(status: 200, fields: ["content-length": "77"])
        #expect(head(announced, to: asked).contains("content-length: 77\r\n"))
    }

    @Test func chunksAreFramedInHexadecimal() {
        #expect(String(decoding: HTTPResponseEncoder.chunkLine(255), as: UTF8.self) == "ff\r\n")
    }

    @Test func anEmptyChunkOrABadFieldNameIsOurMistake() async {
        await #expect(processExitsWith: .failure) { _ = HTTPResponseEncoder.chunkLine(0) }
        await #expect(processExitsWith: .failure) {
            let response = HTTPResponse(status: 200, fields: ["a b": "c"])
            _ = HTTPResponseEncoder.head(response, framing: .none, to: nil, keepsAlive: true, date: "")
        }
    }
}

struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
        (1_709_251_200, "Fri, 01 Mar 2024 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ])
    func momentsHaveTheirDates(seconds: Int, text: String) {
        #expect(HTTPDate.text(seconds) == text)
        #expect(HTTPDate.seconds(text, now: 0) == seconds)
    }

    /// RFC 9110, 5.6.7: they must not be sent, and must be read.
    @Test(arguments: [
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Wed Nov 16 08:49:37 1994", 784_975_777), ("Saturday, 01-Mar-25 10:00:09 GMT", 1_740_823_209),
        // At most fifty years ahead.
        ("Friday, 01-Mar-75 00:00:00 GMT", 3_318_624_000), ("Monday, 01-Mar-76 00:00:00 GMT", 194_486_400),
    ])
    func obsoleteFormsAreReadToo(_ text: String, _ seconds: Int) {
        #expect(HTTPDate.seconds(text, now: 1_740_823_200) == seconds)
    }

    @Test func aYearOfTwoDigitsMayBeOneOfTheNextCentury() {
        // Of 2094-11-06.
        let now = 3_939_872_400
        #expect(HTTPDate.seconds("Tuesday, 01-Mar-01 00:00:00 GMT", now: now) == 4_139_078_400)
    }

    @Test(arguments: [
        "", "120", "Sun Nov  6 08:49:37", "Sun Nov  6 08:49:37 94", "Sun Foo  6 08:49:37 1994",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sunday, 06-Nov--4 08:49:37 GMT",
        "Sunday, Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:-1:37 GMT", "Sun, 06 Nov 1994 08:49:3x GMT",
    ])
    func otherTextsAreNoDates(_ text: String) {
        #expect(HTTPDate.seconds(text, now: 1_740_823_200) == nil)
    }
}
