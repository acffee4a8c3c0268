import PowerSyncHTTP
import PowerSyncWire
import Testing

@testable import PowerSyncMockService

/// Bodies that anybody may send, before a token is looked at (service 1.1, 1.3).
struct RequestParametersTests {
    private struct Body: HTTPRequestBody {
        let text: String

        func collect(limit: Int) async throws(HTTPError) -> [UInt8] {
            guard text.utf8.count <= limit else { throw HTTPError(.bodyTooLarge, "too long") }
            return Array(text.utf8)
        }
    }

    private func read(_ text: String) async throws(RequestParameters.Refusal) -> JSON {
        let request = HTTPRequest(
            method: "POST", target: "/sync/stream", fields: ["content-type": "application/json"])
        return try await RequestParameters.read(request, Body(text: text))
    }

    private func array(_ element: String, _ count: Int) -> String {
        "{\"buckets\":[\(Array(repeating: element, count: count).joined(separator: ","))]}"
    }

    @Test func asManyBucketsAsFitAreRead() async throws {
        let text = array("{\"name\":\"1#a|0[]\",\"after\":\"1\"}", 33_000)
        #expect((1_000_000...RequestParameters.bodyLimit).contains(text.utf8.count))
        #expect(try await SyncStreamRequest(json: read(text)).buckets.count == 33_000)
    }

    @Test func aBodyWhoseTreeWouldBeLargeIsTooLarge() async throws {
        let refusal = await #expect(throws: RequestParameters.Refusal.self) {
            _ = try await read(array("0", 500_000))
        }
        #expect(refusal?.response.status == 413)
    }

    @Test func theAnswerToABodyFullOfMistakesIsShort() async throws {
        let json = try await read(array("0", 100_000))
        let violations = #expect(throws: RequestViolations.self) { try SyncStreamRequest(json: json) }
        let answer = ErrorResponse.invalid(violations?.messages ?? [])
        guard case .bytes(let bytes) = answer.body else {
            Issue.record("no body")
            return
        }
        #expect(answer.status == 400 && bytes.count < 10_000)
    }
}
