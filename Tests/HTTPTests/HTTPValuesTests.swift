import PowerSyncHTTP
import Testing

struct HTTPFieldsTests {
    @Test func namesAreFoundInAnyCase() {
        let fields: HTTPFields = ["Content-Type": "a", "content-type": "b", "Content-Typ": "c"]
        #expect(fields["CONTENT-TYPE"] == "a")
        #expect(fields.values("content-Type") == ["a", "b"])
        #expect(fields["content_type"] == nil)
        #expect(HTTPFields(dictionaryLiteral: ("a{", "1"))["a["] == nil, "only letters have cases")
    }

    @Test func settingReplacesEveryValueInPlace() {
        var fields: HTTPFields = ["A": "1", "B": "2", "a": "3", "C": "4"]
        fields["a"] = "9"
        #expect(fields == ["A": "9", "B": "2", "C": "4"])
        fields["d"] = "5"
        #expect(fields.map(\.name) == ["A", "B", "C", "d"])
        fields["b"] = nil
        fields.remove("x")
        #expect(fields.count == 3)
        #expect(fields == ["a": "9", "c": "4", "D": "5"])
        #expect(fields != ["c": "4", "a": "9", "D": "5"], "order counts")
    }

    @Test func listsAreSplitTrimmedAndLowered() {
        let fields: HTTPFields = ["Connection": " Keep-Alive,\tUpgrade ,", "connection": "x"]
        #expect(fields.tokens("connection") == ["keep-alive", "upgrade", "x"])
        #expect(fields.tokens("other").isEmpty)
    }

    /// U+212A, the Kelvin sign, is a "k" to `lowercased()`; a comma and U+301 behind it are one character.
    @Test func onlyBytesOfASCIIAreWords() {
        let fields: HTTPFields = [
            "connection": "\u{212A}eep-alive,\u{301}close", "transfer-encoding": "CHUN\u{212A}ED",
        ]
        #expect(fields.tokens("connection") == ["\u{212A}eep-alive", "\u{301}close"])
        let coding = fields.tokens("transfer-encoding")[0]
        #expect(coding != "chunked" && coding.utf8.elementsEqual("chun\u{212A}ed".utf8))
    }
}

struct HTTPRequestTests {
    @Test(arguments: [
        ("/", "/"), ("/a/b?c=d", "/a/b"), ("/a%20b%2Fc?x", "/a b/c"), ("/%C3%A4", "/ä"), ("/a+b", "/a+b"),
        ("/%zz", "/%zz"), ("*", "*"), ("http://host:80/p/q?x=/y", "/p/q"), ("HTTP://host", "/"),
        ("https://h?x=1", "/"), ("/http://x/y", "/http://x/y"),
    ])
    func thePathIsDecodedAndFreeOfTheRest(target: String, path: String) {
        #expect(HTTPRequest(method: "GET", target: target).path == path)
    }

    @Test func theQueryKeepsOrderAndRepetitions() {
        let request = HTTPRequest(method: "GET", target: "/p?b=1&a=x%26y+z&b=2&flag&&=n&c=%4&d=a=b&e=%ff")
        let expected = [
            ("b", "1"), ("a", "x&y z"), ("b", "2"), ("flag", ""), ("", "n"), ("c", "%4"), ("d", "a=b"),
            ("e", "\u{FFFD}"),
        ]
        #expect(request.query.map(\.name) == expected.map(\.0))
        #expect(request.query.map(\.value) == expected.map(\.1))
        #expect(request.queryValue("b") == "1")
        #expect(request.queryValue("flag") == "")
        #expect(request.queryValue("none") == nil)
        #expect(HTTPRequest(method: "GET", target: "/p").query.isEmpty)
        #expect(HTTPRequest(method: "GET", target: "/p?").query.isEmpty)
    }
}

struct PercentEncodingTests {
    @Test(arguments: ["", "plain", "a b/c?d&e=f+g%", "äöü 𝄞", "~-._"])
    func decodingUndoesEncoding(text: String) {
        let encoded = PercentEncoding.encode(text)
        #expect(PercentEncoding.decode(encoded) == text)
        #expect(PercentEncoding.decodeForm("x=\(encoded)").first?.value == text)
        #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?&=+".utf8.contains($0) })
    }

    @Test(arguments: ["%", "%4", "%g0", "%0g", "a%", "%ff", "%C3"])
    func brokenEncodingsAreNil(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }
}
