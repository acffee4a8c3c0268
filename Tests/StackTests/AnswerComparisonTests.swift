import PowerSyncStack
import PowerSyncWire
import Testing

@Suite struct AnswerComparisonTests {
    private static let error =
        #"{"error":{"code":"PSYNC_S2101","status":401,"description":"no","name":"AuthorizationError"}}"#

    private static func request(_ path: String, claims: String = "{}") throws -> RecordedRequest {
        RecordedRequest(
            method: "GET", path: path, user: "u", claims: try JSON.parse(claims))
    }

    private static func answer(
        _ body: String, status: Int = 401, length: String = "9", date: String = "now"
    ) throws -> RecordedAnswer {
        RecordedAnswer(
            status: status,
            headers: ["content-type": "application/json", "content-length": length, "date": date],
            body: try JSON.parse(body))
    }

    private func compare(
        _ received: RecordedAnswer, path: String = "/x", claims: String = "{}"
    ) throws -> AnswerComparison {
        AnswerComparison(
            try Self.request(path, claims: claims), recorded: try Self.answer(Self.error), received: received)
    }

    @Test func equalAnswersDoNotDiffer() throws {
        let comparison = try compare(try Self.answer(Self.error, date: "later"))
        #expect(comparison.differences == [] && comparison.detailDifferences == [])
    }

    @Test func statusFieldsAndBodyAreNoticed() throws {
        #expect(
            try compare(try Self.answer(Self.error, status: 400)).differences == ["status 400, recorded 401"])
        var other = try Self.answer(Self.error)
        other.headers["content-type"] = "text/html"
        #expect(
            try compare(other).differences == ["header content-type: text/html, recorded application/json"])
        var encoded = try Self.answer(Self.error)
        encoded.headers["content-encoding"] = "gzip"
        #expect(try compare(encoded).differences == ["header content-encoding: gzip, recorded none"])
        for change in [("PSYNC_S2101", "PSYNC_S2102"), ("\"no\"", "\"not\""), ("Authorization", "Other")] {
            let body = Self.error.replacing(change.0, with: change.1)
            #expect(try compare(try Self.answer(body)).differences.count == 1)
        }
        let more = Self.error.replacing(#","name""#, with: #","severity":"info","name""#)
        #expect(
            try compare(try Self.answer(more)).differences == [
                "body.error.severity is \"info\", recorded none"
            ])
        let less = Self.error.replacing(#","name":"AuthorizationError""#, with: "")
        #expect(
            try compare(try Self.answer(less)).differences == [
                "body.error.name is missing, recorded \"AuthorizationError\""
            ])
    }

    @Test func theLengthOfTheBodyCountsLineByLineOnly() throws {
        let comparison = try compare(try Self.answer(Self.error, length: "10"))
        #expect(comparison.differences == [])
        #expect(comparison.detailDifferences == ["GET /x: header content-length: 10, recorded 9"])
    }

    @Test func defectsOfTheRealServiceAreAllowedFor() throws {
        let wrong = try Self.answer(Self.error.replacing("\"no\"", with: "\"too early\""))
        #expect(try compare(wrong, claims: #"{"nbf":99}"#).differences == [])
        let failing = AnswerComparison(
            try Self.request("/write-checkpoint.json"), recorded: try Self.answer(Self.error, status: 500),
            received: wrong)
        #expect(failing.differences == [] && !failing.isCompared)
        let other = AnswerComparison(
            try Self.request("/x"), recorded: try Self.answer(Self.error, status: 500), received: wrong)
        #expect(other.differences.count == 2 && other.isCompared)
    }

    @Test func timesAreNotCompared() throws {
        func body(_ time: String) throws -> RecordedAnswer {
            try Self.answer(#"{"ready":true,"touched_at":"\#(time)"}"#)
        }
        let comparison = AnswerComparison(
            try Self.request("/probes/startup"), recorded: try body("a"), received: try body("b"))
        #expect(comparison.differences == [])
    }

    /// The answer of the validate endpoint to one configuration (service 1.10).
    private func validation(_ changes: (String, String)...) throws -> AnswerComparison {
        let recorded =
            #"{"data":{"connections":[{"slot_name":"","postgres_uri":"postgresql://h:1/a"}],"errors":[{"level":"warning","#
            + #""message":"Column not found.","location":{"start_offset":82,"end_offset":86},"ts":"2026"},"#
            + #"{"level":"fatal","message":"Syntax error at line 1 col 38:\n\n1 SELECT","ts":"2026"}]}}"#
        let received = changes.reduce(recorded) { $0.replacing($1.0, with: $1.1) }
        return AnswerComparison(
            try Self.request("/api/admin/v1/validate"), recorded: try Self.answer(recorded),
            received: try Self.answer(received))
    }

    @Test func whatChangesWithTheRunIsNotCompared() throws {
        #expect(try validation(("2026", "2027"), ("h:1/a", "h:2/b")).differences == [])
        #expect(
            try validation((#","ts":"2026"},"#, "},")).differences == [
                "body.data.errors[0].ts is missing, recorded \"(some)\""
            ])
        #expect(try validation((#""slot_name":"""#, #""slot_name":"s""#)).differences.count == 1)
    }

    @Test(arguments: [
        ("82", "83", "body.data.errors[0].location.start_offset:\n    - 82\n    + 83"),
        ("warning", "fatal", "body.data.errors[0].level:\n    - \"warning\"\n    + \"fatal\""),
        (
            "Column not", "Column is not",
            "body.data.errors[0].message:\n    - \"Column not found.\"\n    + \"Column is not found.\""
        ),
    ])
    func severitiesLocationsAndTextsAreCompared(part: String, other: String, difference: String) throws {
        #expect(try validation((part, other)).differences == [difference])
    }

    @Test func theTextOfAParserCountsLineByLineUpToItsFirstLine() throws {
        let behind = try validation((#"\n\n1 SELECT"#, #"\nhere"#))
        #expect(behind.differences == [] && behind.detailDifferences == [])
        let first = try validation(("col 38", "col 39"))
        #expect(first.differences == [])
        #expect(
            first.detailDifferences == [
                "GET /api/admin/v1/validate: body.data.errors[1].message:\n    - Syntax error at line 1 col 38:\n"
                    + "    + Syntax error at line 1 col 39:"
            ])
    }

    @Test func anotherSpellingOfAnAccentIsAnotherText() throws {
        let accented = Self.error.replacing("\"no\"", with: "\"\u{E9}\"")
        let comparison = AnswerComparison(
            try Self.request("/x"), recorded: try Self.answer(accented),
            received: try Self.answer(accented.replacing("\u{E9}", with: "e\u{301}")))
        #expect(comparison.differences.count == 1)
    }
}
