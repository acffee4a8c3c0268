import PowerSyncHTTP
import Testing

@testable import PowerSyncHTTPClient

struct HTTPHeadParserTests {
    private func firstHead(_ lines: [String]) -> HTTPHead? {
        var parser = HTTPHeadParser()
        return lines.compactMap { parser.append(Array("\($0)\r\n".utf8)) }.first
    }

    @Test func theFirstFinalHeadIsTaken() {
        let head = firstHead([
            "HTTP/1.1 103 Early Hints", "Link: x", "", "HTTP/1.1 200", "A: b: c ", "B:\t", "none", "",
            "Trailer: x",
        ])
        #expect(head?.status == 200)
        #expect(head?.fields == ["A": "b: c", "B": ""])
    }

    /// A colon and U+301 behind it are one character; U+A0 is white space, yet none of the protocol.
    @Test func aLineIsReadByItsBytes() {
        let head = firstHead(["HTTP/1.1 200 OK", "a:\u{301}x", "b: \u{A0}y\u{A0}", ""])
        #expect(head?.fields["a"] == "\u{301}x")
        #expect(head?.fields["b"] == "\u{A0}y\u{A0}")
    }
}
