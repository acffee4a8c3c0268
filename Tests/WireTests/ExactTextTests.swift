import PowerSyncWire
import Testing

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
}
