import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import Testing

/// Values are those of `ValueConverter`, whose vectors are service 9.7.
@Suite(.namesSeed)
struct SlotConverterTests {
    private static let types: [PostgresType] = [
        .text, .name, .json, .boolean, .integer, .real, .bytes, .date, .time, .timestamp, .timestampWithZone,
        .logPosition, .array(.integer, delimiter: ","), .array(.text, delimiter: ","), .range(.integer),
        .composite([.init(name: "a", type: .text), .init(name: "b", type: .integer)]),
        .multirange(.date),
    ]

    private static let texts = [
        "", "t", "f", "true", "false", "T", "0", "-0", "+7", "42", "-42", "007", "1x", "-", "+", "12 ",
        "999999999999999999", "-999999999999999999", "1000000000000000000", "9223372036854775807",
        "-9223372036854775808", "9223372036854775808", "0.1", "-0.0", "NaN", "Infinity", "-Infinity",
        "1e-300", "\\x", "\\xdeadBEEF", "\\xdeadbee", "\\xzz", "\\Xde", "infinity", "-infinity", "2023-03-06",
        "2023-03-06 15:47:12", "2023-03-06 15:47:12.4", "2023-03-06 15:47:12.123456",
        "2023-03-06 15:47:12.1234567", "2023-03-06 15:47:12.", "2023-03-06  15:47:12", "2023-03-06T15:47:12",
        "2023-03-06 15:47:12+00", "2023-03-06 15:47:12.4+00", "2023-03-06 15:47:12.4+02",
        "2023-03-06 15:47:12+00:00", "2023-03-06 15:47:1+00", "10000-01-01 00:00:00",
        "10000-01-01 00:00:00+00", "0044-03-15 00:00:00 BC", "0044-03-15 00:00:00+00 BC", "0044-03-15 BC",
        "2023-03-0é 15:47:12", "2023-03-06 15:47:12.4x+00", "15:47:12", "15:47:12.5", "16/B374D848",
        "{1,NULL,3}", "{a,\"b c\"}", "{1", "[1,5)", "empty", "(a,5)", "(a)", "{[2023-03-06,2024-01-01)}",
        "{\"k\": [1, \"é\"]}", "e\u{301}", "a text that is longer than a small one",
    ]

    private static let signs: [Unicode.Scalar] = ["0", "9", "-", "+", ".", ":", " ", "x", "\\", "é", "T"]

    /// The value, or the message of the error.
    private func outcome(_ value: () throws(ConversionError) -> SQLiteValue) -> String {
        do throws(ConversionError) {
            let value = try value()
            // Texts are equal that mean the same, however they are spelled.
            return "\(value) \(Array((value.text ?? "").utf8))"
        } catch {
            return error.message
        }
    }

    /// Options of edition 3 with digits of a fraction; those of edition 1, where times stay as they are, for -1.
    private func options(_ digits: Int?) -> CompatibilityOptions {
        var options = CompatibilityOptions(edition: digits == -1 ? 1 : 3)
        options.fractionDigits = digits == -1 ? nil : digits
        return options
    }

    private func compare(_ text: String, _ type: PostgresType, _ options: CompatibilityOptions) {
        let before = Array("before".utf8)
        var arena = before + Array(text.utf8)
        let range = before.count..<arena.count
        // What stands behind it is another text.
        arena += Array("0".utf8)
        let end = arena.count
        let found = outcome { () throws(ConversionError) in
            try SlotConverter(options: options).slot(range, type, in: &arena).value(in: arena)
        }
        let expected = outcome { () throws(ConversionError) in
            try ValueConverter(options: options).value(text, type)
        }
        #expect(found == expected, "\(text) as \(type)")
        #expect(arena.prefix(end).elementsEqual(before + Array(text.utf8) + Array("0".utf8)))
    }

    @Test(arguments: [nil, -1, 0, 3, 6])
    func valuesAreThoseOfTheConverter(_ digits: Int?) {
        let options = options(digits)
        for type in Self.types {
            for text in Self.texts { compare(text, type, options) }
        }
    }

    @Test func spellingsThatAreAlmostRightAreConvertedAlike() async throws {
        try await forEachSeed(1000) { random in
            var text = Array(random.pick(Self.texts).unicodeScalars)
            for _ in 0..<1 + random.below(3) {
                let other = random.pick(Self.signs)
                let place = random.below(text.count + 1)
                if random.once(in: 2) || place == text.count {
                    text.insert(other, at: place)
                } else if random.once(in: 2) {
                    text[place] = other
                } else {
                    text.remove(at: place)
                }
            }
            var spelled = String.UnicodeScalarView()
            spelled.append(contentsOf: text)
            let options = options(random.pick([nil, -1, 0, 3, 6]))
            for type in Self.types { compare(String(spelled), type, options) }
        }
    }
}
