import PowerSyncBackend
import PowerSyncWire
import Testing

struct ValueConversionTests {
    private func text(_ json: String, _ kind: ColumnKind, _ strings: JSONStrings = .parse) throws -> String? {
        try ValueConversion.convert(JSON.parse(json), as: kind, jsonStrings: strings).text
    }

    @Test(arguments: [
        ("0", "false"), ("1", "true"), ("1.0", "true"), ("true", "true"), (#""1""#, "true"),
        (#""t""#, "true"),
        (#""yes""#, "true"), (#""OFF""#, "false"),
    ])
    func booleansComeAsClientsSpellThem(json: String, expected: String) throws {
        #expect(try text(json, .boolean) == expected)
    }

    @Test(arguments: ["2", #""""#, #""maybe""#, "[]", "0.5"])
    func otherBooleansAreRefused(json: String) {
        #expect(throws: ValueRefusal.self) { try text(json, .boolean) }
    }

    @Test(arguments: [
        ("12", "12"), (#"" 7 ""#, "7"), ("12.0", "12"), ("1e3", "1000"),
        ("9007199254740993", "9007199254740993"),
        (#""9007199254740993""#, "9007199254740993"), ("-9223372036854775808", "-9223372036854775808"),
        ("-0", "0"),
    ])
    func wholeNumbersKeepEveryDigit(json: String, expected: String) throws {
        #expect(try text(json, .integer(bits: 64)) == expected)
    }

    @Test(arguments: [
        "1.5", #""""#, "true", "9223372036854775808", "1e400", "1e999999999", "1e-9223372036854775808",
        "1e9223372036854775807",
    ])
    func whatIsNoWholeNumberIsRefused(json: String) {
        #expect(throws: ValueRefusal.self) { try text(json, .integer(bits: 64)) }
    }

    @Test func wholeNumbersMustFitTheirColumn() throws {
        #expect(try text("32767", .integer(bits: 16)) == "32767")
        #expect(try text("-32768", .integer(bits: 16)) == "-32768")
        #expect(throws: ValueRefusal.self) { try text("32768", .integer(bits: 16)) }
        #expect(throws: ValueRefusal.self) { try text("2147483648", .integer(bits: 32)) }
    }

    @Test func decimalsPassDigitForDigit() throws {
        let lexeme = "0.1234567890123456789012345"
        #expect(try text(lexeme, .numeric(scale: nil)) == lexeme)
        #expect(try text(#""1.10""#, .numeric(scale: nil)) == "1.10")
        #expect(throws: ValueRefusal.self) { try text(#""NaN""#, .numeric(scale: nil)) }
        #expect(throws: ValueRefusal.self) { try text(#""Infinity""#, .real) }
        #expect(throws: ValueRefusal.self) { try text("1e400", .real) }
    }

    @Test func decimalsBeyondTheScaleCountAsAdjusted() throws {
        #expect(try ValueConversion.convert(.number("1.005"), as: .numeric(scale: 2)).isAdjusted)
        #expect(try !ValueConversion.convert(.number("1.500"), as: .numeric(scale: 2)).isAdjusted)
    }

    @Test func textsTakeWhatTheyAreGiven() throws {
        #expect(try text("5", .text(limit: nil)) == "5")
        #expect(try text("true", .text(limit: nil)) == "true")
        #expect(try text(#"{"a": [1, 2]}"#, .text(limit: nil)) == #"{"a":[1,2]}"#)
        #expect(try text(#""abcde  ""#, .text(limit: 5)) == "abcde  ")
        #expect(throws: ValueRefusal.self) { try text(#""abcdef""#, .text(limit: 5)) }
    }

    @Test(arguments: [ColumnKind.text(limit: nil), .json, .array(.text(limit: nil)), .label])
    func aNULCharacterIsRefusedByName(kind: ColumnKind) {
        let refusal = thrown { try text(#""a\u0000b""#, kind) } as? ValueRefusal
        #expect(refusal?.code == "NUL_CHARACTER")
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1}"#), (#""{\"a\":1}""#, #"{"a":1}"#), (#""[1,2]""#, "[1,2]"), (#""12""#, "12"),
        (#""nope""#, #""nope""#), (#""null""#, #""null""#), ("3", "3"),
    ])
    func textsThatHoldJSONAreUnwrapped(json: String, expected: String) throws {
        #expect(try text(json, .json) == expected)
    }

    @Test func textsInJSONColumnsAreKeptOnDemand() throws {
        #expect(try text(#""12""#, .json, .keep) == #""12""#)
        #expect(try text(#""[12]""#, .json, .keep) == #""[12]""#)
        #expect(try text("null", .json) == nil)
    }

    @Test func deepJSONIsRefused() {
        let deep = String(repeating: "[", count: 22) + String(repeating: "]", count: 22)
        #expect(throws: ValueRefusal.self) { try text(deep, .json) }
    }

    @Test(arguments: [
        (#"["a","b,c"]"#, #"{"a","b,c"}"#), (#""[\"a\",\"b,c\"]""#, #"{"a","b,c"}"#),
        (#""{a,b}""#, #"{"a","b"}"#),
        (#""{ a b , NULL,\"null\",\"\\\"\\\\\",x\\,y}""#, #"{"a b",NULL,"null","\"\\","x,y"}"#),
        (#""{}""#, "{}"),
        (#""{{a},{b}}""#, #"{{"a"},{"b"}}"#),
        (#"[null,"\"\\"]"#, #"{NULL,"\"\\"}"#), (#"[["a"],["b"]]"#, #"{{"a"},{"b"}}"#),
    ])
    func arraysComeInThreeForms(json: String, expected: String) throws {
        #expect(try text(json, .array(.text(limit: nil))) == expected)
    }

    @Test(arguments: [
        "{a", "{a}}", "{a,}", "{,a}", "{a{b}", #"{"a}"#, "{\"a\"b}", "[1:1]={a}", "{{{{{{{a}}}}}}}",
    ])
    func whatIsNoArrayIsRefused(value: String) {
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(value), .array(.text(limit: nil))) }
    }

    @Test func elementsOfALiteralAreConvertedLikeValues() throws {
        #expect(try text(#""{1, 2.0}""#, .array(.integer(bits: 32))) == #"{"1","2"}"#)
        #expect(throws: ValueRefusal.self) { try text(#""{x}""#, .array(.integer(bits: 32))) }
        #expect(try text(#""{\"{\\\"a\\\":1}\",3}""#, .array(.json), .keep) == #"{"{\"a\":1}","3"}"#)
    }

    /// What Postgres stores in a few bytes and prints in many: nobody could read such a row any more, and the slot that
    /// has to send it would stop for ever.
    @Test(arguments: [
        ("[1e131071]", ColumnKind.json), (#"{"a":{"b":[1e-401]}}"#, .json), (#""[1e401]""#, .json),
        (#""{1e131071}""#, .array(.numeric(scale: nil))), (#""{{1},{1e401}}""#, .array(.numeric(scale: nil))),
        (#"["[1e401]"]"#, .array(.json)), (#""{\"[1e401]\"}""#, .array(.json)), (#""[1e401,)""#, .range),
        (#""{[1,2),[3,1E+401]}""#, .range),
    ])
    func numbersThatPostgresPrintsAtLengthAreRefused(json: String, kind: ColumnKind) throws {
        #expect(throws: ValueRefusal.self) { try text(json, kind) }
    }

    @Test func whatPostgresPrintsIsBounded() throws {
        // 400 digits each.
        func numbers(_ count: Int) -> JSON { .array(Array(repeating: .number("1e399"), count: count)) }
        func code(_ value: JSON, _ kind: ColumnKind) -> String? {
            (thrown { try ValueConversion.convert(value, as: kind) } as? ValueRefusal)?.code
        }
        #expect(code(numbers(10_000), .json) == nil)
        #expect(code(numbers(27_000), .json) == "TOO_LARGE")
        #expect(code(numbers(27_000), .array(.numeric(scale: nil))) == "TOO_LARGE")
        #expect(code(.string(numbers(27_000).text), .json) == "TOO_LARGE")
        #expect(try ValueConversion.convert(numbers(2), as: .json).printedLength >= 800)
    }

    @Test(arguments: [
        #""[1,2)""#, #""[2025-12-03,2025-12-04)""#, #""[\"2025-12-03 10:00:00+00\",)""#, #""empty""#,
    ])
    func rangesPass(json: String) throws {
        #expect(try text(json, .range) != nil)
    }

    @Test func elementsAreConvertedLikeValues() throws {
        #expect(try text("[1, 2.0]", .array(.integer(bits: 32))) == #"{"1","2"}"#)
        #expect(throws: ValueRefusal.self) { try text(#"["x"]"#, .array(.integer(bits: 32))) }
        #expect(throws: ValueRefusal.self) { try text(#""text""#, .array(.integer(bits: 32))) }
    }

    @Test func bytesComeInBase64OrHexadecimal() throws {
        #expect(try text(#""aGk=""#, .bytes) == #"\x6869"#)
        #expect(try text(#""\\x6869""#, .bytes) == #"\x6869"#)
        #expect(throws: ValueRefusal.self) { try text(#""\\x686""#, .bytes) }
        #expect(throws: ValueRefusal.self) { try text(#""not base64!""#, .bytes) }
    }

    @Test(arguments: [
        "2025-12-03T10:20:04.658Z", "2025-12-03 10:20:04Z", "2025-12-03 10:20:04+02:00", "2025-12-03",
        "2025-12-03T10:20", "2025-12-03 10:20:04.123456789-0530",
    ])
    func instantsAreISO8601(value: String) throws {
        #expect(try text(JSON.quoted(value), .instant) == value)
    }

    @Test(arguments: [
        #""now""#, #""tomorrow""#, #""infinity""#, #""""#, "1700000000", #""2025-1-3""#, #""2025-12-03x""#,
    ])
    func wordsAndNumbersAreNoInstants(json: String) {
        #expect(throws: ValueRefusal.self) { try text(json, .instant) }
    }

    @Test func aDateDropsItsTimeAndSaysSo() throws {
        let value = try ValueConversion.convert(.string("2025-12-03T10:00:00Z"), as: .date)
        #expect(value == ConvertedValue("2025-12-03", isAdjusted: true))
        #expect(try !ValueConversion.convert(.string("2025-12-03T00:00:00Z"), as: .date).isAdjusted)
    }

    @Test(arguments: [
        "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5bd9cb469fa16570867728950e",
        "{0f8fad5b-d9cb-469f-a165-70867728950e}",
    ])
    func everySpellingOfAUUIDIsOne(value: String) throws {
        #expect(try text(JSON.quoted(value), .uuid) == "0f8fad5b-d9cb-469f-a165-70867728950e")
    }

    @Test(arguments: ["abc", "0f8fad5b-d9cb469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950g"])
    func otherTextsAreNoUUIDs(value: String) {
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(value), .uuid) }
    }

    @Test func aRefusalNeverHoldsTheValue() throws {
        let refusal = try #require(thrown { try text(#""canary-value""#, .integer(bits: 32)) })
        #expect(!"\(refusal)".contains("canary"))
    }
}
