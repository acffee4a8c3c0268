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
        #expect(failing.differences == [])
    }

    @Test func timesAreNotCompared() throws {
        func body(_ time: String) throws -> RecordedAnswer {
            try Self.answer(#"{"ready":true,"touched_at":"\#(time)"}"#)
        }
        let comparison = AnswerComparison(
            try Self.request("/probes/startup"), recorded: try body("a"), received: try body("b"))
        #expect(comparison.differences == [])
    }
}
