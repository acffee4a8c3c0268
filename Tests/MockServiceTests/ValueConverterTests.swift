import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import Testing

/// Service 9.7, the column of edition 2 and later; texts as Postgres writes them.
struct ValueConverterTests {
    private static let mood = PostgresType.text
    private static let address = PostgresType.composite([
        .init(name: "street", type: .text), .init(name: "no", type: .integer),
        .init(name: "at", type: .timestampWithZone),
    ])
    private static func list(_ type: PostgresType) -> PostgresType { .array(type, delimiter: ",") }

    private static let table: [(type: PostgresType, text: String?, value: SQLiteValue)] = [
        (.boolean, "t", 1), (.boolean, "f", 0), (.boolean, nil, nil),
        (.integer, "9007199254740993", 9_007_199_254_740_993), (.integer, "-3", -3),
        (.real, "314", .real(314)), (.real, "0.1", .real(0.1)), (.real, "-0", .real(0)),
        (.real, "-Infinity", .real(-.infinity)), (.real, "1e-300", .real(1e-300)),
        (.text, "18014398509481982123", "18014398509481982123"),
        (.json, #"{"test": "thing" }"#, #"{"test": "thing" }"#), (.json, "null", "null"),
        (.bytes, "\\xdeadBEEF", .blob([0xDE, 0xAD, 0xBE, 0xEF])), (.bytes, "\\x", .blob([])),
        (.time, "15:47:00", "15:47:00.000000"), (.time, "17:42:01.12", "17:42:01.120000"),
        (.timestamp, "2023-03-06 15:47:12.4", "2023-03-06T15:47:12.400000"),
        (.timestamp, "infinity", "9999-12-31T23:59:59.000000"),
        (.timestamp, "10000-01-01 00:00:00", "10000-01-01T00:00:00.000000"),
        (.timestamp, "0044-03-15 00:00:00 BC", nil),
        (.timestampWithZone, "2023-03-06 13:47:00+00", "2023-03-06T13:47:00.000000Z"),
        (.timestampWithZone, "2024-06-30 18:29:59.999+00", "2024-06-30T18:29:59.999000Z"),
        (.timestampWithZone, "-infinity", "0000-01-01T00:00:00.000000Z"),
        (.timestampWithZone, "294276-12-31 00:00:00+00", nil),
        (.timestampWithZone, "0044-03-15 00:00:00+00 BC", nil),
        (.date, "2023-03-06", "2023-03-06"), (.date, "infinity", "9999-12-31"),
        (.date, "-infinity", "0000-01-01"),
        (.date, "0044-03-15 BC", "0044-03-15 BC"),
        (.logPosition, "16/B374D848", "00000016/B374D848"),
        (list(.integer), "{1,NULL,3}", "[1,null,3]"), (list(.boolean), "{t,f}", "[1,0]"),
        (list(.integer), "{{1,2},{3,4}}", "[[1,2],[3,4]]"), (list(.text), "{}", "[]"),
        (list(.integer), "[0:1]={7,8}", "[7,8]"),
        (list(.text), #"{"a b",NULL,"c\"d","NULL"}"#, #"["a b",null,"c\"d","NULL"]"#),
        (list(.text), #"{text,"}te][xt{\""}"#, #"["text","}te][xt{\""]"#),
        (list(.real), "{1,0.5,NaN,Infinity}", "[1.0,0.5,NaN,Infinity]"),
        (list(.json), #"{"{\"b\": 2}",NULL}"#, #"[{"b": 2},null]"#),
        (list(.bytes), #"{"\\xdead",NULL}"#, "[null,null]"),
        (list(.time), "{10:00:00,23:59:59.9}", #"["10:00:00.000000","23:59:59.900000"]"#),
        (list(.date), "{2024-02-29,infinity}", #"["2024-02-29","9999-12-31"]"#),
        (.array(.text, delimiter: ";"), "{(3,4),(1,2);(7,8),(5,6)}", #"["(3,4),(1,2)","(7,8),(5,6)"]"#),
        (.range(.integer), "[2,4)", #"{"lower":2,"upper":4,"lower_exclusive":0,"upper_exclusive":1}"#),
        (
            .range(.text), "[1.5,2.5]",
            #"{"lower":"1.5","upper":"2.5","lower_exclusive":0,"upper_exclusive":0}"#
        ),
        (
            .range(.timestampWithZone), #"["2024-01-01 00:00:00+00",)"#,
            #"{"lower":"2024-01-01T00:00:00.000000Z","upper":null,"lower_exclusive":0,"upper_exclusive":1}"#
        ),
        (.range(.date), "empty", "empty"),
        (
            .multirange(.integer), "{[1,3),[5,9)}",
            #"[{"lower":1,"upper":3,"lower_exclusive":0,"upper_exclusive":1},{"lower":5,"upper":9,"lower_exclusive":0,"upper_exclusive":1}]"#
        ),
        (
            address, #"("Main ""st""",5,"2024-01-01 00:00:00+00")"#,
            #"{"street":"Main \"st\"","no":5,"at":"2024-01-01T00:00:00.000000Z"}"#
        ),
        (list(address), #"{"(x,1,)",NULL}"#, #"[{"street":"x","no":1,"at":null},null]"#),
        (
            .composite([.init(name: "foo", type: .boolean), .init(name: "bar", type: .integer)]), "(t,2)",
            #"{"foo":1,"bar":2}"#
        ),
    ]

    /// Recordings of random types (`types-random-1`, 3, 8, 18).
    @Test(arguments: [
        ("{a}", #"["a"]"#), ("{}", "[]"), ("[1]", "[1]"), ("(1,2)", "(1,2)"), ("", ""), ("NULL", "NULL"),
        ("{a", "{a"), ("{a}b", "{a}b"),
    ])
    func aNameInBracesIsAnArray(_ text: String, _ expected: String) throws {
        #expect(PostgresType.base(named: "name") == .name)
        #expect(try ValueConverter().value(text, .name) == .text(expected))
        var arena = Array(text.utf8)
        let slot = try SlotConverter().slot(0..<arena.count, .name, in: &arena)
        #expect(slot.scalar(in: arena) == ScalarValue(text: expected))
        #expect(
            try ValueConverter().value(#"{"{a}"}"#, .array(.name, delimiter: ","))
                == .text(#"["{a}"]"#))
    }

    @Test(arguments: table.indices)
    func convertsAsRecorded(_ index: Int) throws {
        let row = Self.table[index]
        #expect(try ValueConverter().value(row.text, row.type) == row.value)
    }

    @Test(arguments: [
        (0, "2023-03-06T15:47:12Z"), (3, "2023-03-06T15:47:12.456Z"), (6, "2023-03-06T15:47:12.456700Z"),
    ])
    func cutsFractionsToTheConfiguredPrecision(_ digits: Int, _ expected: String) throws {
        var options = CompatibilityOptions(edition: 2)
        options.fractionDigits = digits
        let converter = ValueConverter(options: options)
        #expect(try converter.value("2023-03-06 15:47:12.4567+00", .timestampWithZone) == .text(expected))
    }

    /// The column of edition 1: times stay as they are spelled.
    @Test(
        arguments: [
            (PostgresType.time, "17:42:01.12", "17:42:01.12"),
            (.timestamp, "2023-03-06 15:47:12.4", "2023-03-06 15:47:12.4"),
            (.timestamp, "infinity", "9999-12-31 23:59:59"),
            (.timestamp, "10000-01-01 00:00:00", "10000-01-01 00:00:00"),
            (.timestamp, "0044-03-15 00:00:00 BC", nil),
            (.timestampWithZone, "2023-03-06 13:47:00+00", "2023-03-06 13:47:00Z"),
            (.timestampWithZone, "2024-06-30 18:29:59.999+00", "2024-06-30 18:29:59.999Z"),
            (.timestampWithZone, "-infinity", "0000-01-01 00:00:00Z"),
            (.timestampWithZone, "294276-12-31 00:00:00+00", nil),
            (
                .array(.timestampWithZone, delimiter: ","),
                #"{"2023-03-06 13:47:00+00","2023-03-06 13:47:00.12345+00"}"#,
                #"["2023-03-06 13:47:00Z","2023-03-06 13:47:00.12345Z"]"#
            ),
        ] as [(PostgresType, String, String?)])
    func timesOfEdition1StayAsTheyAre(_ type: PostgresType, _ text: String, _ expected: String?) throws {
        let converter = ValueConverter(options: CompatibilityOptions(edition: 1))
        #expect(try converter.value(text, type) == SQLiteValue(expected))
    }

    /// G21, G24 to G27, G38: without `custom_postgres_types` they stay as they are spelled.
    @Test func typesOfOnesOwnAreTextInEdition1() {
        func entry(_ oid: UInt32, _ name: String, _ kind: Character, inner: UInt32 = 0, isArray: Bool = false)
            -> TypeCatalog.Entry
        {
            var entry = TypeCatalog.Entry(oid: oid, name: name, kind: kind)
            entry.inner = inner
            entry.isArray = isArray
            return entry
        }
        let catalog = TypeCatalog([
            entry(23, "int4", "b"), entry(1007, "_int4", "b", inner: 23, isArray: true),
            entry(100, "", "e"), entry(101, "", "b", inner: 100, isArray: true),
            entry(102, "", "d", inner: 23), entry(103, "", "d", inner: 102), entry(104, "", "c"),
            entry(105, "", "b", inner: 104, isArray: true), entry(3904, "int4range", "r", inner: 23),
            entry(4451, "int4multirange", "m", inner: 23),
        ])
        let list = PostgresType.array(.integer, delimiter: ",")
        for isRead in [false, true] {
            #expect(catalog.plainType(23, isRead: isRead) == .integer)
            #expect(catalog.plainType(1007, isRead: isRead) == list)
            for oid: UInt32 in [100, 101, 104, 105, 3904, 4451, 999] {
                #expect(catalog.plainType(oid, isRead: isRead) == .text, "\(oid)")
            }
        }
        // The stream does not say of what a domain is.
        for oid: UInt32 in [102, 103] {
            #expect(catalog.plainType(oid, isRead: false) == .text)
            #expect(catalog.plainType(oid, isRead: true) == .integer)
        }
    }

    @Test(arguments: [
        (PostgresType.integer, "x"), (.real, ""), (.bytes, "\\x0"), (.array(.text, delimiter: ","), "{a"),
        (.composite([]), "(a"), (.range(.integer), "[1"), (.timestampWithZone, "2023-03-06 15:47:12+02"),
    ])
    func refusesATextThatDoesNotFitItsType(_ type: PostgresType, _ text: String) {
        #expect(throws: ConversionError.self) { try ValueConverter().value(text, type) }
    }

    @Test func refusesWhatIsNestedTooDeep() {
        let deep = String(repeating: "{", count: 12) + "1" + String(repeating: "}", count: 12)
        #expect(throws: ConversionError.self) {
            try ValueConverter().value(deep, .array(.integer, delimiter: ","))
        }
    }

    @Test func findsTypesThroughDomainsArraysAndComposites() {
        var mood = TypeCatalog.Entry(oid: 100, name: "mood", kind: "e")
        mood.isVariableLength = false
        var moods = TypeCatalog.Entry(oid: 101, name: "_mood", kind: "b")
        moods.isArray = true
        moods.inner = 100
        var domain = TypeCatalog.Entry(oid: 102, name: "positive", kind: "d")
        domain.inner = 23
        var composite = TypeCatalog.Entry(oid: 103, name: "pair", kind: "c")
        composite.fields = [("a", 102), ("b", 101)]
        let catalog = TypeCatalog([
            mood, moods, domain, composite, TypeCatalog.Entry(oid: 23, name: "int4", kind: "b"),
        ])
        #expect(
            catalog.type(103)
                == .composite([
                    .init(name: "a", type: .integer), .init(name: "b", type: .array(.text, delimiter: ",")),
                ]))
        #expect(catalog.type(999) == .text)
        #expect(!catalog.isVariableLength(100))
        #expect(catalog.isVariableLength(999))
    }
}
