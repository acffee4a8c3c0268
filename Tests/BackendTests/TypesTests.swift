import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Values of every kind of column, from JSON into Postgres, one row at a time and many in one statement.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct TypesTests {
    private static let schema = """
        CREATE TYPE mood AS ENUM ('good', 'so-so');
        CREATE DOMAIN price AS numeric(10, 2) CHECK (value >= 0);
        CREATE TABLE typed (id uuid PRIMARY KEY, flag boolean, small int2, whole int4, big int8, exact numeric,
            money2 price, real8 float8, note text, short varchar(5), doc jsonb, raw json, tags text[], nums int[],
            days date[], bytes bytea, at timestamptz, wall timestamp, day date, clock time, span interval, ref uuid,
            feeling mood, address inet, bits bit(3), during tstzrange, walls timestamp[], outages tsrange[],
            amounts numeric[], hundreds numeric(6, -2), docs jsonb[], code char(4), hexes bytea,
            due timestamptz, days_off date[], rate float8, stamp timestamptz, since timestamp, maybe date);
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET timezone = ''America/New_York''', current_database());
        END $$;
        """

    private static let map = """
        tables:
          typed:
            columns:
              hexes: { encoding: hex }
              due: { infinity: accept }
              days_off: { infinity: accept }
              rate: { infinity: accept }
              stamp: { epoch: ms }
              since: { epoch: s }
              maybe: { empty: null }
        """

    /// Column, JSON, and how Postgres shows what is stored, in UTC.
    private static let values: [(String, String, String?)] = [
        ("flag", "1", "true"), ("small", "32767", "32767"), ("whole", "12.0", "12"),
        ("big", "\"9007199254740993\"", "9007199254740993"),
        ("exact", "0.1234567890123456789012345", "0.1234567890123456789012345"), ("money2", "1.5", "1.50"),
        ("real8", "0.1", "0.1"), ("note", #""' \" \\ %s $1 é😀\n""#, "' \" \\ %s $1 é😀\n"),
        ("short", #""abcde""#, "abcde"),
        ("doc", #""{\"a\":[1,2]}""#, #"{"a": [1, 2]}"#), ("raw", #"{"b":1.0}"#, #"{"b":1.0}"#),
        ("tags", #""[\"a\",\"b,c\",null,\"\\\"\"]""#, #"{a,"b,c",NULL,"\""}"#), ("nums", "[1,2.0]", "{1,2}"),
        ("days", #"["2025-01-02"]"#, "{2025-01-02}"), ("bytes", #""aGk=""#, "\\x6869"),
        ("at", #""2025-12-03 10:20:04.658""#, "2025-12-03 10:20:04.658+00"),
        ("wall", #""2025-12-03T10:00:00+02:00""#, "2025-12-03 08:00:00"),
        ("day", #""2025-12-03""#, "2025-12-03"),
        ("clock", #""10:20:30""#, "10:20:30"), ("span", #""PT90M""#, "PT1H30M"),
        ("ref", #""0F8FAD5B-D9CB-469F-A165-70867728950E""#, "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ("feeling", #""so-so""#, "so-so"), ("address", #""10.0.0.1""#, "10.0.0.1/32"),
        ("bits", #""101""#, "101"),
        ("during", #""[2025-01-01,2025-01-02)""#, "[\"2025-01-01 00:00:00+00\",\"2025-01-02 00:00:00+00\")"),
        (
            "walls", #"["2025-12-03T10:00:00+02:00","2025-12-31 23:59:59.5-00:01"]"#,
            #"{"2025-12-03 08:00:00","2026-01-01 00:00:59.5"}"#
        ),
        (
            "outages", #""{\"[2025-12-03T10:00:00+02:00,)\"}""#, #"{"[\"2025-12-03 08:00:00\",)"}"#
        ),
        ("amounts", #""{1.10,NULL,-2e3}""#, "{1.10,NULL,-2000}"), ("hundreds", "12300", "12300"),
        ("docs", #"[{"a":1},"[2]"]"#, #"{"{\"a\": 1}",[2]}"#), ("code", #""ab""#, "ab"),
        ("hexes", #""6869""#, "\\x6869"), ("due", #""9999-12-31 23:59:59Z""#, "infinity"),
        ("days_off", #"["0000-01-01","2025-01-02"]"#, "{-infinity,2025-01-02}"), ("rate", #""NaN""#, "NaN"),
        ("stamp", "1764757204658", "2025-12-03 10:20:04.658+00"),
        ("since", "1764757204.5", "2025-12-03 10:20:04.5"),
        ("maybe", #""2025-12-03""#, "2025-12-03"),
    ]

    private func id(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

    private func operation(_ kind: String, _ number: Int) -> String {
        let data = Self.values.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
        return "{\"op\":\"\(kind)\",\"table\":\"typed\",\"id\":\"\(id(number))\",\"data\":{\(data)}}"
    }

    private func stored(_ backend: TestBackend) async throws -> [[String?]] {
        let columns = Self.values.map { "\($0.0)::text" }.joined(separator: ", ")
        let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
        try await connection.script("SET TimeZone = 'UTC'; SET IntervalStyle = 'iso_8601'")
        let result = try await connection.query("SELECT \(columns) FROM typed ORDER BY id")
        await connection.close()
        return (0..<result.rowCount).map { result.row($0) }
    }

    @Test func arriveAsTheyWereMeant() async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            let expected = Self.values.map(\.2)
            let one = try await backend.upload("{\"batch\":[\(operation("PUT", 1))]}")
            #expect(one.states == ["applied"], "\(one.json.text)")
            let rows = try await stored(backend)
            for (index, value) in Self.values.enumerated() {
                #expect(rows[0][index] == value.2, "\(value.0)")
            }
            let many = try await backend.upload(
                "{\"batch\":[\(operation("PUT", 1)),\(operation("PUT", 2)),\(operation("PUT", 3))]}")
            #expect(many.states == ["applied", "applied", "applied"])
            #expect(try await stored(backend) == [expected, expected, expected])
            _ = try await backend.query("UPDATE typed SET flag = NULL, doc = NULL, tags = NULL, wall = NULL")
            let patches = try await backend.upload(
                "{\"batch\":[\(operation("PATCH", 2)),\(operation("PATCH", 3))]}")
            #expect(patches.states == ["applied", "applied"])
            #expect(try await stored(backend).dropFirst() == [expected, expected])
        }
    }

    /// What the sync service prints, sent back, changes nothing (case 93).
    @Test func whatTheServicePrintsIsTheSameValueWhenItComesBack() async throws {
        let printed: [(String, String, String)] = [
            ("flag", "true", "1"), ("exact", "1.10", #""1.10""#),
            ("exact", "9007199254740993", #""9007199254740993""#),
            ("at", "2025-12-03 10:20:04.658+00", #""2025-12-03 10:20:04.658Z""#),
            ("day", "0044-03-15 BC", #""0044-03-15 BC""#),
            ("day", "10000-01-01", #""10000-01-01""#),
            ("wall", "10000-01-01 00:00:00", #""10000-01-01 00:00:00""#),
            ("due", "infinity", #""9999-12-31 23:59:59Z""#), ("due", "-infinity", #""0000-01-01 00:00:00Z""#),
            ("due", "infinity", #""9999-12-31T23:59:59.000000Z""#),
            ("days_off", "{infinity}", #""[\"9999-12-31\"]""#),
            ("tags", "{a,\"b,c\",NULL}", #""[\"a\",\"b,c\",null]""#), ("nums", "{1,2}", #""[1,2]""#),
            ("docs", "{\"{\\\"a\\\": 1}\"}", #""[{\"a\": 1}]""#), ("doc", "{\"a\": 1}", #""{\"a\": 1}""#),
            ("doc", "\"x\"", #""\"x\"""#), ("span", "P1M", #""P1M""#),
            ("clock", "17:42:01.12", #""17:42:01.12""#),
            ("walls", "{\"2025-12-03 10:00:00\"}", #""[\"2025-12-03 10:00:00\"]""#),
            ("amounts", "{1.10,NULL}", #""[\"1.10\",null]""#),
        ]
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            _ = try await backend.apply(
                "{\"op\":\"PUT\",\"table\":\"typed\",\"id\":\"\(id(1))\",\"data\":{}}")
            for (column, stored, sent) in printed {
                _ = try await backend.query(
                    "UPDATE typed SET \(column) = $1::text::\(try await type(column, backend))", [stored])
                let state = try await backend.apply(
                    "{\"op\":\"PATCH\",\"table\":\"typed\",\"id\":\"\(id(1))\",\"data\":{\"\(column)\":\(sent)}}"
                )
                #expect(state == "applied", "\(column)")
                #expect(
                    try await backend.query(
                        "SELECT \(column)::text FROM typed WHERE \(column)::text = ($1::text::\(try await type(column, backend)))::text",
                        [stored]
                    ).count == 1, "\(column) \(sent)")
            }
        }
    }

    private func type(_ column: String, _ backend: TestBackend) async throws -> String {
        try #require(
            try await backend.scalar(
                "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attname = '\(column)'"
            ))
    }

    @Test func whatIsStoredOtherwiseCountsAsAdjusted() async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            for (column, json, stored) in [
                ("hundreds", "12345", "12300"), ("money2", "1.005", "1.01"), ("maybe", #""""#, nil),
                ("day", #""2025-12-03T01:00:00Z""#, "2025-12-03"),
            ] as [(String, String, String?)] {
                let state = try await backend.apply(
                    "{\"op\":\"PUT\",\"table\":\"typed\",\"id\":\"\(id(1))\",\"data\":{\"\(column)\":\(json)}}"
                )
                #expect(state == "adjusted", "\(column)")
                #expect(try await backend.scalar("SELECT \(column)::text FROM typed") == stored, "\(column)")
            }
        }
    }

    @Test func nullsAndAbsentColumnsAreDifferent() async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            _ = try await backend.apply(operation("PUT", 1))
            let columns = Self.values.map(\.0)
            let nulls = columns.prefix(20).map { "\"\($0)\":null" }.joined(separator: ",")
            let state = try await backend.apply(
                "{\"op\":\"PATCH\",\"table\":\"typed\",\"id\":\"\(id(1))\",\"data\":{\(nulls)}}")
            #expect(state == "applied")
            let rows = try await stored(backend)
            #expect(rows[0].prefix(20).allSatisfy { $0 == nil })
            #expect(rows[0].dropFirst(20).allSatisfy { $0 != nil })
        }
    }

    @Test(arguments: [
        ("feeling", #""angry""#), ("money2", "-1"), ("at", #""2025-02-30""#), ("at", #""now""#),
        ("short", #""abcdef""#),
        ("bits", #""1""#), ("address", #""nowhere""#), ("real8", "1e400"), ("exact", "1e999999999"),
        ("doc", #""a\u0000""#), ("doc", #""no JSON""#), ("walls", #""{now}""#), ("walls", #"["today"]"#),
        ("amounts", #""{NaN}""#), ("days", #""{infinity}""#), ("during", #""[now,)""#),
        ("bytes", #""hello world""#),
        ("ref", #""０f8fad5bd9cb469fa16570867728950e""#),
        ("at", #""2025-12-03 10:00:00.00000000000000000000000000000000000000000000 BC x""#),
        ("amounts", "[1e401]"), ("exact", String(repeating: "7", count: 2_000)),
        ("docs", #""{\"[1e131071]\"}""#),
    ])
    func whatDoesNotFitIsRejected(column: String, json: String) async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let state = try await backend.apply(
                "{\"op\":\"PUT\",\"table\":\"typed\",\"id\":\"\(id(1))\",\"data\":{\"\(column)\":\(json)}}")
            #expect(["INVALID_DATA", "CHECK_VIOLATION", "NUL_CHARACTER", "TOO_LARGE"].contains(state))
            #expect(try await backend.scalar("SELECT count(*) FROM typed") == "0")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
        }
    }

    /// Postgres would store the first 63 bytes of each, and take two ids for one.
    @Test func namesThatWouldBeCutAreRejected() async throws {
        let schema = "CREATE TABLE things (id name PRIMARY KEY, label name, labels name[])"
        try await TestBackend.with(schema: schema, map: "tables: { things: }") { backend in
            let longest = String(repeating: "x", count: 63)
            for operation in [
                #""id":"\#(longest)y","data":{}"#, #""id":"a","data":{"label":"\#(longest)y"}"#,
                #""id":"a","data":{"labels":["\#(longest)y"]}"#,
            ] {
                let state = try await backend.apply(#"{"op":"PUT","table":"things",\#(operation)}"#)
                #expect(state == "INVALID_DATA")
            }
            let fits = #""id":"\#(longest)","data":{"label":"\#(longest)","labels":["\#(longest)"]}"#
            let state = try await backend.apply(#"{"op":"PUT","table":"things",\#(fits)}"#)
            #expect(state == "applied")
            #expect(
                try await backend.query("SELECT id::text, label::text, labels[1]::text FROM things")
                    == [[longest, longest, longest]])
        }
    }

    @Test func theSpellingOfAnIDDoesNotMatterWhereTheTypeSaysSo() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let upper = "0F8FAD5B-D9CB-469F-A165-70867728950E"
            let put = try await backend.apply(
                "{\"op\":\"PUT\",\"table\":\"typed\",\"id\":\"\(upper)\",\"data\":{\"whole\":1}}")
            #expect(put == "applied")
            let patch = try await backend.apply(
                "{\"op\":\"PATCH\",\"table\":\"typed\",\"id\":\"\(upper.lowercased())\",\"data\":{\"whole\":2}}"
            )
            #expect(patch == "applied")
            #expect(
                try await backend.query("SELECT id::text, whole::text FROM typed") == [
                    [upper.lowercased(), "2"]
                ])
        }
    }
}
