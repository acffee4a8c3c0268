import PowerSyncBackend
import PowerSyncWire
import Testing

struct UploadBodyTests {
    private func body(_ text: String, limits: UploadBody.Limits = .init()) throws -> UploadBody {
        try UploadBody(Array(text.utf8), limits: limits)
    }

    @Test(arguments: [
        (#"{"batch":["#, 400, "MALFORMED_JSON"), ("[]", 400, "INVALID_REQUEST"),
        ("null", 400, "INVALID_REQUEST"),
        ("{}", 400, "INVALID_REQUEST"), (#"{"batch":{}}"#, 400, "INVALID_REQUEST"),
        (#"{"transactions":[]}"#, 400, "INVALID_REQUEST"),
        (#"{"batch":[{"op":"PUT","id":"x"}]}"#, 400, "INVALID_REQUEST"),
        (#"{"batch":[{"op":"PUT","table":"t"}]}"#, 400, "INVALID_REQUEST"),
        (
            #"{"v":1,"transactions":[{"crud":[{"op_id":2,"op":"DELETE","table":"t","id":"a"},"#
                + #"{"op_id":2,"op":"DELETE","table":"t","id":"a"}]}]}"#, 400, "ORDER_VIOLATION"
        ),
    ])
    func aBodyThatIsNoUploadIsRefusedWhole(text: String, status: Int, code: String) {
        let problem = thrown { try body(text) } as? Problem
        #expect(problem?.status == status)
        #expect(problem?.code == code)
        #expect(problem?.isRetryable == false)
    }

    @Test func anUnknownOperationIsKeptAsARefusal() throws {
        let body = try body(
            #"{"transactions":[{"crud":[{"op":"PUT","table":"t","id":"a"}]},"#
                + #"{"crud":[{"op":"PUT","table":"t","id":"b"},{"op":"UPSERT","table":"t","id":"c","data":{"x":1.0}}]}]}"#
        )
        #expect(body.refusals.map { $0?.code } == [nil, "UNKNOWN_OPERATION"])
        #expect(body.refusals[1]?.index == 1)
        #expect(body.payloads[1].text.contains(#""op":"UPSERT""#))
        #expect(body.payloads[1].text.contains("1.0"))
    }

    @Test func anEmptyLegacyBatchIsFine() throws {
        #expect(try body(#"{"batch":[]}"#).request.transactions.map(\.operations.count) == [0])
    }

    @Test func theVerbsCarryOneOperation() throws {
        let body = try UploadBody(
            Array(#"{"table":"lists","data":{"id":"v1","name":"verb"}}"#.utf8), method: "PATCH")
        let operation = try #require(body.request.transactions.first?.operations.first)
        #expect(operation.kind == .patch)
        #expect(operation.id == "v1")
    }

    @Test func whatIsTooLargeSaysTheLimit() throws {
        var limits = UploadBody.Limits()
        limits.transactions = 1
        limits.operations = 1
        let operation = #"{"op":"DELETE","table":"t","id":"a"}"#
        for text in [
            "{\"transactions\":[{\"crud\":[]},{\"crud\":[]}]}", "{\"batch\":[\(operation),\(operation)]}",
        ] {
            let problem = thrown { try body(text, limits: limits) } as? Problem
            #expect(problem?.status == 413)
            #expect(problem?.extra.first == JSONMember("limit", .number("1")))
        }
    }

    @Test func aDeepBodyIsMalformedNotACrash() {
        let text = "{\"batch\":" + String(repeating: "[", count: 10_000)
        #expect((thrown { try body(text) } as? Problem)?.status == 400)
    }
}
