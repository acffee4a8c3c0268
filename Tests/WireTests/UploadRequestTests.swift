import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.namesSeed)
struct UploadRequestTests {
    private func request(_ text: String) throws -> UploadRequest { try UploadRequest(json: JSON.parse(text)) }

    @Test func readsTheThreeDialects() throws {
        let batch = try request(
            "{\"batch\":[{\"op\":\"PUT\",\"type\":\"lists\",\"id\":\"a\",\"data\":{\"n\":1.10}},"
                + "{\"op\":\"DELETE\",\"table\":\"lists\",\"data\":{\"id\":\"b\"}}]}")
        #expect(batch.dialect == .batch && batch.transactions.count == 1)
        #expect(batch.transactions[0].operations[0].data == [JSONMember("n", .number("1.10"))])
        #expect(batch.transactions[0].operations[1].id == "b")
        let reference = try request(
            "{\"transactions\":[{\"transaction_id\":4,\"crud\":[{\"op\":\"PATCH\",\"table\":\"t\",\"id\":\"i\","
                + "\"op_data\":{\"x\":null}}]},{\"crud\":[]}]}")
        #expect(reference.dialect == .transactions && reference.transactions.map(\.id) == [4, nil])
        #expect(reference.transactions[0].operations[0].data == [JSONMember("x", .null)])
        let numbered = try request(
            "{\"client_id\":\"c\",\"batch\":[{\"op_id\":1,\"op\":\"DELETE\",\"table\":\"t\",\"id\":\"a\"},"
                + "{\"op_id\":2,\"op\":\"DELETE\",\"table\":\"t\",\"id\":\"a\"}]}")
        #expect(numbered.clientID == "c")
        #expect(try request(numbered.json.text) == numbered)
        for (member, numbers) in [
            ("\"c\"", ["2", "1"]), ("\"c\"", ["1", "null"]), ("\"\"", ["1", "2"]), ("5", ["1", "2"]),
        ] {
            let operations = numbers.map {
                "{\"op_id\":\($0),\"op\":\"DELETE\",\"table\":\"t\",\"id\":\"a\"}"
            }
            let other = try request(
                "{\"client_id\":\(member),\"batch\":[\(operations.joined(separator: ","))]}")
            #expect(other.clientID == nil, "of a batch nothing else is a client, and nothing else an error")
        }
        let full = UploadRequest(
            clientID: "c", requestID: "r",
            transactions: [
                UploadTransaction(
                    id: 41,
                    operations: [
                        UploadOperation(
                            kind: .patch, table: "todos", id: "b2", opID: 121,
                            data: [JSONMember("d", .number("1"))],
                            old: [JSONMember("d", .number("0"))], metadata: "{\"v\":7}")
                    ])
            ])
        #expect(try request(full.json.text) == full)
    }

    // MARK: What counts of the members of an operation

    /// Members in one passage are those that are found by asking for each name.
    @Test func theLastOfANameAndTheFirstAliasCount() async throws {
        let names = [
            "op", "table", "type", "id", "op_id", "clientId", "client_id", "data", "opData", "op_data", "old",
            "previousValues", "previous_values", "metadata", "OP", "Data", "", "\u{e9}",
        ]
        let values: [JSON] = [
            .null, .string("PUT"), .string("DELETE"), .string("UPSERT"), .string("t"), .string("7"),
            .number("8"), .number("1e1"), .object([]), .object([JSONMember("id", .string("x"))]),
            .object([JSONMember("id", .null), JSONMember("id", .number("9"))]), .array([]), .bool(true),
        ]
        var (read, refused) = (0, 0)
        try await forEachSeed(3_000) { random in
            var members = [
                JSONMember("op", .string("PUT")), JSONMember("table", .string("t")),
                JSONMember("id", .string("a")),
            ].filter { _ in !random.once(in: 8) }
            for _ in 0..<random.below(7) {
                let member = JSONMember(random.pick(names), random.pick(values))
                members.insert(member, at: random.below(members.count + 1))
            }
            let json = JSON.object(members)
            let expected = Self.asked(json)
            do throws(WireError) {
                let operation = try UploadOperation(json: json, path: "p")
                #expect(Reading.operation(operation) == expected, "\(json.text)")
                read += 1
            } catch {
                let path = String(error.message.prefix { $0 != ":" })
                #expect(Reading.refused(path) == expected, "\(json.text)")
                refused += 1
            }
        }
        #expect(read > 0 && refused > 0 || TestOptions.number("POWERSYNC_SEED", standard: -1) >= 0)
    }

