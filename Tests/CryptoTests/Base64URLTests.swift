import PowerSyncCrypto
import PowerSyncTestSupport
import Testing

struct Base64URLTests {
    // RFC 4648 10.
    static let vectors = [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: vectors)
    func agreesWithRFC4648(plain: String, text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        #expect(Base64.encode(Array(plain.utf8)) == padded)
        #expect(Base64.decode(padded) == Array(plain.utf8))
        #expect(Base64.decode(text) == Array(plain.utf8))
    }

    @Test func usesTheAlphabetOfURLs() {
        #expect(Base64URL.encode([0xfb, 0xff]) == "-_8")
        #expect(Base64.encode([0xfb, 0xff]) == "+/8=")
        #expect(Base64URL.decode("-_8") == [0xfb, 0xff])
    }

    @Test(arguments: ["Zg==", "Zg=", "Z", "Zm9vY", "+/8", "Zg\n", " Zg", "Zh", "Zm9", "Zü"])
    func refusesEveryOtherSpelling(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func theTolerantFormReadsWhatPeoplePaste() {
        #expect(Base64.decode(" Zm9v\n Yg== \n") == Array("foob".utf8))
        #expect(Base64.decode("-_8") == [0xfb, 0xff])
        #expect(Base64.decode("Zh") == Array("f".utf8))
        #expect(Base64.decode("Zm9vY") == nil)
        #expect(Base64.decode("Zg==Zg==") == nil)
        #expect(Base64.decode("Zg===") == nil)
        #expect(Base64.decode("Z!g=") == nil)
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Zh==", "Zm9v\n", " Zg==", "Zm9=", "-_8=", "Zg==Zg==", "====", "Z", "Zü==",
    ])
    func theExactFormRefusesEveryOtherSpelling(text: String) {
        #expect(Base64.decodeExactly(text) == nil)
    }

    @Test(.namesSeed) func everyLengthComesBack() async throws {
        try await forEachSeed(100) { random in
            let bytes = (0..<random.seed).map { _ in UInt8(random.below(256)) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decodeExactly(Base64.encode(bytes)) == bytes)
        }
    }
}
