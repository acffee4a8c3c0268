import PowerSyncTerminal
import Testing

struct KeySequenceTests {
    private static func isOpen(behind text: String) -> Bool {
        var keys = KeySequence()
        for scalar in text.unicodeScalars { keys.take(Int32(bitPattern: scalar.value)) }
        return keys.isOpen
    }

    @Test(arguments: [
        "\u{1B}", "\u{1B}\u{1B}", "\u{1B}[", "\u{1B}[1;5", "\u{1B}O", "\u{18}", "x\u{1B}", "\u{1B}[A\u{1B}",
        "\u{12}", "\u{12}SELECT é漢 1", "\u{12}S\u{8}\u{7F}", "\u{12}S\u{12}\u{12}\u{17}",
    ])
    func whatHasBegunAndNotEndedIsOpen(typed: String) { #expect(Self.isOpen(behind: typed)) }

    @Test(arguments: [
        "", "SELECT 1;", "é漢", "\u{1}\u{1E}\u{7F}", "\u{1B}b", "\u{1B}[A", "\u{1B}[1;5C", "\u{1B}[3~",
        "\u{1B}OA", "\u{18}\u{18}", "\u{1B}\u{1B}[A", "\u{12}SELECT\r", "\u{12}SELECT\u{1B}",
        "\u{12}SELECT\u{7}", "\u{12}SELECT\u{1}",
    ])
    func whatHasEndedIsNot(typed: String) { #expect(!Self.isOpen(behind: typed)) }

    /// As in a search of vi, which no character at its beginning tells.
    @Test(arguments: ["\r", "\n", "\u{1B}"])
    func whereNewsAreTakenForATextItIsOpenUntilThatEnds(end: String) {
        var keys = KeySequence()
        keys.newsWereTaken()
        for scalar in "SELECT\u{12}\u{18}é".unicodeScalars {
            keys.take(Int32(bitPattern: scalar.value))
            #expect(keys.isOpen)
        }
        for scalar in end.unicodeScalars { keys.take(Int32(bitPattern: scalar.value)) }
        #expect(!keys.isOpen)
    }
}
