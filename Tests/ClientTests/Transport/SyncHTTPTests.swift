import PowerSyncWire
import Testing

@testable import PowerSync

/// What requests to the service say (client-api 2.3, client-core 5.1).
@Suite struct SyncHTTPTests {
    private let credentials = SyncCredentials(endpoint: "https://service.test/base/", token: "t")

    private func requests(_ http: SyncHTTP) -> [SyncHTTPRequest] {
        [
            http.stream(SyncStreamRequest(), with: credentials),
            http.writeCheckpoint(clientID: "a b", with: credentials),
            http.checkpointRequest(CheckpointRequestBody(clientID: "c", id: 7), with: credentials),
        ]
    }

    @Test func eachRequestHasItsMethodAddressAndHeaders() {
        let requests = requests(SyncHTTP(userAgent: "test"))
        #expect(requests.map(\.method) == ["POST", "GET", "POST"])
        #expect(
            requests.map(\.url) == [
                "https://service.test/base/sync/stream",
                "https://service.test/base/write-checkpoint2.json?client_id=a%20b",
                "https://service.test/base/sync/checkpoint-request",
            ])
        let own = [SyncHTTPHeader("Authorization", "Token t"), SyncHTTPHeader("User-Agent", "test")]
        let body = SyncHTTPHeader("Content-Type", "application/json")
        let json = SyncHTTPHeader("Accept", "application/json")
        let lines = SyncHTTPHeader(
            "Accept", "application/vnd.powersync.bson-stream;q=0.9,application/x-ndjson;q=0.8")
        #expect(requests.map(\.headers) == [own + [body, lines], own + [json], own + [body, json]])
        #expect(requests.map { $0.body == nil } == [false, true, false])
    }

    @Test func anAnswerWithANumberIsShort() throws {
        func answer(_ more: String) -> SyncHTTPResponse {
            let text = #"{"data":{"write_checkpoint":"7","checkpoint_request_id":"8"},"more":[\#(more)]}"#
            return SyncHTTPResponse(status: 200, body: Array(text.utf8))
        }
        #expect(try SyncHTTP.writeCheckpoint(from: answer("0")) == 7)
        #expect(try SyncHTTP.checkpointRequest(from: answer("0")) == 8)
        let long = answer(Array(repeating: "[0]", count: 1_000).joined(separator: ","))
        let reads: [(SyncHTTPResponse) throws -> Int64] = [
            { try SyncHTTP.writeCheckpoint(from: $0) }, { try SyncHTTP.checkpointRequest(from: $0) },
        ]
        for read in reads {
            let error = #expect(throws: SyncError.self) { try read(long) }
            #expect(error?.code == .unexpectedResponse)
        }
    }

    @Test func linesAsTextAloneCanBeAskedFor() {
        let http = SyncHTTP(userAgent: "test", prefersBinaryLines: false)
        let accepted = requests(http).map { request in request.headers.first { $0.name == "Accept" }?.value }
        #expect(accepted == ["application/x-ndjson", "application/json", "application/json"])
    }

    @Test func compressionIsAcceptedInAllRequestsOrInNone() {
        #expect(requests(SyncHTTP(userAgent: "test")).map(\.acceptsCompression) == [true, true, true])
        let http = SyncHTTP(userAgent: "test", acceptsCompression: false)
        #expect(requests(http).map(\.acceptsCompression) == [false, false, false])
    }
}