    private enum Reading: Equatable {
        case operation(UploadOperation)
        case refused(String)
    }

    /// The reading of backend 1.3, name by name.
    private static func asked(_ json: JSON) -> Reading {
        func first(_ names: String...) -> JSON? {
            names.lazy.compactMap { json[$0] }.first { !$0.isNull }
        }
        func idText(_ value: JSON) -> String? {
            if case .number(let lexeme) = value { lexeme } else { value.stringValue }
        }
        guard let kind = json["op"]?.stringValue.flatMap(UploadOperationKind.init(rawValue:)) else {
            return .refused("p/op")
        }
        guard let table = first("table", "type")?.stringValue else { return .refused("p/table") }
        let data = first("data", "opData", "op_data")
        if let data, data.objectMembers == nil { return .refused("p/data") }
        guard let id = (first("id") ?? data?["id"]).flatMap(idText) else { return .refused("p/id") }
        let number = first("op_id", "clientId", "client_id")
        let opID = number?.int64Value ?? number?.stringValue.flatMap { Int64($0) }
        if number != nil, opID == nil { return .refused("p/op_id") }
        let old = first("old", "previousValues", "previous_values")
        if let old, old.objectMembers == nil { return .refused("p/old") }
        let metadata = first("metadata")
        if let metadata, metadata.stringValue == nil { return .refused("p/metadata") }
        return .operation(
            UploadOperation(
                kind: kind, table: table, id: id, opID: opID, data: data?.objectMembers,
                old: old?.objectMembers, metadata: metadata?.stringValue))
    }

    @Test(arguments: [
        ("{}", "body"), ("[]", "body"), ("{\"batch\":{}}", "batch"), ("{\"batch\":[1]}", "batch/0"),
        ("{\"batch\":[{\"op\":\"UPSERT\",\"table\":\"t\",\"id\":\"1\"}]}", "batch/0/op"),
        ("{\"batch\":[{\"op\":\"PUT\",\"id\":\"1\"}]}", "batch/0/table"),
        ("{\"batch\":[{\"op\":\"PUT\",\"table\":\"t\"}]}", "batch/0/id"),
        ("{\"batch\":[{\"op\":\"PUT\",\"table\":\"t\",\"id\":\"1\",\"data\":[]}]}", "batch/0/data"),
        ("{\"transactions\":[]}", "transactions"), ("{\"v\":2,\"transactions\":[{\"crud\":[]}]}", "v"),
        ("{\"v\":1,\"transactions\":[{}]}", "transactions/0"),
        ("{\"v\":1,\"transactions\":[{\"crud\":[],\"crud\":[]}]}", "transactions/0"),
        ("{\"batch\":[],\"transactions\":[{\"crud\":[]}]}", "body"), ("{\"batch\":[],\"batch\":[]}", "body"),
        (
            "{\"v\":1,\"transactions\":[{\"crud\":[{\"op_id\":2,\"op\":\"DELETE\",\"table\":\"t\",\"id\":\"1\"},"
                + "{\"op_id\":2,\"op\":\"DELETE\",\"table\":\"t\",\"id\":\"2\"}]}]}", "op_id"
        ),
    ])
    func namesThePlaceOfWhatIsWrong(text: String, path: String) throws {
        let json = try JSON.parse(text)
        let error = #expect(throws: WireError.self) { try UploadRequest(json: json) }
        #expect(error?.message.hasPrefix(path + ":") == true)
    }

