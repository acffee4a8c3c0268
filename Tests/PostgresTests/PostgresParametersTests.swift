import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Parameters in one buffer, without a server.
@Suite(.namesSeed)
struct PostgresParametersTests {
    private static let pieces = [
        "", "a", "\"", "\\", ",", "{}", "é", "e\u{301}", "𝄞", "NULL", "\n", "'", "0",
    ]

    private static func text(_ random: inout SeededRandom) -> String? {
        guard !random.once(in: 5) else { return nil }
        var text = ""
        for _ in 0..<random.below(6) { text += random.pick(pieces) }
        return text
    }

    /// The bytes of texts: spellings of one character are two texts.
    private static func bytes(_ texts: [String?]) -> [[UInt8]?] { texts.map { $0.map { Array($0.utf8) } } }

    @Test func textsComeOutAsTheyWentIn() async throws {
        try await forEachSeed(200) { random in
            var texts: [String?] = []
            for _ in 0..<random.below(9) { texts.append(Self.text(&random)) }
            let parameters = PostgresParameters(texts)
            #expect(parameters.count == texts.count && parameters.isEmpty == texts.isEmpty)
            #expect(Self.bytes(parameters.texts) == Self.bytes(texts))
            var appended = PostgresParameters()
            for text in texts { appended.append(text) }
            #expect(appended == parameters)
        }
    }

    @Test func arraysAreSpelledAsBefore() async throws {
        try await forEachSeed(200) { random in
            var elements: [String?] = []
            for _ in 0..<random.below(9) { elements.append(Self.text(&random)) }
            var parameters = PostgresParameters(["in front"])
            parameters.appendArray(elements)
            parameters.append("behind")
            let spelled = Self.spelled(elements)
            #expect(Self.bytes(parameters.texts) == Self.bytes(["in front", spelled, "behind"]))
            #expect(Self.bytes([arrayLiteral(elements)]) == Self.bytes([spelled]))
            var oneByOne = PostgresParameters(["in front"])
            oneByOne.beginArray()
            for element in elements { oneByOne.appendElement(element) }
            oneByOne.endArray()
            oneByOne.append("behind")
            #expect(oneByOne == parameters)
        }
    }

    /// An array as Postgres reads it, character by character.
    private static func spelled(_ elements: [String?]) -> String {
        let texts = elements.map { element -> String in
            guard let element else { return "NULL" }
            let inner = element.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }
            return "\"" + inner.joined() + "\""
        }
        return "{" + texts.joined(separator: ",") + "}"
    }

    @Test func numbersHaveTheirDigits() {
        var parameters = PostgresParameters()
        parameters.appendArray([0, 7, 10, -1, 1_234_567_890, .max, .min])
        parameters.appendArray([Int64]())
        #expect(
            parameters.texts == [
                "{0,7,10,-1,1234567890,9223372036854775807,-9223372036854775808}", "{}",
            ])
    }

    @Test func nothingAndAnEmptyTextAreTwo() {
        #expect(PostgresParameters([nil]) != PostgresParameters([""]))
        #expect(PostgresParameters(["a", nil]).texts == ["a", nil])
        #expect(PostgresStatement("SELECT $1", [nil]) != PostgresStatement("SELECT $1", [""]))
    }
}

/// The same on a server.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .namesSeed)
struct SentParametersTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func theServerReadsWhatWasMeant() async throws {
        let connection = try await TestPostgres.connection(poller)
        let texts: [String?] = ["a", nil, "", "\"q\\", "é", "x,y}", "NULL"]
        var values = PostgresParameters(["first", nil, ""])
        values.appendArray(texts)
        values.appendArray([Int64.min, 0, 12])
        let question = PostgresStatement(
            """
            SELECT $1::text, $2::text, $3::text, to_json($4::text[])::text, to_json($5::bigint[])::text,
                array_length($4::text[], 1)::text
            """, values)
        let outcomes = try await connection.pipeline([question, question])
        for outcome in outcomes {
            let row = try #require(outcome.result).row(0)
            #expect(Array(row.prefix(3)) == ["first", nil, ""])
            #expect(row[3] == #"["a",null,"","\"q\\","é","x,y}","NULL"]"#)
            #expect(row[4] == "[-9223372036854775808,0,12]")
            #expect(row[5] == "7")
        }
        await connection.close()
    }

    @Test func aNULIsRefusedWhereverItIs() async throws {
        let connection = try await TestPostgres.connection(poller)
        var inArray = PostgresParameters()
        inArray.appendArray(["a", "b\0c"] as [String?])
        // Eight bytes are looked at together.
        let anywhere = (0..<17).map {
            PostgresParameters([String(repeating: "x", count: $0) + "\0yyy", "z"])
        }
        for values in [PostgresParameters(["x\0y"]), PostgresParameters(["x", "\0"]), inArray] + anywhere {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await connection.pipeline([PostgresStatement("SELECT $1::text", values)])
            }
            #expect(error?.sqlstate == "22021")
        }
        // Nothing was sent.
        #expect(try await connection.query("SELECT 1").scalar == "1")
        await connection.close()
    }
}
