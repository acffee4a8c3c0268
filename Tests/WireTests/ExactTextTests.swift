import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.namesSeed)
struct ExactTextTests {
    @Test(arguments: [("\u{e9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}")])
    func textsThatAreOnlySpelledAlikeAreTwo(_ first: String, _ second: String) {
        #expect(first == second, "to Swift they are one")
        #expect(ExactText(first) != ExactText(second))
        #expect(Set([first, second].map { ExactText($0) }).count == 2)
        #expect(Set([first, first + ""].map { ExactText($0) }).count == 1)
        // Of one length, which says nothing then.
        #expect(ExactText(first + second) != ExactText(second + first))
    }

    /// Bytes are compared eight at a time; texts of up to fifteen lie elsewhere than longer ones.
    @Test func onlyTheSameBytesAreEqualWhateverTheirLength() async throws {
        try await forEachSeed(300) { random in
            let letters = ["a", "b", "é", "\u{301}", "\0", "😀"]
            let texts = (0..<2).map { _ in (0..<random.below(24)).map { _ in random.pick(letters) }.joined() }
            var bytes = Array(texts[0].utf8)
            let same = String(decoding: bytes, as: UTF8.self)
            #expect(ExactText(same) == ExactText(texts[0]))
            #expect(Set([same, texts[0]].map { ExactText($0) }).count == 1)
            for (left, right) in [(texts[0], texts[1]), (texts[1], texts[0])] {
                let (one, other) = (Array(left.utf8), Array(right.utf8))
                #expect((ExactText(left) == ExactText(right)) == (one == other))
                #expect((ExactText(left) < ExactText(right)) == one.lexicographicallyPrecedes(other))
            }
            guard
                let place = bytes.indices.filter({ bytes[$0] == UInt8(ascii: "a") }).randomElement(
                    using: &random)
            else { return }
            bytes[place] = UInt8(ascii: "c")
            let changed = String(decoding: bytes, as: UTF8.self)
            #expect(ExactText(changed) != ExactText(texts[0]), "one byte is another")
            #expect(ExactText(texts[0]) < ExactText(changed))
        }
    }
}
