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
        ("{}", 400, "UNKNOWN_DIALECT"), (#"{"v":2,"transactions":[{"crud":[]}]}"#, 400, "UNKNOWN_DIALECT"),
        (#"{"batch":[],"transactions":[{"crud":[]}]}"#, 400, "UNKNOWN_DIALECT"),
        (#"{"batch":[{"op":"DELETE","table":"t","id":"a"}],"batch":[]}"#, 400, "UNKNOWN_DIALECT"),
        (
            #"{"transactions":[{"crud":[{"op":"DELETE","table":"t","id":"a"}],"crud":[]}]}"#, 400,
            "INVALID_REQUEST"
        ),
        (#"{"batch":{}}"#, 400, "INVALID_REQUEST"),
        (#"{"transactions":[]}"#, 400, "INVALID_REQUEST"),
        (#"{"batch":[{"op":"PUT","id":"x"}]}"#, 400, "INVALID_REQUEST"),
        (#"{"batch":[{"op":"PUT","table":"t"}]}"#, 400, "INVALID_REQUEST"),
        (
            #"{"v":1,"transactions":[{"crud":[{"op_id":2,"op":"DELETE","table":"t","id":"a"},"#
                + #"{"op_id":2,"op":"DELETE","table":"t","id":"a"}]}]}"#, 400, "ORDER_VIOLATION"
        ),
        // Beside an operation that would be refused alone.
        (
            #"{"batch":[{"op":"UPSERT","table":"t","id":"a"},{"op":"PUT","table":"t"}]}"#, 400,
            "INVALID_REQUEST"
        ),
        (
            #"{"v":1,"transactions":[{"crud":[{"op_id":2,"op":"UPSERT","table":"t","id":"a"},"#
                + #"{"op_id":1,"op":"DELETE","table":"t","id":"a"}]}]}"#, 400, "ORDER_VIOLATION"
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
        #expect(body.refusals.map { $0.mapValues(\.code) } == [[:], [1: "UNKNOWN_OPERATION"]])
        #expect(body.refusals[1][1]?.index == 1)
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
        limits.operations = 2
        limits.requestOperations = 1
        let split = "{\"transactions\":[{\"crud\":[\(operation),\(operation)]}]}"
        #expect((thrown { try body(split, limits: limits) } as? Problem)?.status == 413)
        let few = thrown { try body("{\"transactions\":[{},{}]}", limits: limits) } as? Problem
        #expect(few?.extra.last == JSONMember("max_transactions_hint", .number("1")))
    }

    /// Refused with the body, the operation would be sent again for ever.
    @Test(arguments: [1_025, 1_000_000]) func aNumberOfAnyLengthIsTheFaultOfItsOperation(length: Int) throws {
        let number = String(repeating: "7", count: length)
        let body = try body(#"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"n":\#(number)}}]}"#)
        let operation = try #require(body.request.transactions.first?.operations.first)
        let planner = UploadPlanner(tables: try Build.tables("tables: { lists: }"), subject: "u")
        #expect((thrown { try planner.plan(operation, at: 0) } as? Refusal)?.code == "INVALID_DATA")
    }

    /// None of these ends: the reader has stopped before.
    @Test func limitsAreCountedWhileABodyIsPassed() {
        var limits = UploadBody.Limits()
        limits.transactions = 2
        limits.operations = 3
        limits.values = 200
        limits.numberBytes = 1_024
        for (text, limit) in [
            (#"{"transactions":[{},{},{"#, 2), (#"{"batch":[{},{},{},{"#, 3),
            (#"{"transactions":[{"crud":[{},{},{},{"#, 3),
            (#"{"batch":[{"data":["# + String(repeating: "0,", count: 200), 200),
            (#"{"other":["# + String(repeating: "{},", count: 200), 200),
            (#"{"batch":"# + String(repeating: "[", count: 10_000), 64),
            (#"{"batch":["# + String(repeating: "7", count: 2_000) + ",", 1_024),
        ] {
            let problem = thrown { try body(text, limits: limits) } as? Problem
            #expect(problem?.status == 413)
            #expect(problem?.extra.first == JSONMember("limit", .integer(limit)))
        }
    }

    @Test func whatATreeTakesIsKnownBeforeItIsBuilt() throws {
        func bytes(_ text: String) throws -> Int {
            try UploadShape(Array(text.utf8), limits: UploadLimits()).treeBytes
        }
        let empty = try bytes(#"{"batch":[]}"#)
        #expect(try bytes(#"{"batch":[{},{},{},{}]}"#) >= empty + 4 * 32)
        #expect(try bytes(#"{"batch":[{"id":"\#(String(repeating: "x", count: 9_000))"}]}"#) >= empty + 9_000)
        let shape = try UploadShape(
            Array(#"{"v":1,"transactions":[{"crud":[{"op":"PUT"},{}]},{"crud":[{}]}]}"#.utf8),
            limits: UploadLimits())
        #expect(shape.transactions == 2 && shape.operations == 3 && shape.values == 11)
    }

    /// For a column of an array a tree is made of its text, whose values no limit of the body counts.
    @Test(arguments: ["1,", #"\u0031\u002c"#, "[],", "{},", #"{\"a\":1},"#, "[[0]],"])
    func whatTheTreeOfATextTakesIsKnownToo(piece: String) throws {
        let count = 100_000
        for (start, end) in [("[", "0]"), (#"\t [\n"#, "0]"), (#"\u007b"#, "0}")] {
            let text = start + String(repeating: piece, count: count) + end
            let body = #"{"batch":[{"op":"PUT","table":"t","id":"a","data":{"tags":"\#(text)"}}]}"#
            let measured = try MeasuredBody(Array(body.utf8))
            let values = piece.utf8.count { ",[{:".utf8.contains($0) }
            #expect(measured.memory >= 4 * body.utf8.count + count * max(1, values) * 48, "\(start)\(piece)")
        }
        let plain = String(repeating: "a, b: ", count: count)
        let body = #"{"batch":[{"op":"PUT","table":"t","id":"a","data":{"tags":"\#(plain)"}}]}"#
        #expect(try MeasuredBody(Array(body.utf8)).memory < 6 * body.utf8.count)
    }

    @Test func namesWithEscapesAreTheSameNames() {
        let text = #"{"\u0062atch":[{},{}]}"#
        var limits = UploadBody.Limits()
        limits.operations = 1
        #expect((thrown { try body(text, limits: limits) } as? Problem)?.status == 413)
    }
}
