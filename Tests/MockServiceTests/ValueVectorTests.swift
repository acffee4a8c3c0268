import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Service 9.7, a case for each number: what a client gets of a value of Postgres, in editions 1 and 3.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ValueVectorTests {
    /// A value, and how `data` has it.
    struct Vector: Sendable {
        let number: Int
        /// Its type and itself, as SQL.
        let type: String, sql: String
        /// JSON; nil if the key is absent.
        let former: String?, current: String?
        /// Whether its row comes while the service replicates, and is not read as a whole.
        var isStreamed = false
        /// As many digits of seconds as milliseconds have.
        var isCut = false

        init(_ number: Int, _ type: String, _ sql: String, _ former: String?, _ current: String?) {
            (self.number, self.type, self.sql, self.former, self.current) = (
                number, type, sql, former, current
            )
        }

        init(_ number: Int, _ type: String, _ sql: String, _ both: String?) {
            self.init(number, type, sql, both, both)
        }

        var streamed: Vector {
            var vector = self
            vector.isStreamed = true
            return vector
        }

        var cut: Vector {
            var vector = self
            vector.isCut = true
            return vector
        }
    }

    /// A text as JSON.
    private static func json(_ text: String) -> String { JSON.string(text).text }

    /// A value that is a text in both.
    private static func text(_ number: Int, _ type: String, _ sql: String, _ both: String) -> Vector {
        Vector(number, type, sql, json(both))
    }

    private static func texts(
        _ number: Int, _ type: String, _ sql: String, _ former: String, _ current: String
    ) -> Vector {
        Vector(number, type, sql, json(former), json(current))
    }

    private static let types = [
        "CREATE DOMAIN number AS float8", "CREATE DOMAIN whole AS int",
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE TYPE one AS (foo number[], bar text, mood mood)", "CREATE TYPE two AS (a bool, b one)",
        "CREATE TYPE pair AS (foo bool, bar int4)",
        "CREATE TYPE place AS (street text, no int, at timestamptz)",
    ]

    private static let simple: [Vector] = [
        Vector(1, "bool", "true", "1"), Vector(2, "int8", "9007199254740993", "9007199254740993"),
        Vector(3, "float4", "3.14", "3.14"), Vector(3, "float8", "314", "314.0"),
        text(4, "numeric", "18014398509481982123", "18014398509481982123"),
        text(5, "json", #"'{"test": "thing" }'"#, #"{"test": "thing" }"#),
        text(6, "jsonb", #"'{"test": "thing" }'"#, #"{"test": "thing"}"#),
        text(14, "pg_lsn", "'016/B374D848'", "00000016/B374D848"),
        text(15, "interval", "'1 hour'", "01:00:00"), text(15, "inet", "'127.0.0.1'", "127.0.0.1"),
        Vector(15, "oid", "1007", "1007"), Vector(28, "float8", "'NaN'", json("NaN")),
        Vector(28, "float4", "'Infinity'", json("Infinity")), text(29, "numeric", "123.4500", "123.4500"),
        text(29, "numeric(12,3)", "0.1", "0.100"), text(29, "numeric", "1e5", "100000"),
        text(29, "numeric", "'NaN'", "NaN"), text(30, "char(4)", "'ab'", "ab  "),
        text(
            30, "uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        text(30, "xml", "'<a>1</a>'", "<a>1</a>"), text(30, "point", "'(1,2)'", "(1,2)"),
        text(30, "inet", "'10.0.0.1/24'", "10.0.0.1/24"),
        text(30, "interval", "'1 day 02:03:04'", "1 day 02:03:04"),
        Vector(31, "bytea", #"'\xdeadbeef'"#, nil), Vector(31, "bytea", "NULL", "null"),
        Vector(43, "float8", "'-Infinity'", json("-Infinity")), Vector(43, "float8", "'-0'", "0.0"),
        Vector(43, "float8", "1e-300", "1e-300"), Vector(43, "float4", "1e-7", "1e-7"),
        Vector(43, "float4", "16777217", "16777216.0"), text(46, "money", "'$1,234.50'", "$1,234.50"),
        text(46, "timetz", "'12:00:00.5+02'", "12:00:00.5+02"), text(46, "bit(4)", "'1010'", "1010"),
        text(46, "macaddr", "'08:00:2b:01:02:03'", "08:00:2b:01:02:03"),
        text(46, "cidr", "'10.1.0.0/16'", "10.1.0.0/16"),
        text(46, "tsvector", "'a fat cat'", "'a' 'cat' 'fat'"), Vector(46, "oid", "4294967295", "4294967295"),
        text(46, #""char""#, "'c'", "c"), text(47, "jsonb", #"'"just text"'"#, #""just text""#),
        text(47, "jsonb", "'null'", "null"), text(47, "jsonb", "'12.50'", "12.50"),
        text(47, "jsonb", "'true'", "true"),
        text(
            47, "numeric", "123456789012345678901234567890.0001", "123456789012345678901234567890.0001"),
        text(47, "interval", "'-1 year 2 days -03:04:05.6'", "-1 years +2 days -03:04:05.6"),
    ]

    private static let times: [Vector] = [
        texts(7, "time", "'15:47'", "15:47:00", "15:47:00.000000"),
        texts(7, "time", "'17:42:01.12'", "17:42:01.12", "17:42:01.120000"),
        texts(
            8, "timestamp", "'2023-03-06 15:47:12.4'", "2023-03-06 15:47:12.4", "2023-03-06T15:47:12.400000"),
        texts(
            9, "timestamptz", "'2023-03-06 15:47+02'", "2023-03-06 13:47:00Z", "2023-03-06T13:47:00.000000Z"),
        texts(10, "time", "'17:42:01.12'", "", "17:42:01.120").cut,
        texts(10, "timestamp", "'2023-03-06 15:47:12.4'", "", "2023-03-06T15:47:12.400").cut,
        texts(10, "timestamptz", "'2023-03-06 15:47+02'", "", "2023-03-06T13:47:00.000Z").cut,
        text(11, "date", "'-infinity'", "0000-01-01"),
        texts(11, "timestamp", "'-infinity'", "0000-01-01 00:00:00", "0000-01-01T00:00:00.000000"),
        texts(11, "timestamptz", "'-infinity'", "0000-01-01 00:00:00Z", "0000-01-01T00:00:00.000000Z"),
        texts(12, "timestamptz", "'infinity'", "9999-12-31 23:59:59Z", "9999-12-31T23:59:59.000000Z"),
        texts(
            13, "timestamptz", "'0022-02-03 12:13:14+03'", "0022-02-03 09:13:14Z",
            "0022-02-03T09:13:14.000000Z"),
        Vector(13, "timestamptz", "'10022-02-03 12:13:14+03'", "null"),
        text(34, "date", "'infinity'", "9999-12-31"),
        texts(34, "timestamp", "'infinity'", "9999-12-31 23:59:59", "9999-12-31T23:59:59.000000"),
        text(34, "date", "'0001-01-01'", "0001-01-01"),
        texts(35, "time", "'00:00:00'", "00:00:00", "00:00:00.000000"),
        texts(
            35, "timestamptz", "'2023-12-31 23:59:59.999999+00'", "2023-12-31 23:59:59.999999Z",
            "2023-12-31T23:59:59.999999Z"),
        text(44, "date", "'0044-03-15 BC'", "0044-03-15 BC"),
        text(44, "date", "'10000-01-01'", "10000-01-01"),
        Vector(44, "timestamp", "'0044-03-15 12:00:00 BC'", "null"),
        texts(
            44, "timestamp", "'10000-01-01 00:00:00'", "10000-01-01 00:00:00", "10000-01-01T00:00:00.000000"),
        Vector(44, "timestamptz", "'0044-03-15 12:00:00+00 BC'", "null"),
        Vector(44, "timestamptz", "'294276-12-31 23:59:59.999999+00'", "null"),
        texts(
            45, "timestamptz", "'2024-06-30 23:59:59.999+05:30'", "2024-06-30 18:29:59.999Z",
            "2024-06-30T18:29:59.999000Z"),
        texts(
            45, "timestamp", "'2024-01-01 00:00:00.1'", "2024-01-01 00:00:00.1", "2024-01-01T00:00:00.100000"
        ),
    ]

    private static let lists: [Vector] = [
        text(16, "text[]", #"ARRAY['text', '}te][xt{"']"#, #"["text","}te][xt{\""]"#),
        text(17, "bool[]", "'{t}'", "[1]"), text(17, "int8[]", "'{9007199254740993}'", "[9007199254740993]"),
        text(17, "numeric[]", "'{18014398509481982123}'", #"["18014398509481982123"]"#),
        text(17, "bytea[]", #"ARRAY['\xdead'::bytea]"#, "[null]"),
        text(
            18, "jsonb[]", #"ARRAY['{"a": 12345678901234567890}'::jsonb, '1']"#,
            #"[{"a": 12345678901234567890},1]"#),
        text(
            19, "text[][]", "ARRAY[['one', '1'], ['two', '2'], ['three', NULL]]",
            #"[["one","1"],["two","2"],["three",null]]"#),
        text(19, "text[]", "'{}'", "[]"), text(19, "text[]", "'{NULL}'", "[null]"),
        text(19, "text[]", #"'{"null"}'"#, #"["null"]"#),
        texts(
            20, "timestamptz[]", #"'{"2023-03-06 15:47+02","2023-03-06 15:47:00.12345+02"}'"#,
            #"["2023-03-06 13:47:00Z","2023-03-06 13:47:00.12345Z"]"#,
            #"["2023-03-06T13:47:00.000000Z","2023-03-06T13:47:00.123450Z"]"#),
        text(32, "int[]", "'{1,NULL,3}'", "[1,null,3]"), text(32, "bool[]", "'{t,f}'", "[1,0]"),
        text(32, "int[][]", "'{{1,2},{3,4}}'", "[[1,2],[3,4]]"),
        text(32, "text[]", #"'{"a b",NULL,"c\"d"}'"#, #"["a b",null,"c\"d"]"#),
        text(41, "bytea[]", #"ARRAY['\xdead'::bytea, NULL]"#, "[null,null]"),
        text(41, "json[]", #"ARRAY['{"a":1}'::json, '[1]']"#, #"[{"a":1},[1]]"#),
        text(41, "jsonb[]", #"ARRAY['{"b": 2}'::jsonb, NULL]"#, #"[{"b": 2},null]"#),
        text(41, "numeric[]", "'{1.10,NaN,NULL}'", #"["1.10","NaN",null]"#),
        text(42, "float8[]", "'{1,0.5,NaN,Infinity}'", "[1.0,0.5,NaN,Infinity]"),
        text(42, "int8[]", "'{9223372036854775807,-1}'", "[9223372036854775807,-1]"),
        text(42, "interval[]", "'{1 mon,00:00:01}'", #"["1 mon","00:00:01"]"#),
        text(
            42, "uuid[]", "'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'",
            #"["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]"#),
        text(42, "date[]", "'{2024-02-29,infinity}'", #"["2024-02-29","9999-12-31"]"#),
        texts(
            42, "time[]", "'{10:00,23:59:59.9}'", #"["10:00:00","23:59:59.9"]"#,
            #"["10:00:00.000000","23:59:59.900000"]"#),
    ]

    /// The bounds of a range that ends before its upper one.
    private static func range(_ lower: Int, _ upper: Int) -> String {
        #"{"lower":\#(lower),"upper":\#(upper),"lower_exclusive":0,"upper_exclusive":1}"#
    }

    private static let own: [Vector] = [
        Vector(21, "number", "1", json("1"), "1.0").streamed,
        texts(
            22, "one", "ROW('{2,3}', 'bar', 'sad')", #"("{2,3}",bar,sad)"#,
            #"{"foo":[2.0,3.0],"bar":"bar","mood":"sad"}"#),
        texts(
            23, "two", "ROW(true, ROW('{2,3}', 'bar', 'sad')::one)", #"(t,"(""{2,3}"",bar,sad)")"#,
            #"{"a":1,"b":{"foo":[2.0,3.0],"bar":"bar","mood":"sad"}}"#),
        text(24, "mood", "'happy'", "happy"),
        texts(24, "mood[]", "'{sad,happy}'", "{sad,happy}", #"["sad","happy"]"#),
        texts(
            26, "int4multirange[]", #"ARRAY['{[2,4),[6,8)}'::int4multirange]"#, #"{"{[2,4),[6,8)}"}"#,
            "[[\(range(2, 4)),\(range(6, 8))]]"),
        texts(27, "pair", "ROW(true, 2)", "(t,2)", #"{"foo":1,"bar":2}"#),
        texts(33, "int4range", "'[2,4)'", "[2,4)", range(2, 4)),
        texts(
            36, "place", #"ROW('Main "st"', 5, '2024-01-01 00:00+00')"#,
            #"("Main ""st""",5,"2024-01-01 00:00:00+00")"#,
            #"{"street":"Main \"st\"","no":5,"at":"2024-01-01T00:00:00.000000Z"}"#),
        texts(
            37, "place[]", "ARRAY[ROW('x', 1, NULL)::place, NULL]", #"{"(x,1,)",NULL}"#,
            #"[{"street":"x","no":1,"at":null},null]"#),
        Vector(38, "whole", "7", "7"), Vector(38, "whole", "7", json("7"), "7").streamed,
        texts(39, "mood[]", "'{happy,sad,NULL}'", "{happy,sad,NULL}", #"["happy","sad",null]"#),
        texts(
            39, "int4multirange", "'{[1,3),[5,9)}'", "{[1,3),[5,9)}", "[\(range(1, 3)),\(range(5, 9))]"),
        texts(
            40, "numrange", "'[1.5,2.5]'", "[1.5,2.5]",
            #"{"lower":"1.5","upper":"2.5","lower_exclusive":0,"upper_exclusive":0}"#),
        texts(
            40, "tstzrange", "'[2024-01-01 00:00+00,)'", #"["2024-01-01 00:00:00+00",)"#,
            #"{"lower":"2024-01-01T00:00:00.000000Z","upper":null,"lower_exclusive":0,"upper_exclusive":1}"#),
        text(40, "daterange", "'empty'", "empty"),
    ]

    /// What edition 1 makes of it is a defect of the real service, and not said.
    private static let boxes = texts(
        25, "box[]", "'{(3,4),(1,2);(7,8),(5,6)}'", "", #"["(3,4),(1,2)","(7,8),(5,6)"]"#)

    private static let vectors = simple + times + lists + own + [boxes]

    /// The configurations under which the values are read, each with a name.
    private enum Reading: String, CaseIterable {
        case former, current, cut

        var config: String {
            switch self {
            case .former: "bucket_definitions: {v: {data: [SELECT * FROM v]}}"
            case .current:
                "config: {edition: 3}\nstreams: {v: {auto_subscribe: true, query: SELECT * FROM v}}"
            case .cut:
                "config: {edition: 3, timestamp_max_precision: milliseconds}\n"
                    + "streams: {v: {auto_subscribe: true, query: SELECT * FROM v}}"
            }
        }
    }

    /// The rows of one reading: one that was there before it began and one that came behind.
    private struct Rows: Sendable {
        let first: JSON, streamed: JSON
    }

    /// The tests of all numbers share what was read once.
    private static let read = Task<[String: Rows], any Error> {
        var all: [String: Rows] = [:]
        for reading in Reading.allCases { all[reading.rawValue] = try await rows(reading) }
        return all
    }

    private static func rows(_ reading: Reading) async throws -> Rows {
        let columns = vectors.enumerated().map { "c\($0.offset) \($0.element.type)" }
        let values = vectors.map(\.sql).joined(separator: ", ")
        let found = Lock<Rows?>(nil)
        try await TestService.run(
            types + [
                "CREATE TABLE v(id text PRIMARY KEY, \(columns.joined(separator: ", ")))",
                "INSERT INTO v VALUES ('first', \(values))",
            ]
        ) { service in
            try await service.start(reading.config)
            let stream = try await service.open()
            try await stream.holds(["v/first"])
            try await service.tx("INSERT INTO v VALUES ('streamed', \(values))")
            let model = try await stream.holds(["v/first", "v/streamed"])
            stream.close()
            let first = try ServiceRecordings.parse(try #require(model.data(of: "v/first")))
            let streamed = try ServiceRecordings.parse(try #require(model.data(of: "v/streamed")))
            found.withLock { $0 = Rows(first: first, streamed: streamed) }
        }
        return try #require(found.withLock { $0 })
    }

    @Test(arguments: 1...47)
    func valuesAreThoseOfTheContract(_ number: Int) async throws {
        let read = try await Self.read.value
        func found(_ column: Int, _ reading: Reading) throws -> String? {
            let rows = try #require(read[reading.rawValue])
            let row = Self.vectors[column].isStreamed ? rows.streamed : rows.first
            return row["c\(column)"]?.text
        }
        var count = 0
        for (column, vector) in Self.vectors.enumerated() where vector.number == number {
            if vector.isCut {
                #expect(try found(column, .cut) == vector.current, "G\(number) \(vector.type)")
            } else {
                #expect(try found(column, .current) == vector.current, "G\(number) \(vector.type)")
                if number != Self.boxes.number {
                    #expect(try found(column, .former) == vector.former, "G\(number) \(vector.type)")
                }
            }
            count += 1
        }
        #expect(count > 0)
    }

    @Test func everyNumberHasAnExpectation() throws {
        let numbers = try Repository.vectorNumbers("G")
        #expect(Set(Self.vectors.map(\.number)) == numbers && numbers.count == 47)
    }
}
