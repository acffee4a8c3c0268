import PowerSyncCrypto
import PowerSyncTestSupport
import Testing

struct KeptDigestTests {
    @Test func agreesWithTheVectorsOfFIPS180() {
        var sha1 = KeptDigest(.sha1)
        sha1.update(Array("abc".utf8))
        let first = sha1.finish { Hexadecimal.encode(Array($0)) }
        #expect(first == "a9993e364706816aba3e25717850c26c9cd0d89d")
        var sha256 = KeptDigest(.sha256)
        sha256.update(Array("abc".utf8))
        let second = sha256.finish { Hexadecimal.encode(Array($0)) }
        #expect(second == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func aMessageOfNothingHasADigest() {
        var sha1 = KeptDigest(.sha1)
        var sha256 = KeptDigest(.sha256)
        for _ in 0..<2 {
            let first = sha1.finish { Array($0) }
            #expect(first == Digest.sha1([]))
            let second = sha256.finish { Array($0) }
            #expect(second == Digest.sha256([]))
        }
    }

    /// Messages in parts, of two digests at a time, of which nothing passes from one to the next.
    @Test(.namesSeed) func manyMessagesHaveTheirDigestsEach() async throws {
        try await forEachSeed(20) { random in
            var sha1 = KeptDigest(.sha1)
            var sha256 = KeptDigest(.sha256)
            for _ in 0..<200 {
                let message = (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
                var start = 0
                while start < message.count {
                    let end = start + 1 + random.below(message.count - start)
                    sha1.update(Array(message[start..<end]))
                    sha256.update(Array(message[start..<end]))
                    start = end
                }
                let first = sha1.finish { Array($0) }
                let second = sha256.finish { Array($0) }
                try #require(first == Digest.sha1(message))
                try #require(second == Digest.sha256(message))
            }
        }
    }

    @Test func aUseThatFailsLeavesTheNextMessageAlone() {
        struct Enough: Error {}
        var sha256 = KeptDigest(.sha256)
        sha256.update([1, 2, 3])
        do {
            try sha256.finish { _ in throw Enough() }
            Issue.record("the error of the use is lost")
        } catch {
            #expect(error is Enough)
        }
        sha256.update([4])
        let next = sha256.finish { Array($0) }
        #expect(next == Digest.sha256([4]))
    }

    @Test func theNumberIsThatOfTheFirstEightBytes() {
        var digest = KeptDigest(.sha256)
        for length in [0, 1, 55, 56, 63, 64, 65, 1_000] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            digest.update(bytes)
            let number = digest.finishedNumber()
            let expected = Digest.sha256(bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            #expect(number == expected)
        }
    }
}