    @Test func readsItsOwnAnswersAndThoseOfLegacyBackends() throws {
        let response = UploadResponse(
            requestID: "r",
            results: [
                UploadResult(
                    status: .success, txID: 41,
                    operations: [
                        .init(index: 0, opID: 1, status: "applied"),
                        .init(index: 1, status: "noop", code: "ROW_MISSING"),
                    ]),
                UploadResult(
                    status: .fatalError, txID: 42,
                    failure: .init(
                        operationIndex: 0, errorCode: "CHECK_VIOLATION", message: "a check failed"),
                    rejectionID: "0190"),
                UploadResult(status: .fatalError, txID: 43, requiresClientHandling: true),
                UploadResult(status: .retryableError, txID: 44, retryAfter: .milliseconds(1_500)),
                UploadResult(status: .notAttempted, txID: 45),
            ])
        #expect(try UploadResponse(json: JSON.parse(response.json.text)) == response)
        #expect(response.json["summary"]?["applied"] == .number("1"))
        #expect(try UploadResponse(json: JSON.parse("{\"message\":\"Batch completed\"}")).results.isEmpty)
    }

    /// An answer is written as its tree would be.
    @Test func theBytesOfAnAnswerAreThoseOfItsTree() async throws {
        let words = [
            "applied", "noop", "adjusted", "rejected", "skipped", "replayed", "a \"b\" \\ \u{1}\u{e9}",
        ]
        try await forEachSeed(300) { random in
            let results = (0..<random.below(4)).map { _ in
                let statuses: [UploadResult.Status] = [.success, .retryableError, .fatalError, .notAttempted]
                var result = UploadResult(
                    status: random.pick(statuses), txID: random.pick([nil, 0, 41, .min, .max]),
                    replayed: random.once(in: 3), requiresClientHandling: random.once(in: 3))
                for index in 0..<random.below(12) {
                    let opID: Int64? = random.pick([nil, 0, 9, -10, 1_234_567, .min, .max])
                    result.operations.append(
                        .init(
                            index: index * random.pick([1, 1_000]), opID: opID, status: random.pick(words),
                            code: random.once(in: 2) ? nil : random.pick(words)))
                }
                if random.once(in: 2) {
                    result.failure = .init(
                        operationIndex: random.pick([nil, 3]), errorCode: "E", message: random.pick(words))
                }
                if random.once(in: 2) { result.rejectionID = "0190" }
                if random.once(in: 2) { result.retryAfter = .milliseconds(1_500) }
                return result
            }
            let response = UploadResponse(requestID: random.pick(words), results: results)
            #expect(response.utf8() == response.json.utf8)
            let message = random.pick(words)
            let members = (response.json.objectMembers ?? []).map { member in
                member.name == "message" ? JSONMember("message", .string(message)) : member
            }
            #expect(response.utf8(message: message) == JSON.object(members).utf8)
            var counts: [String: Int] = [:]
            for operation in results.flatMap(\.operations) { counts[operation.status, default: 0] += 1 }
            #expect(response.json["summary"]?["noop"]?.int64Value == Int64(counts["noop"] ?? 0))
            #expect(
                response.json["summary"]?["applied"]?.int64Value
                    == Int64((counts["applied"] ?? 0) + (counts["adjusted"] ?? 0)))
        }
    }

    @Test(arguments: [
        (#"{"status":"done"}"#, "results/0/status"), ("{}", "results/0/status"), ("7", "results/0/status"),
        (#"{"status":"fatal_error"}"#, "results/0/requires_client_handling"),
        (
            #"{"status":"fatal_error","requires_client_handling":"false"}"#,
            "results/0/requires_client_handling"
        ),
    ])
    func anAnswerThatDoesNotSayWhatBecomesOfATransactionIsRefused(result: String, path: String) throws {
        let json = try JSON.parse("{\"results\":[\(result)]}")
        let error = #expect(throws: WireError.self) { try UploadResponse(json: json) }
        #expect(error?.message.hasPrefix(path + ":") == true)
    }

    @Test func readsTheTokensOfAllBackends() throws {
        let demo = try TokenResponse(json: JSON.parse("{\"token\":\"t\",\"powersync_url\":\"http://x\"}"))
        #expect(demo == TokenResponse(token: "t", powersyncURL: "http://x"))
        let ours = TokenResponse(
            token: "t", powersyncURL: "u", expiresIn: 600, expiresAt: "2026-01-01T00:00:00Z")
        #expect(try TokenResponse(json: JSON.parse(ours.json.text)) == ours)
        #expect(throws: WireError.self) { try TokenResponse(json: .object([])) }
        #expect(
            try WriteCheckpointResponse(json: JSON.parse("{\"data\":{\"write_checkpoint\":\"12\"}}"))
                .writeCheckpoint == 12)
    }
}
