import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncWire
import Testing

struct ValueConversionTests {
    private func text(_ json: String, _ kind: ColumnKind, _ strings: JSONStrings = .parse) throws -> String? {
        try text(json, kind) { $0.jsonStrings = strings }
    }

    private func text(_ json: String, _ kind: ColumnKind, _ change: (inout ValueOptions) -> Void) throws
        -> String?
    {
        var options = ValueOptions()
        change(&options)
        return try ValueConversion.convert(JSON.parse(json), as: kind, options: options).text
    }

    private func code(_ json: String, _ kind: ColumnKind, _ strings: JSONStrings = .parse) -> String? {
        (thrown { try text(json, kind, strings) } as? ValueRefusal)?.code
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
        #expect(try ValueConversion.convert(.number("12345"), as: .numeric(scale: -2)).isAdjusted)
        #expect(try !ValueConversion.convert(.number("12300"), as: .numeric(scale: -2)).isAdjusted)
        #expect(try !ValueConversion.convert(.number("0"), as: .numeric(scale: -2)).isAdjusted)
    }

    @Test func textsTakeWhatTheyAreGiven() throws {
        #expect(try text("5", .text(limit: nil)) == "5")
        #expect(try text("true", .text(limit: nil)) == "true")
        #expect(try text(#"{"a": [1, 2]}"#, .text(limit: nil)) == #"{"a":[1,2]}"#)
        #expect(try text(#""abcde  ""#, .text(limit: 5)) == "abcde  ")
        #expect(throws: ValueRefusal.self) { try text(#""abcdef""#, .text(limit: 5)) }
    }

    @Test func namesAreNeverCut() throws {
        for (count, letter) in [(63, "x"), (21, "€")] {
            let longest = String(repeating: letter, count: count)
            #expect(try text(JSON.quoted(longest), .name) == longest)
            #expect(code(JSON.quoted(longest + "x"), .name) == "INVALID_DATA")
            #expect(code("[\(JSON.quoted(longest + "x"))]", .array(.name)) == "INVALID_DATA")
        }
    }

