import PowerSyncCrypto
import Testing

struct DigestTests {
    @Test func agreesWithTheVectorsOfFIPS180() {
        let abc = Array("abc".utf8)
        #expect(Hexadecimal.encode(Digest.sha1(abc)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            Hexadecimal.encode(Digest.sha256(abc))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Hexadecimal.encode(Digest.sha384(abc))
                == "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        )
        #expect(
            Hexadecimal.encode(Digest.sha512(abc)).hasPrefix(
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea2"))
        #expect(
            Hexadecimal.encode(Digest.sha256([]))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test(arguments: [0, 1, 63, 64, 65, 1_000])
    func partsGiveTheDigestOfTheWhole(partLength: Int) {
        let bytes = (0..<3_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var digest = Digest.SHA256()
        digest.update(Array(bytes.prefix(partLength)))
        digest.update(Array(bytes.dropFirst(partLength)))
        #expect(digest.finish() == Digest.sha256(bytes))
    }

    struct Code: Sendable {
        let key: [UInt8]
        let message: String
        let sha256: String
        let sha384: String?
        let sha512: String?
    }

    static let rfc4231 = [
        Code(
            key: Array(repeating: 0x0b, count: 20), message: "Hi There",
            sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            sha384: "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c"
                + "faea9ea9076ede7f4af152e8b2fa9cb6",
            sha512: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
                + "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"),
        Code(
            key: Array("Jefe".utf8), message: "what do ya want for nothing?",
            sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            sha384: "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e"
                + "8e2240ca5e69e2c78b3239ecfab21649",
            sha512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"),
        Code(
            key: Array(repeating: 0xaa, count: 131),
            message: "Test Using Larger Than Block-Size Key - Hash Key First",
            sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", sha384: nil,
            sha512: nil),
    ]

    @Test(arguments: rfc4231)
    func codesAgreeWithRFC4231(code: Code) {
        let message = Array(code.message.utf8)
        #expect(Hexadecimal.encode(HMAC.sha256(key: code.key, message: message)) == code.sha256)
        if let expected = code.sha384 {
            #expect(Hexadecimal.encode(HMAC.sha384(key: code.key, message: message)) == expected)
        }
        if let expected = code.sha512 {
            #expect(Hexadecimal.encode(HMAC.sha512(key: code.key, message: message)) == expected)
        }
    }

    @Test func anEmptyKeyAndAnEmptyMessageHaveACode() {
        #expect(
            Hexadecimal.encode(HMAC.sha256(key: [], message: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }
}

struct RandomnessTests {
    @Test func bytesAreOfTheLengthAskedForAndDiffer() {
        #expect(randomBytes(0).isEmpty)
        #expect(randomBytes(33).count == 33)
        #expect(randomBytes(16) != randomBytes(16))
    }

    @Test func comparesContentAndLength() {
        #expect(constantTimeEquals([], []))
        #expect(constantTimeEquals([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2]))
    }
}
