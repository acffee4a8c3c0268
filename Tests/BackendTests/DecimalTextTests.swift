import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What is read the short way is read as it is the long way.
@Suite(.namesSeed)
struct DecimalTextTests {
    private static func text(_ random: inout SeededRandom) -> String {
        let pieces = ["0", "0", "1", "7", "10", "999999999", "-", "+", ".", "e", "E5", " ", "x", "é"]
        var text = random.once(in: 30) ? String(repeating: random.pick(["0", "9"]), count: 395) : ""
        for _ in 0..<random.below(8) { text += random.pick(pieces) }
        return text
    }

    @Test func plainNumbersAreThoseOfTheLongWay() async throws {
        try await forEachSeed(3_000) { random in
            let text = Self.text(&random)
            #expect(DecimalText.integer(of: text) == DecimalText(text)?.integer, "\(text)")
            #expect(DecimalText.isNumber(text) == (DecimalText(text) != nil), "\(text)")
            if DecimalText.isShort(text) {
                #expect(DecimalText(text) != nil && Double(text)?.isFinite == true, "\(text)")
            }
        }
    }

    @Test(arguments: ["0", "-0", "7", "1.5", "-007.500", String(repeating: "9", count: 100)])
    func numbersOfFewDigitsNeedNoDouble(text: String) {
        #expect(DecimalText.isShort(text))
    }

    @Test(arguments: [
        "", "-", ".", "-.", ".5", "5.", "-.5", "1.2.3", "1e3", "+1", " 1", "1 ", "--1", "NaN", "\u{661}",
        String(repeating: "9", count: 101),
    ])
    func allOthersAreReadTheLongWay(text: String) {
        #expect(!DecimalText.isShort(text))
    }

    @Test(arguments: [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("+7", 7), ("-0", 0),
        ("1e3", 1_000), ("12.0", 12), ("00000000000000000000000000012", 12),
    ])
    func wholeNumbersAreRead(text: String, number: Int64) {
        #expect(DecimalText.integer(of: text) == number)
    }

    @Test(arguments: [
        "9223372036854775808", "1.5", "", "-", "0x10", "1_000", String(repeating: "0", count: 401),
    ])
    func othersAreNone(text: String) {
        #expect(DecimalText.integer(of: text) == nil)
    }

    @Test func aUUIDIsSpelledAsPostgresPrintsIt() {
        let printed = "0f8fad5b-d9cb-469f-a165-70867728950e"
        func converted(_ text: String) -> String? {
            // Nil for what is no UUID.
            try? ValueConversion.convert(.string(text), as: .uuid).text
        }
        #expect(converted(printed) == printed)
        #expect(converted(printed.uppercased()) == printed)
        #expect(converted("{\(printed)}") == printed)
        #expect(converted(printed.replacing("-", with: "")) == printed)
        // As long as one, with its dashes elsewhere, or with a digit that is none.
        for wrong in [
            "0f8fad5bd-9cb-469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950g",
            "0f8fad5b-d9cb-469f-a165_70867728950e", "0f8fad5b-d9cb-469f-a165-7086772895\u{e9}",
        ] {
            #expect(converted(wrong) == nil, "\(wrong)")
        }
    }
}