    @Test(arguments: [ColumnKind.text(limit: nil), .json, .array(.text(limit: nil)), .label])
    func aNULCharacterIsRefusedByName(kind: ColumnKind) {
        let refusal = thrown { try text(#""a\u0000b""#, kind) } as? ValueRefusal
        #expect(refusal?.code == "NUL_CHARACTER")
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1}"#), (#""{\"a\":1}""#, #"{"a":1}"#), (#""[1,2]""#, "[1,2]"), (#""12""#, "12"),
        (#""true""#, "true"), (#""\"nope\"""#, #""nope""#), (#""null""#, #""null""#), ("3", "3"),
    ])
    func textsThatHoldJSONAreUnwrapped(json: String, expected: String) throws {
        #expect(try text(json, .json) == expected)
    }

    /// Stored as JSON texts they would be silently wrong.
    @Test(arguments: [
        #""nope""#, #""""#, #""[1""#, #""{\"a\":1}x""#, #""01""#, #""[1,]""#, #""{'a':1}""#, #""NaN""#,
        #""\"\\ud800\"""#,
    ])
    func textsThatAreNoJSONAreRefused(json: String) throws {
        #expect(code(json, .json) == "INVALID_DATA")
        #expect(code(json, .json, .keep) == nil)
        #expect(code("[\(json)]", .array(.json)) == "INVALID_DATA")
    }

    @Test func textsOfJSONThatIsTooDeepOrHasTooLongNumbersAreRefused() {
        func nested(_ depth: Int) -> String {
            JSON.quoted(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        }
        #expect(code(nested(21), .json) == nil)
        for depth in [22, 100, 129, 5_000] {
            #expect(code(nested(depth), .json) == "INVALID_DATA", "\(depth)")
        }
        for length in [401, 1_024, 1_025, 100_000] {
            #expect(
                code(JSON.quoted("[" + String(repeating: "1", count: length) + "]"), .json) == "TOO_LARGE",
                "\(length)")
        }
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
        "{a", "{a}}", "{a,}", "{,a}", "{a{b}", #"{"a}"#, "{\"a\"b}", "[1:1]={a}", "{{{{{{{a}}}}}}}", "{}{}",
        #"{a\"#, "",
    ])
    func whatIsNoArrayIsRefused(value: String) {
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(value), .array(.text(limit: nil))) }
    }

    @Test func elementsOfALiteralAreConvertedLikeValues() throws {
        #expect(try text(#""{1, 2.0}""#, .array(.integer(bits: 32))) == #"{"1","2"}"#)
        #expect(throws: ValueRefusal.self) { try text(#""{x}""#, .array(.integer(bits: 32))) }
        #expect(try text(#""{\"{\\\"a\\\":1}\",3}""#, .array(.json), .keep) == #"{"{\"a\":1}","3"}"#)
        // A JSON text in it is one already; nobody could tell an inner array of two dimensions from one of JSON.
        #expect(try text(#""{\"\\\"12\\\"\"}""#, .array(.json)) == #"{"\"12\""}"#)
        #expect(throws: ValueRefusal.self) { try text(#""{{1},{2}}""#, .array(.json)) }
    }

    @Test(arguments: [
        ("{now}", ColumnKind.instant), ("{today,2025-01-01}", .instant), ("{{now},{now}}", .timestamp),
        ("{tomorrow}", .date), ("{infinity}", .instant), ("{-infinity}", .date), ("{\"now\"}", .timestamp),
        ("{NaN}", .numeric(scale: nil)), ("{Infinity}", .numeric(scale: 2)), ("{-Infinity}", .real),
        ("{NaN}", .real), ("{allballs}", .time), ("{x}", .uuid), ("{1.5}", .integer(bits: 64)),
        ("{maybe}", .boolean), ("{abcdef}", .text(limit: 5)), ("{zz}", .bytes), ("{'}", .json),
        ("{infinity}", .interval),
        ("{\"[now,)\"}", .range(of: .instant)), ("{\"[1e401,)\"}", .range(of: nil)),
    ])
    func whatAnElementMayNotBeALiteralCannotHold(literal: String, kind: ColumnKind) {
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(literal), .array(kind)) }
    }

    /// What Postgres stores in a few bytes and prints in many: nobody could read such a row any more, and the slot that
    /// has to send it would stop for ever.
    @Test(arguments: [
        ("[1e131071]", ColumnKind.json), (#"{"a":{"b":[1e-401]}}"#, .json), (#""[1e401]""#, .json),
        (#""{1e131071}""#, .array(.numeric(scale: nil))), (#""{{1},{1e401}}""#, .array(.numeric(scale: nil))),
        (#"["[1e401]"]"#, .array(.json)), (#""{\"[1e401]\"}""#, .array(.json)),
        (#""[1e401,)""#, .range(of: .numeric(scale: nil))),
        (#""{[1,2),[3,1E+401]}""#, .range(of: .numeric(scale: nil))),
        (#""[1e401,)""#, .range(of: nil)), (#""{[1,2),[3,1E+401]}""#, .range(of: nil)),
        ("1e401", .numeric(scale: nil)), (#""-1e-401""#, .numeric(scale: 2)),
    ])
    func numbersThatPostgresPrintsAtLengthAreRefused(json: String, kind: ColumnKind) throws {
        #expect(code(json, kind) == "TOO_LARGE")
    }

    @Test func exponentsAndDigitsHaveTheirLimitInclusive() throws {
        #expect(try text("1e400", .numeric(scale: nil)) == "1e400")
        #expect(try text("[1e400]", .json) == "[1e400]")
        #expect(code(String(repeating: "1", count: 400), .numeric(scale: nil)) == nil)
        #expect(code(String(repeating: "1", count: 401), .numeric(scale: nil)) == "TOO_LARGE")
        #expect(code("[1e-401]", .json) == "TOO_LARGE")
    }

    @Test func whatPostgresPrintsIsBounded() throws {
        // 400 digits each.
        func numbers(_ count: Int) -> JSON { .array(Array(repeating: .number("1e399"), count: count)) }
        func code(_ value: JSON, _ kind: ColumnKind) -> String? {
            (thrown { try ValueConversion.convert(value, as: kind) } as? ValueRefusal)?.code
        }
        #expect(code(numbers(25_000), .json) == nil)
        #expect(code(numbers(27_000), .json) == "TOO_LARGE")
        #expect(code(numbers(27_000), .array(.numeric(scale: nil))) == "TOO_LARGE")
        #expect(code(.string(numbers(27_000).text), .json) == "TOO_LARGE")
        #expect(try ValueConversion.convert(numbers(2), as: .json).printedLength >= 800)
        // As literals, as they are sent and as texts; what the column's own scale and length add.
        func repeated(_ element: String, _ count: Int) -> String {
            Array(repeating: element, count: count).joined(separator: ",")
        }
        let literal = JSON.string("{" + repeated("1e399", 27_000) + "}")
        #expect(code(literal, .array(.numeric(scale: nil))) == "TOO_LARGE")
        let zeros = JSON.string("{" + repeated("0", 12_000) + "}")
        #expect(code(zeros, .array(.numeric(scale: 900))) == "TOO_LARGE")
        #expect(code(zeros, .array(.numeric(scale: 9))) == nil)
        #expect(code(zeros, .array(.paddedText(length: 1_000))) == "TOO_LARGE")
        let days = JSON.string("{" + repeated("2025-01-02", 300_000) + "}")
        #expect(code(days, .array(.instant)) == "TOO_LARGE")
        #expect(code(days, .array(.text(limit: nil))) == nil)
        let spread = (0..<14_000).map { "[1.\($0)e399,2e399)" }.joined(separator: ",")
        #expect(code(.string("{\(spread)}"), .range(of: .numeric(scale: nil))) == "TOO_LARGE")
        #expect(code(.string("{\(spread)}"), .range(of: nil)) == "TOO_LARGE")
        #expect(code(.string("x" + String(repeating: "f", count: 3 << 20)), .bits) == "TOO_LARGE")
        let bytes = Base64.encode([UInt8](repeating: 7, count: 6 << 20))
        #expect(code(.string(bytes), .bytes) == "TOO_LARGE")
        // Zeros behind the point count, whatever stands in front of them.
        let long = "1." + String(repeating: "0", count: 390) + "e-400"
        #expect(try ValueConversion.convert(.number(long), as: .numeric(scale: nil)).printedLength >= 792)
    }

    @Test(arguments: [
        (#""[1,2)""#, ColumnKind.integer(bits: 32), #"["1","2")"#),
        (#""(1.5,]""#, .numeric(scale: nil), #"("1.5",]"#),
        (#""[2025-12-03,2025-12-04)""#, .date, #"["2025-12-03","2025-12-04")"#),
        (#""[\"2025-12-03 10:00:00+00\",)""#, .instant, #"["2025-12-03 10:00:00+00",)"#),
        (#""[2025-12-03T10:00:00+02:00,)""#, .timestamp, #"["2025-12-03 08:00:00",)"#),
        (#"" empty ""#, .date, "empty"), (#""Empty""#, .date, "Empty"),
        (#""{[1,2), [3,4]}""#, .integer(bits: 64), #"{["1","2"),["3","4"]}"#), (#""{}""#, .date, "{}"),
    ])
    func rangesAreConvertedBoundByBound(json: String, kind: ColumnKind, expected: String) throws {
        #expect(try text(json, .range(of: kind)) == expected)
    }

    @Test(arguments: [
        "[1,2", "[1;2)", "1,2", "[1,2)x", "{[1,2)", "{[1,2),}", #"[\"1,2)"#, "[1,2,3)", "", "[now,)",
        "[,today]",
        #"["now",)"#, "[infinity,)", "7",
    ])
    func whatIsNoRangeIsRefused(value: String) {
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(value), .range(of: .instant)) }
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(value), .range(of: .integer(bits: 32))) }
        #expect(throws: ValueRefusal.self) {
            try text("[\(JSON.quoted(value))]", .array(.range(of: .timestamp)))
        }
    }

    @Test func rangesOfATeamsOwnTypesKeepTheirBounds() throws {
        #expect(try text(#""[ab\\,c,\"d \"\"e\"]""#, .range(of: nil)) == #"["ab,c","d \"e"]"#)
        #expect(throws: ValueRefusal.self) { try text(#""[now,)""#, .range(of: nil)) }
    }

    @Test func elementsAreConvertedLikeValues() throws {
        #expect(try text("[1, 2.0]", .array(.integer(bits: 32))) == #"{"1","2"}"#)
        #expect(throws: ValueRefusal.self) { try text(#"["x"]"#, .array(.integer(bits: 32))) }
        #expect(throws: ValueRefusal.self) { try text(#""text""#, .array(.integer(bits: 32))) }
    }

    @Test func bytesComeInBase64OrHexadecimal() throws {
        #expect(try text(#""aGk=""#, .bytes) == #"\x6869"#)
        #expect(try text(#""aGk/""#, .bytes) == #"\x68693f"#)
        #expect(try text(#""\\x6869""#, .bytes) == #"\x6869"#)
        #expect(try text(#""""#, .bytes) == #"\x"#)
        #expect(try text(#"["aGk=","\\x00"]"#, .array(.bytes)) == #"{"\\x6869","\\x00"}"#)
    }

    /// Whatever is not exactly base64 would become other bytes than were meant, and be applied.
    @Test(arguments: [
        "hello world", "aGk", "aGk==", "aGk= ", " aGk=", "aG\nk=", "aGl=", "aGk_", "aGk-", "not base64!", "=",
        "====",
        "aGk=aGk=", "ÿÿÿÿ", #"\x686"#, #"\x6g"#, #"\X6869"#, #"\x68 69"#,
    ])
    func otherTextsAreNoBytes(value: String) {
        #expect(code(JSON.quoted(value), .bytes) == "INVALID_DATA")
        #expect(code(JSON.quoted(value), .array(.bytes)) == "INVALID_DATA")
    }

    @Test func bytesAreHexadecimalWhereTheMapSaysSo() throws {
        func hex(_ json: String) throws -> String? { try text(json, .bytes) { $0.encoding = .hex } }
        #expect(try hex(#""6869""#) == #"\x6869"#)
        #expect(try hex(#""DEADbeef""#) == #"\xDEADbeef"#)
        #expect(try hex(#""\\x6869""#) == #"\x6869"#)
        for json in [#""aGk=""#, #""686""#, #""68 69""#, #""６８""#, "6869"] {
            #expect(throws: ValueRefusal.self, "\(json)") { try hex(json) }
        }
    }

    @Test(arguments: [
        "2025-12-03T10:20:04.658Z", "2025-12-03 10:20:04Z", "2025-12-03 10:20:04+02:00", "2025-12-03",
        "2025-12-03T10:20", "2025-12-03 10:20:04.123456789-0530", "0044-03-15 BC",
        "0044-03-15 10:00:00+00 BC",
        "10000-01-01T00:00:00Z",
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
        #expect(value.text == "2025-12-03")
        #expect(value.isAdjusted)
        #expect(try !ValueConversion.convert(.string("2025-12-03T00:00:00Z"), as: .date).isAdjusted)
    }

    @Test(arguments: [
        "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5bd9cb469fa16570867728950e",
        "{0f8fad5b-d9cb-469f-a165-70867728950e}",
    ])
    func everySpellingOfAUUIDIsOne(value: String) throws {
        #expect(try text(JSON.quoted(value), .uuid) == "0f8fad5b-d9cb-469f-a165-70867728950e")
    }

    @Test(arguments: [
        "abc", "0f8fad5b-d9cb469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950g",
        "０f8fad5bd9cb469fa16570867728950e", String(repeating: "ａ", count: 32),
    ])
    func otherTextsAreNoUUIDs(value: String) {
        #expect(throws: ValueRefusal.self) { try text(JSON.quoted(value), .uuid) }
    }

    @Test func aRefusalNeverHoldsTheValue() throws {
        let refusal = try #require(thrown { try text(#""canary-value""#, .integer(bits: 32)) })
        #expect(!"\(refusal)".contains("canary"))
    }
}
