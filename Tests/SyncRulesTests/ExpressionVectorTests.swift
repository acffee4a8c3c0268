import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Service 9.6, a case for each number.
struct ExpressionVectorTests {
    /// A number, SQL that has `∅` for NULL and `x` for a column, and what it gives.
    private struct Vector {
        let number: Int
        let sql: String
        /// Nil is an error.
        let expected: ScalarValue?
        let edition: Int
        let column: ScalarValue

        init(
            _ number: Int, _ sql: String, _ expected: ScalarValue?, edition: Int = 3, x: ScalarValue = .null
        ) {
            self.number = number
            self.sql = sql.replacing("∅", with: "NULL")
            self.expected = expected
            self.edition = edition
            column = x
        }
    }

    private static func text(_ text: String) -> ScalarValue { ScalarValue(text: text) }

    private static let point = "'0101000000029a081b9ede4340d7a3703d0a3f5ac0'"

    private static let vectors: [Vector] = first + second + third

    private static let first: [Vector] = [
        Vector(1, "1 = 1.0", .integer(1)), Vector(2, "'1' = 1", .integer(0)),
        Vector(3, "'text' > 1", .integer(1)), Vector(4, "1 > ∅", .null),
        Vector(5, "∅ IS NULL", .integer(1)),
        Vector(6, "5/2", .integer(2)), Vector(6, "5/2.0", .real(2.5)), Vector(6, "5/'2'", .integer(2)),
        Vector(6, "5/'2.0'", .real(2.5)), Vector(7, "5/0", .null), Vector(7, "5/0.0", .null),
        Vector(8, "1 + '2'", .integer(3)), Vector(8, "1 + '2.0'", .real(3)),
        Vector(9, "'a' || 31", text("a31")),
        Vector(10, #"'["bar","foo"]' && '["foo"]'"#, .integer(1), edition: 2),
        Vector(11, #"'["0"]' && '["foo"]'"#, .integer(0), edition: 2),
        Vector(12, "'[1,2,3]' && '[4,3]'", .integer(1), edition: 2),
        Vector(13, #"json_extract('{"foo":42}','$.foo')"#, .integer(42)),
        Vector(14, #"json_extract('{"foo":42.0}','$')"#, text(#"{"foo":42.0}"#)),
        Vector(15, #"json_extract('{"foo":true}','$.foo')"#, .integer(1)),
        Vector(16, #"'{"foo":"bar"}' -> 'foo'"#, text(#""bar""#)),
        Vector(17, #"'{"foo":42}' ->> 'foo'"#, .integer(42)), Vector(18, "'{}' -> 'foo'", .null),
        Vector(19, "json_array_length('[1,2,3,4]')", .integer(4)),
        Vector(19, "json_array_length('{}')", .integer(0)),
        Vector(20, #"json_array_length('{"a":[1,2,3,4]}','$.a')"#, .integer(4)),
        Vector(21, #"json_keys('{"a":1,"b":"2","0":"test","c":{}}')"#, text(#"["0","a","b","c"]"#)),
        Vector(22, "json_keys('[1]')", nil), Vector(22, #"json_keys('{"a":1,"a":2}')"#, nil),
        Vector(23, "json_valid('TRUE')", .integer(0), edition: 1),
        Vector(23, "json_valid('true')", .integer(1), edition: 1),
        Vector(23, "json_valid(3)", .integer(1), edition: 1),
    ]

    private static let second: [Vector] = [
        Vector(24, "typeof(1.0)", text("real")), Vector(24, "typeof(1)", text("integer")),
        Vector(25, "CAST(1.2 AS integer)", .integer(1)), Vector(26, "CAST(1 AS blob)", .blob([0x31])),
        Vector(27, "ifnull(∅,'x')", text("x")), Vector(28, "NOT ∅", .integer(1)),
        Vector(29, "'a' IN ARRAY['a',NULL]", .integer(1)), Vector(29, "'b' IN ARRAY['a',NULL]", .null),
        Vector(30, "CASE x WHEN 1 THEN 'a' END", .null, x: .integer(2)),
        Vector(31, "length('abc')", .integer(3)), Vector(31, "length(123.4)", .integer(5)),
        Vector(32, "hex('abC')", text("616243")), Vector(32, "hex(123.4)", text("3132332E34")),
        Vector(33, "base64('abc')", text("YWJj")), Vector(33, "base64(∅)", text("")),
        Vector(
            34, "base64(uuid_blob('550e8400-e29b-41d4-a716-446655440000'))",
            text("VQ6EAOKbQdSnFkRmVUQAAA==")),
        Vector(35, "iif(0.1,'t','f')", text("t")), Vector(35, "iif('a','t','f')", text("f")),
        Vector(35, "iif(x,'t','f')", text("f"), x: .blob([0x31])),
        Vector(36, "upper(x)", text("3E+60"), x: .real(3e60)),
        Vector(37, "substring('abcde',2,3)", text("bcd")), Vector(38, "substring('abcde',0,2)", text("a")),
        Vector(39, "substring('abcde',-2,1)", text("d")), Vector(40, "substring('abcde',5,-2)", text("cd")),
        Vector(40, "substring('abcde',6,-5)", text("abcde")), Vector(41, "substring('abcde',2,∅)", .null),
        Vector(42, "instr('hello world','o')", .integer(5)), Vector(42, "instr('abc','')", .integer(1)),
        Vector(42, "instr('','a')", .integer(0)),
        Vector(43, "unixepoch('2023-06-28 14:12')", .integer(1_687_961_520)),
        Vector(44, "unixepoch('2023-06-28T16:12+02:00')", .integer(1_687_961_520)),
        Vector(45, "unixepoch('2023-06-28T16:12+02')", .null), Vector(45, "unixepoch('now')", .null),
        Vector(45, "unixepoch()", .null), Vector(46, "unixepoch('2023')", .integer(-210_691_972_800)),
        Vector(46, "unixepoch(2023.123)", .integer(-210_691_962_173)),
        Vector(47, "unixepoch(1687961520.567,'unixepoch','subsec')", .real(1_687_961_520.567)),
    ]

    private static let third: [Vector] = [
        Vector(48, "datetime('2023-06-28 14:12:00.999','subsec')", text("2023-06-28 14:12:00.999")),
        Vector(49, "datetime('2023')", text("-4707-06-08 12:00:00")),
        Vector(50, "st_x(\(point))", .real(39.7392)),
        Vector(51, "st_astext(\(point))", text("POINT(39.7392 -104.985)")),
        Vector(52, "st_asgeojson(\(point))", text(#"{"type":"Point","coordinates":[39.7392,-104.985]}"#)),
        Vector(53, "CAST('1.2abc' AS integer)", .integer(1)),
        Vector(53, "CAST('1.2abc' AS numeric)", .real(1.2)),
        Vector(53, "CAST('1.2abc' AS real)", .real(1.2)),
        Vector(54, "CAST('-12.9abc' AS integer)", .integer(-12)),
        Vector(55, "CAST('+1.2e2abc' AS numeric)", .real(120)),
        Vector(56, "CAST('abc' AS numeric)", .integer(0)),
        Vector(57, "lower(x)", text("abc"), x: .blob([0x41, 0x42, 0x43])),
        Vector(58, "∅ != 1", .integer(1)), Vector(58, "∅ != 1", .null, edition: 2),
        Vector(59, "5 BETWEEN 1 AND 10", .integer(1)), Vector(60, "'x' IN 5", nil, edition: 1),
        Vector(61, #"'["a", "b"]' ->> 0"#, text("a")), Vector(61, #"'{"k": 1}' ->> 0"#, .null),
        Vector(61, "∅ ->> 0", .null), Vector(62, "1.5 * 2", .real(3)), Vector(62, "0.0 * 2", .real(0)),
        Vector(62, "1 / 2", .integer(0)), Vector(62, "2 / 2", .integer(1)),
        Vector(63, "ifnull(∅,-1)", .integer(-1)), Vector(63, "typeof(∅)", text("null")),
        Vector(64, "'l1' = 'l1'", .integer(1)), Vector(64, "0 + 1", .integer(1)),
        Vector(64, "iif(0,'yes','no')", text("no")), Vector(65, "NOT (∅ = 2)", .integer(1)),
        Vector(66, "CAST(2147483647 AS text)", text("2147483647")),
        Vector(66, "2147483647 * 2", .integer(4_294_967_294)), Vector(66, "iif(∅,'y','n')", text("n")),
        Vector(66, #"json_array_length('{"k": "v"}')"#, .integer(0)),
    ]

    /// Computes; nil is an error.
    private func value(
        _ sql: String, edition: Int = 3, options: CompatibilityOptions? = nil, x: ScalarValue = .null
    ) throws -> ScalarValue? {
        let expression = try #require(RowExpressions(edition: edition).expression(sql), "\(sql)")
        let run = ExpressionRun(options: options ?? CompatibilityOptions(edition: edition))
        do throws(EvaluationError) {
            return try run.value(of: expression, in: RowExpressions.Row(columns: ["x": x]))
        } catch {
            return nil
        }
    }

    @Test(arguments: Array(1...66))
    func valuesAreThoseOfTheContract(_ number: Int) throws {
        let vectors = Self.vectors.filter { $0.number == number }
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let found = try value(vector.sql, edition: vector.edition, x: vector.column)
            #expect(found == vector.expected, "F\(number) \(vector.sql)")
        }
    }

    @Test func everyNumberHasAnExpectation() throws {
        let contract = try Repository.text("Documentation/Contract/service.md")
        let numbers = Set(contract.matches(of: /\| F(\d+)[ |]/).compactMap { Int($0.1) })
        #expect(numbers.count == 66)
        #expect(Set(Self.vectors.map(\.number)) == numbers)
    }

    /// Service 6.10, the table of `fixed_json_extract`.
    @Test(arguments: [false, true])
    func membersAreFoundAsTheOptionSays(_ isFixed: Bool) throws {
        var options = CompatibilityOptions(edition: 1)
        options.fixedJSONExtract = isFixed
        func member(_ sql: String) throws -> ScalarValue? { try value(sql, edition: 1, options: options) }
        #expect(try member(#"'{"foo":{"bar":1}}' ->> 'foo.bar'"#) == (isFixed ? .null : .integer(1)))
        #expect(try member(#"'{"foo.bar":1}' ->> 'foo.bar'"#) == (isFixed ? .integer(1) : .null))
        #expect(try member(#"'{"foo":null}' ->> 'foo'"#) == (isFixed ? .null : Self.text("null")))
        #expect(try member(#"'{"foo":null}' -> 'foo'"#) == (isFixed ? Self.text("null") : .null))
        let elements = try JSONElements(options: options).elements(of: Self.text("[null]"))
        #expect(elements.map(\.value) == [isFixed ? .null : Self.text("null")])
        #expect(try member(#"'{"foo":{"bar":1}}' ->> '$.foo.bar'"#) == .integer(1))
        #expect(try member(#"'{"b":1,"2":2,"1":3}' -> '$[7]'"#) == Self.text(#"{"1":3,"2":2,"b":1}"#))
        #expect(try member(#"'"text"' -> 0"#) == Self.text(#""t""#))
        #expect(try member(#"'"😀"' ->> 1"#) == Self.text("\u{FFFD}"))
        #expect(try member("'' -> 'a'") == nil)
        // A value that is `null` as a whole is NULL in both.
        for sql in ["'null' -> '$'", "'null' ->> '$'", "json_extract('null', '$')"] {
            #expect(try member(sql) == .null)
        }
    }

    @Test func whatIsNotTakenIsNotComputed() throws {
        #expect(try value("CASE WHEN 0 THEN json_keys('[]') ELSE 1 END") == .integer(1))
        #expect(try value("CASE 1 WHEN 1 THEN 2 WHEN json_keys('[]') THEN 3 END") == .integer(2))
        #expect(try value("iif(1, 2, json_keys('[]'))") == .integer(2))
        #expect(try value("ifnull(1, json_keys('[]'))") == .integer(1))
        // As recorded for AND.
        #expect(try value("NULL IN ARRAY[json_keys('[]')]") == .null)
        #expect(try value("1 IN ARRAY[json_keys('[]')]") == nil)
        #expect(try value("0 AND json_keys('[]')") == nil)
        #expect(try value("1 OR json_keys('[]')") == nil)
    }

    /// SQL that has `∅` for NULL, and its value; nil is an error.
    static let samples: [(String, ScalarValue?)] = [
        ("∅ IN ARRAY[1]", .null), ("1 IN ARRAY[1.0]", .integer(1)),
        ("1 NOT IN ARRAY[2, ∅]", .integer(1)), ("∅ NOT IN 'x'", .integer(1)), ("1 NOT IN ∅", .integer(1)),
        ("1 NOT IN '[1.0]'", .integer(0)), ("true NOT IN '[true]'", .integer(0)),
        ("'true' NOT IN '[true]'", .integer(1)), ("1 NOT IN '[null]'", .integer(1)), ("1 NOT IN 'true'", nil),
        ("1 NOT IN '{}'", nil), ("1 NOT IN 5", nil), ("3 IS TRUE", .integer(0)),
        ("1.0 IS TRUE", .integer(1)),
        ("'1' IS TRUE", .integer(0)), ("∅ IS NOT FALSE", .integer(1)), ("0 IS FALSE", .integer(1)),
        ("5 BETWEEN 6 AND ∅", .null), ("5 NOT BETWEEN 6 AND ∅", .integer(1)), ("5 % 2", nil), ("1 << 2", nil),
        ("-7 / 2", .integer(-3)), ("'abc' || 1.0", text("abc1")),
        ("CAST(-2.5 AS integer)", .integer(-3)), ("CAST(' 2x' AS integer)", .integer(2)),
        ("CAST('.5x' AS numeric)", .real(0.5)), ("CAST('12.5e1' AS numeric)", .real(125)),
        ("length('😀')", .integer(2)), ("substring('a😀b', 2, 1)", text("\u{FFFD}")),
        ("instr('a😀b', 'b')", .integer(4)), ("instr('aaab', 'aab')", .integer(2)),
        ("substring('abcde', -3, -3)", text("ab")),
        ("upper('straße')", text("STRASSE")),
        ("json_array_length('{}', '$.a')", .null), ("json_array_length('[1]', 'a')", nil),
        ("json_extract(∅, 'a')", .null), ("json_extract('1', 'a')", nil), ("json_keys('null')", nil),
        ("uuid_blob('550e8400e29b41d4a716446655440000')", nil), ("uuid_blob(∅)", .null),
    ]

    @Test(arguments: samples)
    func valuesAreThoseOfTheDefaultEngine(_ sql: String, _ expected: ScalarValue?) throws {
        #expect(try value(sql.replacing("∅", with: "NULL")) == expected, "\(sql)")
    }

    @Test(arguments: [
        ("0", "-4713-11-24 12:00:00"), ("7", "-4713-12-01 12:00:00"),
        ("1, 'unixepoch'", "1970-01-01 00:00:01"),
        ("-1, 'unixepoch'", "1969-12-31 23:59:59"), ("'2025-12-31', 'subsec'", "2025-12-31 00:00:00.000"),
        ("'2024-02-29T12:34:56.1239Z', 'subsecond'", "2024-02-29 12:34:56.123"),
        ("'1970-01-01 00:00:00Z'", "1970-01-01 00:00:00"),
        ("'2023-12-31 23:30-01:00'", "2024-01-01 00:30:00"),
        ("'9999-12-31 23:59:59'", "9999-12-31 23:59:59"),
    ])
    func timesAreRead(_ arguments: String, _ expected: String) throws {
        #expect(try value("datetime(\(arguments))") == Self.text(expected))
    }

    @Test(arguments: [
        "'a'", "'2024-13-01'", "'2024-02-29T'", "'2024-02-29 24:00'", "'2024-02-29 12:00 x'", "'12:00'",
        "9223372036854775807", "-1", "'2024-02-29', '+1 day'", "'2024-02-29', 'auto'",
        "'2024-02-29', 'unixepoch'", "NULL", "'2024-02-29', NULL", "253402300800, 'unixepoch'",
    ])
    func whatIsNoTimeIsNull(_ arguments: String) throws {
        #expect(try value("datetime(\(arguments))") == .null)
        #expect(try value("unixepoch(\(arguments))") == .null)
    }

    @Test func elementsOfJSONAreRows() throws {
        let rows = JSONElements(options: CompatibilityOptions(edition: 3))
        func values(_ json: String) throws -> [[ScalarValue]] {
            try rows.elements(of: Self.text(json)).map { [$0.key, $0.value] }
        }
        #expect(
            try values(#"[true,[1],1.5]"#)
                == [
                    [.integer(0), .integer(1)], [.integer(1), Self.text("[1]")], [.integer(2), .real(1.5)],
                ])
        #expect(
            try values(#"{"b":1,"0":"x"}"#)
                == [[Self.text("0"), Self.text("x")], [Self.text("b"), .integer(1)]])
        #expect(try values(#""u1""#) == [[.null, Self.text("u1")]])
        // U7: the real service has 9007199254740992, which is another number.
        #expect(try values("[9007199254740993]") == [[.integer(0), .integer(9_007_199_254_740_993)]])
        let wide = try #require(ScalarValue(digits: "99999999999999999999"))
        #expect(try values("[99999999999999999999]") == [[.integer(0), wide]])
        #expect(try values("[1.0,1e2,-0]").map { $0[1] } == [.integer(1), .integer(100), .integer(0)])
        #expect(try rows.elements(of: .null).isEmpty)
        for value in [ScalarValue.integer(1), .blob([0x31]), Self.text("x"), Self.text("")] {
            #expect(throws: EvaluationError(message: "Expected JSON string")) { try rows.elements(of: value) }
        }
    }
}
