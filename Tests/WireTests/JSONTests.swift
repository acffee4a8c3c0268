import PowerSyncWire
import Testing

@Suite struct JSONTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1.10", "1e400", "0.1234567890123456789012345",
        "9223372036854775808",
        "\"\"", "\"a\\\"b\\\\c\\n\\t\"", "[]", "{}", "[1,[2,{\"b\":null,\"a\":[]}]]",
        "{\"b\":1,\"a\":2,\"b\":3}",
        "\"\u{2028}é😀\"",
    ])
    func keepsEveryDigitAndTheOrderOfMembers(text: String) throws {
        #expect(try JSON.parse(text).text == text)
    }

    @Test(arguments: [
        ("\"\\u00e9\\ud83d\\ude00\\/\\b\\f\"", "é😀/\u{8}\u{C}"), ("\"\\u0000\"", "\0"),
    ])
    func unescapesTexts(text: String, value: String) throws {
        #expect(try JSON.parse(text) == .string(value))
    }

    @Test func whatIsOnlySpelledAlikeIsTwoNamesAndTwoValues() throws {
        let (one, two) = ("\u{e9}", "e\u{301}")
        let text = "{\(JSON.quoted(one)):1,\(JSON.quoted(two)):2}"
        let json = try JSON.parse(text, limits: JSONLimits(refusesDuplicateNames: true))
        #expect(json[one] == JSON.integer(1) && json[two] == JSON.integer(2))
        #expect(JSON.string(one) != .string(two))
        #expect(JSON.object([JSONMember(one, .null)]) != .object([JSONMember(two, .null)]))
        let values = [one, two].flatMap { [JSON.string($0), .array([.string($0)])] }
        #expect(Set(values).count == 4)
        #expect(Set([json, try JSON.parse(text)]).count == 1)
    }

    @Test func writesControlCharactersAsTheServiceDoes() {
        #expect(
            JSON.quoted("\u{1}\n\t\r\u{8}\u{c}\u{1f}\u{7f}\"\\/")
                == "\"\\u0001\\n\\t\\r\\b\\f\\u001f\u{7f}\\\"\\\\/\"")
    }

    @Test(arguments: [
        "", " ", "nul", "truee", "01", "1.", ".5", "+1", "1e", "-", "NaN", "Infinity", "'a'", "\"a",
        "\"\\x\"",
        "\"\\u12g4\"", "\"\\u+123\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"a\nb\"", "[1,]",
        "[1 2]",
        "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "[", "{", "1 2", "[1]]", "\u{FEFF}1",
    ])
    func refusesWhatIsNotJSON(text: String) {
        #expect(throws: WireError.self) { try JSON.parse(text) }
    }

    @Test func refusesBytesThatAreNotUTF8() {
        for bytes: [UInt8] in [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82],
        ] {
            #expect(throws: WireError.self) { try JSON.parse([0x22] + bytes + [0x22]) }
            #expect(throws: WireError.self) { try JSON.parse([0x22, 0x5C, 0x6E] + bytes + [0x22]) }
        }
    }

    @Test func refusesDeepNestingAndLongNumbersAtTheLimit() throws {
        let deep = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        _ = try JSON.parse(deep)
        #expect(throws: WireError.self) { try JSON.parse("[" + deep + "]") }
        let million = String(repeating: "[", count: 1_000_000)
        #expect(throws: WireError.self) { try JSON.parse(million) }
        let limits = JSONLimits(numberBytes: 4)
        #expect(try JSON.parse("1234", limits: limits) == .number("1234"))
        #expect(throws: WireError.self) { try JSON.parse("12345", limits: limits) }
    }

    /// A tree takes many times the memory of the text: `[0,0,0,…]` thirty times as much.
    @Test func refusesMoreValuesThanTheLimit() throws {
        let limits = JSONLimits(values: 5)
        for text in ["[1,null,true,\"\"]", "{\"a\":{\"b\":1,\"c\":[2]}}", "[[[[[]]]]]"] {
            #expect(try JSON.parse(text, limits: limits).text == text)
            let error = #expect(throws: WireError.self) { try JSON.parse("[\(text)]", limits: limits) }
            #expect(error?.code == .tooLarge)
        }
        let document: [UInt8] = [12, 0, 0, 0, 0x10, 0x61, 0, 1, 0, 0, 0, 0]
        #expect(try JSON.parse(bson: document, limits: JSONLimits(values: 2)).text == "{\"a\":1}")
        #expect(throws: WireError.self) { try JSON.parse(bson: document, limits: JSONLimits(values: 1)) }
    }

    @Test func refusesANameTwiceOnlyWhenAsked() throws {
        #expect(try JSON.parse("{\"a\":1,\"a\":2}")["a"] == .number("2"))
        #expect(throws: WireError.self) {
            try JSON.parse("{\"a\":1,\"a\":2}", limits: JSONLimits(refusesDuplicateNames: true))
        }
    }

    @Test(arguments: [
        ("1", 1), ("-7", -7), ("12.0", 12), ("1e3", 1000), ("9223372036854775807", Int64.max),
        ("9007199254740993", 9007199254740993),
        // None of these is a double.
        ("9007199254740993.0", 9007199254740993), ("9007199254740993e0", 9007199254740993),
        ("-9.007199254740993E+15", -9007199254740993), ("90071992547409930e-1", 9007199254740993),
        ("9223372036854775807.000", Int64.max), ("-9223372036854775808.0", Int64.min), ("-0.0", 0),
        ("0e99999999999999999999", 0), ("0.00", 0),
    ])
    func readsWholeNumbers(text: String, value: Int64) throws {
        #expect(try JSON.parse(text).int64Value == value)
    }

    @Test(arguments: [
        "1.5", "1e400", "9223372036854775808", "\"1\"", "true", "9007199254740993.5", "9223372036854775808.0",
        "1e-1", "1e19", "1e99999999999999999999", "1e-99999999999999999999",
    ])
    func takesNothingElseForAWholeNumber(text: String) throws {
        #expect(try JSON.parse(text).int64Value == nil)
    }
}
